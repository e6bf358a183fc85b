package psyche

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/journal"
	"github.com/seed-56a03226/oneiros/internal/ratelimit"
)

// Ports are what a Service needs.
type Ports struct {
	Memory memory.Store
	Talks  memory.Talks      // what was put before the model in each talk; nil: in this process's memory only
	Jobs   memory.EmbedQueue // which process embeds in the background; nil: none
	Guard  *spend.Guard      // with its catalogue, its models and its clock
	Relay  inference.Relay
	Waker  Waker           // takes leases for clients, and wakes agents
	Log    *slog.Logger    // nil: silent. It never gets text of a talk
	Tokens ratelimit.Table // of each principal, a minute; nil: keys' limits of tokens do not hold

	// Render writes PLAYBOOK.md from an agent's heuristics and its open hypotheses, most certain first.
	Render func([]*dream.Playbook, []*dream.Hypothesis) string
}

// Options configure a Service. With the zero Options, memories are recalled, exchanges are stored and moods are read,
// with the defaults named here.
type Options struct {
	Talker string                // model of the catalogue for talk; empty: the agent's generator
	Models map[dream.Role]string // for agents that name none of their own
	// Hold is how long a request holds the agent awake after its end (client_timeout); 0: one minute.
	Hold time.Duration
	// Within is the longest that a turn waits for its memories; 0: 40 ms with a built-in embedder, 1 s with another.
	Within time.Duration
	// AgentWithin is the longest that a request waits for the record of its agent, so that it is answered within a
	// second, whatever is broken; 0: 300 ms.
	AgentWithin time.Duration
	// TalkWithin is the longest that a turn waits for the backgrounds of a talk that another process has continued;
	// 0: 50 ms.
	TalkWithin time.Duration
	Items      int            // most memories per turn; 0: 6
	FleetDay   budget.Micros  // what the deployment may spend a day
	KeyDay     *budget.Micros // daily limit of keys without one of their own; nil: only the agent's caps
	// Answer is the most tokens of an answer when a client names no maximum and tokens cost money; 0: 8192.
	Answer   int
	Thinking int    // most tokens for thinking, in addition; 0: 24576
	Persona  string // one of Personas: how the model learns who it is; empty: PersonaSystem
	// Joined puts background into the user's message instead of before it, for templates that need alternating roles.
	Joined bool

	// MoodSampling sets the temperature by the mood when the client names none.
	MoodSampling bool

	Completions     string // model of the catalogue for Completions; empty: they are refused
	CompletionsWake bool   // a completion holds its agent awake, as a turn does

	Gate string // model that is asked first whether an agent answers what was not said to it; empty: none

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
	defaultAgent     = 300 * time.Millisecond
	defaultTalk      = 50 * time.Millisecond
	defaultItems     = 6
	defaultAnswer    = 8192 // accepted by nearly every hosted model
	defaultThinking  = 24_576
	defaultQueue     = 1024 // about 12 KiB each at most
)

func (o Options) filled() Options {
	o.Hold = cmp.Or(o.Hold, defaultHold)
	o.AgentWithin = cmp.Or(o.AgentWithin, defaultAgent)
	o.TalkWithin = cmp.Or(o.TalkWithin, defaultTalk)
	o.Items = cmp.Or(o.Items, defaultItems)
	o.Answer = cmp.Or(o.Answer, defaultAnswer)
	o.Thinking = cmp.Or(o.Thinking, defaultThinking)
	o.Queue = cmp.Or(o.Queue, defaultQueue)
	o.Digest = cmp.Or(o.Digest, journal.DigestMessage)
	o.Persona = cmp.Or(o.Persona, PersonaSystem)
	if o.Private {
		o.Digest = journal.DigestOff
	}
	return o
}

// core is what all parts of a service share: the ports, the options, who may use which agent, and who pays.
type core struct {
	Ports
	o       Options
	allowed map[string]bool // Options.Allowed, by inference.FieldKey

	agents      agentCache   // recently used agents
	talks       talks        // what each talk has shown to the model
	knownOwners *knownOwners // whose talks an agent remembers
	counts      counts       // figures of the process, such as dropped exchanges
	zones       zones        // loaded time zones
	measuring   sync.Map     // names of the embedders whose calibration this process has begun

	running context.Context // context of work beside the turns
	cancel  context.CancelFunc
	gate    sync.RWMutex // write-locked to set closed
	closed  bool
	beside  sync.WaitGroup // streams being settled, and searches that no turn waits for any more
}

// finder searches the memory of agents, as far as a caller may see it.
type finder struct {
	core
	feelings feelings     // moods in use
	searches atomic.Int64 // number of searches under way
}

// memoryWriter stores what was said, within the quotas of principals and users.
type memoryWriter struct {
	finder
	quotas *quotas // how many memories a principal and its users have
	queues [rememberWorkers]chan task
}

// Service answers for agents: it implements Talk, Mind and Memories. Several processes may share one store.
type Service struct {
	memoryWriter
	leases  *clientLeases  // leases that hold agents awake
	digests digests        // digests of wakes that wait for the next turn
	keeping sync.WaitGroup // goroutines started by New
}

var (
	_ Talk = (*Service)(nil)
	_ Mind = (*Service)(nil)

	_ Memories = (*Service)(nil)
)

// New makes a Service and starts its goroutines, which renew leases and store exchanges. Close ends them.
func New(p Ports, o Options) *Service {
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	if p.Render == nil {
		p.Render = func(existing []*dream.Playbook, _ []*dream.Hypothesis) string { return rendered(existing) }
	}
	s := new(Service)
	s.Ports, s.o, s.knownOwners = p, o.filled(), newKnownOwners(p.Memory, p.Guard.Now)
	s.allowed = make(map[string]bool, len(o.Allowed))
	for _, name := range o.Allowed {
		s.allowed[inference.FieldKey(name)] = true
	}
	s.quotas = newQuotas(p.Memory, p.Guard.Now, s.o)
	s.running, s.cancel = context.WithCancel(context.Background())
	s.leases = &clientLeases{
		waker: p.Waker,
		hold:  s.o.Hold,
		now:   p.Guard.Now,
		log:   p.Log,
		woke:  s.digests.woke,
		all:   map[string]*clientLease{},
		over:  make(chan struct{}),
	}
	s.keeping.Go(func() { s.leases.keep(s.running) })
	for i := range s.queues {
		s.queues[i] = make(chan task, s.o.Queue)
		s.keeping.Go(func() { s.rememberLoop(s.queues[i]) })
	}
	return s
}

// Close waits until ended streams are settled and queued exchanges are stored. When ctx ends before, running work is
// cancelled, queued exchanges are dropped, and the error of ctx is returned. Turns must have ended before; later calls
// return nil at once.
func (s *Service) Close(ctx context.Context) error {
	s.gate.Lock()
	if s.closed {
		s.gate.Unlock()
		return nil
	}
	s.closed = true
	s.gate.Unlock()
	stop := context.AfterFunc(ctx, s.cancel)
	defer stop()
	s.beside.Wait()
	for _, queue := range s.queues {
		close(queue)
	}
	s.leases.renew(ctx)
	s.leases.stop()
	s.keeping.Wait()
	err := ctx.Err()
	s.cancel()
	return err
}

func (b *core) now() time.Time { return b.Guard.Now() }

// detach runs do beside the turns; Close waits for it. It returns false when the service is closed.
func (b *core) detach(do func()) bool {
	b.gate.RLock()
	defer b.gate.RUnlock()
	if b.closed {
		return false
	}
	b.beside.Go(do)
	return true
}
