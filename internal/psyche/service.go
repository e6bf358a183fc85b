package psyche

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/inference"
	"github.com/seed-56a03226/oneiros/internal/journal"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/mood"
	"github.com/seed-56a03226/oneiros/internal/spend"
)

// Ports are what a Service needs.
type Ports struct {
	Memory memory.Store
	Talks  memory.Talks      // what was put before the model in each talk; nil: in this process's memory only
	Jobs   memory.EmbedQueue // which process embeds in the background; nil: none
	Guard  *spend.Guard      // with its catalogue, its models and its clock
	Relay  inference.Relay
	Dreams Waker
	Log    *slog.Logger // nil: silent. It never gets text of a talk

	Restorer Restorer // nil: nothing can be restored

	// Render writes PLAYBOOK.md from an agent's heuristics and its open hypotheses, most certain first.
	Render func([]*dream.Playbook, []*dream.Hypothesis) string
}

// Options configure a Service. The zero Options recall, store and feel with the defaults named here.
type Options struct {
	Talker string                // model of the catalogue for talk; empty: the agent's generator
	Models map[dream.Role]string // for agents that name none of their own
	// Hold is how long a request holds the agent awake after its end (client_timeout); 0: one minute.
	Hold time.Duration
	// Within is the longest that a turn waits for its memories; 0: 40 ms with a built-in embedder, 1 s with another.
	Within   time.Duration
	Items    int            // most memories per turn; 0: 6
	FleetDay budget.Micros  // what the deployment may spend a day
	KeyDay   *budget.Micros // daily limit of keys without one of their own; nil: only the agent's caps
	// Answer is the most tokens of an answer when a client names no maximum and tokens cost money; 0: 8192.
	Answer   int
	Thinking int    // most tokens for thinking, in addition; 0: 24576
	Persona  string // one of Personas: how the model learns who it is; empty: PersonaSystem
	// Joined puts background into the user's message instead of before it, for templates that need alternating roles.
	Joined bool

	// MoodSampling sets the temperature by the mood when the client names none.
	MoodSampling bool

	Allowed []string // fields beyond tokens that paid models may get (inference.FieldsBeyondTokens)
	Queue   int      // most exchanges that wait to be remembered, per worker; 0: 1024

	MemoriesPerPrincipal int // most live memories of one principal; 0: no bound
	MemoriesPerUser      int // and of one named user of it; 0: only the principal's bound

	Switches Switches            // of every agent
	Agents   map[string]Switches // of single agents, by handle
	Digest   string              // of journal.Digests; empty: journal.DigestMessage
	Private  bool                // clients are shown nothing of dreams
	Shared   bool                // dreams are shown to every client, even when they may quote other clients' talks
	Baseline mood.PAD            // the mood to which agents return
}

// Defaults of Options.
const (
	defaultHold      = time.Minute
	defaultWithin    = 40 * time.Millisecond
	defaultWithinFar = time.Second // with an embedder called over a network
	defaultItems     = 6
	defaultAnswer    = 8192 // accepted by nearly every hosted model
	defaultThinking  = 24_576
	defaultQueue     = 1024 // about 12 KiB each at most
)

func (o Options) filled() Options {
	o.Hold = or(o.Hold, defaultHold)
	o.Items = or(o.Items, defaultItems)
	o.Answer = or(o.Answer, defaultAnswer)
	o.Thinking = or(o.Thinking, defaultThinking)
	o.Queue = or(o.Queue, defaultQueue)
	o.Digest = or(o.Digest, journal.DigestMessage)
	o.Persona = or(o.Persona, PersonaSystem)
	if o.Private {
		o.Digest = journal.DigestOff
	}
	return o
}

func or[V comparable](v, otherwise V) V {
	var none V
	if v == none {
		return otherwise
	}
	return v
}

// Service answers for agents: it implements Talk and Mind. Several processes may share one store.
type Service struct {
	Ports
	o       Options
	allowed map[string]bool // Options.Allowed, by inference.FieldKey

	agents   agentCache
	visits   clientLeases
	talks    talks
	feelings feelings
	digests  digests
	talkers  *talkers
	quotas   *quotas
	counts   counts
	zones    zones
	searches atomic.Int64 // number of searches under way

	measuring measuring

	queues  [rememberWorkers]chan task
	running context.Context // context of work beside the turns
	cancel  context.CancelFunc
	gate    sync.RWMutex // write-locked to set closed
	closed  bool
	beside  sync.WaitGroup // streams being settled, and searches that no turn waits for any more
	keeping sync.WaitGroup // goroutines started by New
}

var (
	_ Talk = (*Service)(nil)
	_ Mind = (*Service)(nil)

	_ Memories = (*Service)(nil)
)

// New starts the goroutines that renew leases and store exchanges. Close ends them.
func New(p Ports, o Options) *Service {
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	if p.Render == nil {
		p.Render = func(existing []*dream.Playbook, _ []*dream.Hypothesis) string { return rendered(existing) }
	}
	b := &Service{Ports: p, o: o.filled(), talkers: newTalkers(p.Memory, p.Guard.Now)}
	b.allowed = make(map[string]bool, len(o.Allowed))
	for _, name := range o.Allowed {
		b.allowed[inference.FieldKey(name)] = true
	}
	b.quotas = newQuotas(p.Memory, p.Guard.Now, b.o)
	b.running, b.cancel = context.WithCancel(context.Background())
	b.keeping.Go(b.keepLeases)
	for i := range b.queues {
		b.queues[i] = make(chan task, b.o.Queue)
		b.keeping.Go(func() { b.rememberLoop(b.queues[i]) })
	}
	return b
}

// Close waits until ended streams are settled and queued exchanges are stored, or until ctx ends; the rest is dropped
// then. Turns must have ended before.
func (b *Service) Close(ctx context.Context) error {
	b.gate.Lock()
	if b.closed {
		b.gate.Unlock()
		return nil
	}
	b.closed = true
	b.gate.Unlock()
	stop := context.AfterFunc(ctx, b.cancel)
	defer stop()
	b.beside.Wait()
	for _, queue := range b.queues {
		close(queue)
	}
	b.renewLeases(ctx)
	b.visits.stop()
	b.keeping.Wait()
	err := ctx.Err()
	b.cancel()
	return err
}

func (b *Service) now() time.Time { return b.Guard.Now() }

// detach runs do beside the turns; Close waits for it. It returns false when the service is closed.
func (b *Service) detach(do func()) bool {
	b.gate.RLock()
	defer b.gate.RUnlock()
	if b.closed {
		return false
	}
	b.beside.Go(do)
	return true
}
