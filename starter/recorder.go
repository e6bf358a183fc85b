package starter

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/workflows"
)

// recorder tells agents' lives of wakes: one Update at a time for each agent, the newest wake only, until it has
// arrived. An agent's life takes ten Updates at once and two thousand in a run (decision 16), and every wake of an
// agent that is awake is the same wake.
type recorder struct {
	mu     sync.Mutex
	agents map[string]*untold
	told   map[string]outcome // the newest of each agent
	slots  chan struct{}
	gone   sync.WaitGroup
	open   context.Context // ends when the recorder is closed
	close  context.CancelFunc
}

// untold is a wake that an agent's life has not recorded yet.
type untold struct {
	wake  workflows.Wake
	from  context.Context // the values of whoever knocked, such as its trace
	done  chan struct{}   // closed when it, or a newer one, is recorded
	blind map[string]departure
}

// departure is owed by a visitor that the agent's life lets in, and that has left before; nil while it stays.
type departure func(context.Context) error

// come notes a visitor that the agent's life lets in, as the store could not. One that comes again stays.
func (u *untold) come(w workflows.Wake) {
	if w.Epoch > 0 {
		return
	}
	if u.blind == nil {
		u.blind = map[string]departure{}
	}
	u.blind[w.Client] = nil
}

type outcome struct {
	epoch  int64
	awoken workflows.Awoken
}

// How wakes are told: so many at once, each attempt bounded, again after a wait that doubles.
const (
	tellers     = 64
	reportFor   = 10 * time.Second
	reportAgain = 100 * time.Millisecond
	reportSlow  = 2 * time.Second
	strangers   = 4096 // wakes that wait, above which no unknown name is taken in
)

// begin makes the recorder ready; the caller holds the lock.
func (r *recorder) begin() {
	if r.agents == nil {
		r.agents, r.told, r.slots = map[string]*untold{}, map[string]outcome{}, make(chan struct{}, tellers)
		r.open, r.close = context.WithCancel(context.Background())
	}
}

// add takes a wake to be recorded; it does not wait. Whoever knocks again, while the store is away, before its knock
// was told has come once: told a second time it might wake an agent that it had left by then.
func (r *recorder) add(from context.Context, s *Starter, agent dream.Agent, w workflows.Wake) {
	from = context.WithoutCancel(from)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begin()
	if r.open.Err() != nil {
		return
	}
	key := keyOf(agent)
	if waiting, ok := r.agents[key]; ok {
		waiting.come(w)
		again := w.Epoch == 0 && waiting.wake.Epoch == 0 && w.Client == waiting.wake.Client &&
			w.Cause == waiting.wake.Cause
		if !again && (w.Epoch == 0 || w.Epoch > waiting.wake.Epoch) {
			waiting.wake, waiting.from = w, from
		}
		return
	}
	if w.Epoch > 0 && w.Epoch <= r.told[key].epoch || s.Client == nil || agent.ID == "" && len(r.agents) >= strangers {
		return
	}
	r.agents[key] = &untold{wake: w, from: from, done: make(chan struct{})}
	r.agents[key].come(w)
	r.gone.Go(func() { r.signal(s, agent) })
}

// keyOf is an agent's id, or its handle when the store could not tell the id.
func keyOf(a dream.Agent) string {
	if a.ID != "" {
		return a.ID
	}
	return "handle " + a.Handle
}

// keysOf are all the keys of an agent: where the store could not tell its id, it is called as whoever knocked calls it.
func keysOf(a dream.Agent) []string {
	return []string{keyOf(a), keyOf(dream.Agent{Handle: a.Handle}), keyOf(dream.Agent{Handle: a.ID})}
}

// signal tries until the agent's life has recorded the newest wake, or the recorder is closed.
func (r *recorder) signal(s *Starter, agent dream.Agent) {
	pause := reportAgain
	for {
		w, from := r.current(keyOf(agent))
		awoken, err := r.attempt(from, s, agent, w)
		if errors.Is(err, memory.ErrNotFound) { // nobody of that name, or the agent was removed
			r.drop(keyOf(agent))
			return
		}
		if err == nil {
			if r.settle(keyOf(agent), w, awoken) {
				return
			}
			pause = reportAgain
			continue
		}
		wait := time.NewTimer(pause)
		select {
		case <-r.open.Done():
			wait.Stop()
			return
		case <-wait.C:
		}
		pause = min(2*pause, reportSlow)
	}
}

func (r *recorder) attempt(from context.Context, s *Starter, agent dream.Agent,
	w workflows.Wake,
) (workflows.Awoken, error) {
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-r.open.Done():
		return workflows.Awoken{}, r.open.Err()
	}
	ctx, cancel := r.while(from, reportFor)
	defer cancel()
	if agent.ID == "" { // the store was away when somebody knocked
		existing, err := s.Memory.Agent(ctx, agent.Handle)
		if err != nil {
			return workflows.Awoken{}, err
		}
		agent = existing
	}
	return s.sendWake(ctx, agent, w)
}

