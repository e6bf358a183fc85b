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

// Ports are what a being stands on.
type Ports struct {
	Memory memory.Store
	Talks  memory.Talks      // what was put before the model in each talk; nil: only this process knows
	Jobs   memory.EmbedQueue // who embeds memories in the background; nil: nobody
	Guard  *spend.Guard      // with its catalogue, its models and its clock
	Relay  inference.Relay
	Dreams Nights
	Log    *slog.Logger // nil: silent. No text of a talk reaches it

	Restoring Restoring // nil: nothing is restored through this being

	// Render writes PLAYBOOK.md of an agent's heuristics and the hypotheses that want to join them, surest first.
	Render func([]*dream.Playbook, []*dream.Hypothesis) string
}

// Options are how a deployment's beings behave. The zero Options recall, store and feel with the defaults that are
// named here.
type Options struct {
	Talker string                // the model that talks, of the catalogue; empty: the agent's generator
	Models map[dream.Role]string // of agents that name none of their own
	// how long a request holds the agent awake after its end (client_timeout); 0: one minute
	Hold time.Duration
	// the longest that a turn waits for its memories; 0: 40 ms with a built-in embedder, a second with another
	Within   time.Duration
	Items    int            // most memories of a turn; 0: 6
	FleetDay budget.Micros  // what the deployment may spend a day
	KeyDay   *budget.Micros // what a key that has no cap of its own may spend a day; nil: no cap but the agent's
	// most tokens of an answer to a client that names no maximum, where tokens cost money; 0: 8192
	Answer   int
	Thinking int    // most tokens that a model which thinks first is given beside; 0: 24576
	Persona  string // of Personas: how the model is told who it is; empty: PersonaSystem
	// background goes into the user's message and not before it: for templates that want the roles to take turns
	Joined bool

	// MoodSampling sets the temperature by the mood where the client names none.
	MoodSampling bool

	Allowed []string // fields beyond tokens that a paid model may be asked with (inference.FieldsBeyondTokens)
	Queue   int      // most exchanges that wait to be remembered by one of the keepers; 0: 1024

	MemoriesPerPrincipal int // most live memories that an agent keeps of what one principal said; 0: no bound
	MemoriesPerUser      int // and of what one named user of it said; 0: no bound but the principal's

	Switches Switches            // what every agent does
	Agents   map[string]Switches // and what single ones do, by handle
	Digest   string              // of journal.Digests; empty: journal.DigestMessage
	Private  bool                // nothing of dreams is told to any client
	Shared   bool                // dreams are told to every client, whoever else's talks they may quote
	Baseline mood.PAD            // where moods return to
}

// The defaults of Options.
const (
	defaultHold      = time.Minute
	defaultWithin    = 40 * time.Millisecond
	defaultWithinFar = time.Second // with an embedder that is called over a network
	defaultItems     = 6
	defaultAnswer    = 8192 // what nearly every hosted model takes
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

// Service is an agent awake, or many: it implements Talk and Mind. Several processes may share one store.
type Service struct {
	Ports
	o       Options
	allowed map[string]bool // Options.Allowed, by inference.FieldKey

	agents   known
	visits   visits
	talks    talks
	feelings feelings
	digests  digests
	talkers  *talkers
	quotas   *quotas
	counts   counts
	zones    zones
	searches atomic.Int64 // under way

	measuring measuring

	queues  [keepers]chan task
	hear    context.Context // of what goes on beside the turns
	silence context.CancelFunc
	gate    sync.RWMutex // writes: closed
	closed  bool
	beside  sync.WaitGroup // streams that are being settled, searches that nobody waits for any more
	keeping sync.WaitGroup // what New began
}

var (
	_ Talk = (*Service)(nil)
	_ Mind = (*Service)(nil)

	_ Memories = (*Service)(nil)
)

// New begins: leases are kept, exchanges remembered. Close ends it.
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
	b.hear, b.silence = context.WithCancel(context.Background())
	b.keeping.Go(b.keepLeases)
	for i := range b.queues {
		b.queues[i] = make(chan task, b.o.Queue)
		b.keeping.Go(func() { b.keepUp(b.queues[i]) })
	}
	return b
}

// Close waits for the settling of streams that have ended and until what is queued is remembered, or until ctx ends;
// then what is left is dropped. Turns that are under way must have ended before.
func (b *Service) Close(ctx context.Context) error {
	b.gate.Lock()
	if b.closed {
		b.gate.Unlock()
		return nil
	}
	b.closed = true
	b.gate.Unlock()
	stop := context.AfterFunc(ctx, b.silence)
	defer stop()
	b.beside.Wait()
	for _, queue := range b.queues {
		close(queue)
	}
	b.tend(ctx)
	b.visits.stop()
	b.keeping.Wait()
	err := ctx.Err()
	b.silence()
	return err
}

func (b *Service) now() time.Time { return b.Guard.Now() }

// aside runs a deed beside the turns that Close waits for; false when the being is closed.
func (b *Service) aside(do func()) bool {
	b.gate.RLock()
	defer b.gate.RUnlock()
	if b.closed {
		return false
	}
	b.beside.Go(do)
	return true
}