// while is a context of somebody's values that ends in time, or with the recorder.
func (r *recorder) while(from context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(from, d)
	stop := context.AfterFunc(r.open, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

func (r *recorder) current(agent string) (workflows.Wake, context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.agents[agent].wake, r.agents[agent].from
}

// settle notes that a wake is recorded; false when a newer one has come meanwhile.
func (r *recorder) settle(agent string, w workflows.Wake, awoken workflows.Awoken) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	waiting := r.agents[agent]
	epoch := max(w.Epoch, awoken.Epoch)
	if epoch >= r.told[agent].epoch {
		r.told[agent] = outcome{epoch, awoken}
	}
	if waiting.wake != w && (waiting.wake.Epoch == 0 || waiting.wake.Epoch > epoch) { // one that came meanwhile
		return false
	}
	delete(r.agents, agent)
	close(waiting.done)
	for _, due := range waiting.blind {
		if due != nil {
			r.background(waiting.from, due)
		}
	}
	return true
}

// left lets a visitor depart once more when its wake has been told: until then it had no lease, and the one that its
// wake takes would outlast the visit. Of an empty name every visitor departs that is there.
func (r *recorder) left(a dream.Agent, client string, depart func(context.Context, string) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, key := range keysOf(a) {
		waiting, ok := r.agents[key]
		if !ok {
			continue
		}
		for name := range waiting.blind {
			if client == "" || client == name {
				waiting.blind[name] = func(ctx context.Context) error { return depart(ctx, name) }
			}
		}
	}
}

// stays takes back what a visitor owed that left, and has come again: the store has let it in, and its lease is its
// own.
func (r *recorder) stays(a dream.Agent, client string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, key := range keysOf(a) {
		if waiting, ok := r.agents[key]; ok && waiting.blind[client] != nil {
			waiting.blind[client] = nil
		}
	}
}

// later does something small in the background, again until it is done, the recorder is closed or it has waited for
// long.
func (r *recorder) later(from context.Context, do func(context.Context) error) {
	from = context.WithoutCancel(from)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begin()
	if r.open.Err() != nil {
		return
	}
	r.background(from, do)
}

// background is later for whoever holds the lock of an open recorder.
func (r *recorder) background(from context.Context, do func(context.Context) error) {
	r.gone.Go(func() {
		ctx, cancel := r.while(from, 2*reportFor)
		defer cancel()
		for pause := reportAgain; do(ctx) != nil && ctx.Err() == nil; pause = min(2*pause, reportSlow) {
			wait := time.NewTimer(pause)
			select {
			case <-ctx.Done():
			case <-wait.C:
			}
			wait.Stop()
		}
	})
}

// drop forgets a wake that nobody can be told of.
func (r *recorder) drop(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.agents[key].done)
	delete(r.agents, key)
}

// wait returns when the wake of an epoch, or of a newer one, is recorded by this process.
func (r *recorder) wait(ctx context.Context, agent string, epoch int64) (workflows.Awoken, error) {
	for {
		r.mu.Lock()
		r.begin()
		result, waiting := r.told[agent], r.agents[agent]
		if stranger := keyOf(dream.Agent{Handle: agent}); waiting == nil && result.epoch == 0 {
			result, waiting = r.told[stranger], r.agents[stranger]
		}
		r.mu.Unlock()
		// a wake without one is over with what is told
		if result.epoch >= epoch && (epoch > 0 || waiting == nil && result.epoch > 0) {
			return result.awoken, nil
		}
		if waiting == nil {
			return workflows.Awoken{},
				fmt.Errorf("wake %d of agent %s was not asked for here: %w", epoch, agent, memory.ErrNotFound)
		}
		select {
		case <-waiting.done:
		case <-r.open.Done():
			return workflows.Awoken{}, errors.New("the recorder is closed")
		case <-ctx.Done():
			return workflows.Awoken{}, ctx.Err()
		}
	}
}

// retell looks for wakes that nobody recorded, left by a process that died or a Temporal that was away.
const retell = 5 * time.Second

// Record keeps on telling agents' lives of wakes that are not recorded, until ctx ends. One process of a deployment is
// enough; several do no harm.
func (s *Starter) Record(ctx context.Context) {
	tick := time.NewTicker(retell)
	defer tick.Stop()
	for {
		s.recordUntold(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (s *Starter) recordUntold(ctx context.Context) {
	wakes, err := s.Presence.Unrecorded(ctx)
	if err != nil {
		return // the store is away; the next look finds them
	}
	for id, w := range wakes {
		if s.Now().Sub(w.At).Abs() < retell {
			continue // whoever raised it is telling it now; further ahead, the clock of its host is wrong
		}
		if agent, err := s.Memory.Agent(ctx, id); err == nil {
			s.recording.add(ctx, s, agent, workflows.Wake{Epoch: w.Epoch, Cause: w.Cause, Client: w.Client, At: w.At})
		}
	}
}

// Close stops telling; what is not recorded yet stays noted in the store.
func (s *Starter) Close() {
	s.recording.mu.Lock()
	s.recording.begin()
	s.recording.close()
	s.recording.mu.Unlock()
	s.recording.gone.Wait()
}
