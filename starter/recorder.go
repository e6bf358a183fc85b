package starter

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/workflows"
)

// recorder reports wakes to agents' workflows by updates: one at a time per agent, only the newest wake, until it is
// recorded. A workflow accepts ten concurrent updates and two thousand in a run, and all wakes of an awake agent are
// equivalent.
type recorder struct {
	mu       sync.Mutex
	agents   map[string]*unrecordedWake
	recorded map[string]outcome // the newest recorded wake by agent
	slots    chan struct{}
	running  sync.WaitGroup
	open     context.Context // ends when the recorder is closed
	close    context.CancelFunc
}

// unrecordedWake is a wake that the agent's workflow has not recorded yet.
type unrecordedWake struct {
	wake  workflows.Wake
	from  context.Context // carries the values of the caller's context, such as its trace
	done  chan struct{}   // closed when this wake or a newer one is recorded
	blind map[string]departure
}

// departure ends the lease of a client that left before the agent's workflow granted it; nil while the client stays.
type departure func(context.Context) error

// come notes a client whose lease the workflow will grant because the store could not. A client that returns stays.
func (u *unrecordedWake) come(w workflows.Wake) {
	if w.Epoch > 0 {
		return
	}
	if u.blind == nil {
		u.blind = map[string]departure{}
	}
	u.blind[w.Client] = nil
}

// outcome is the answer to a recorded wake.
type outcome struct {
	epoch  int64
	at     time.Time // of the wake; zero when it had no epoch
	awoken workflows.WakeAnswer
}

// covers says whether a recorded wake is the given one or a later one. A later wake with an epoch that was recorded
// before is another one: the store was put back to an earlier state, or lost its newest writes.
func (o outcome) covers(w workflows.Wake) bool { return w.Epoch <= o.epoch && !w.At.After(o.at) }

// Limits of reporting: concurrent updates, the time of one attempt, and the delay between attempts, which doubles.
const (
	reporters   = 64
	reportFor   = 10 * time.Second
	reportAgain = 100 * time.Millisecond
	reportSlow  = 2 * time.Second
	mostWaiting = 4096 // waiting wakes above which wakes for unknown agents are refused
)

// begin initialises the recorder; the caller holds the lock.
func (r *recorder) begin() {
	if r.agents == nil {
		r.agents, r.recorded, r.slots = map[string]*unrecordedWake{}, map[string]outcome{},
			make(chan struct{}, reporters)
		r.open, r.close = context.WithCancel(context.Background())
	}
}

// add queues a wake to be recorded and does not wait. Repeated requests of a client while the store is unreachable
// count as one: a second report might wake an agent that the client has left by then.
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
		if !again && (w.Epoch == 0 || w.Epoch > waiting.wake.Epoch || w.At.After(waiting.wake.At)) {
			waiting.wake, waiting.from = w, from
		}
		return
	}
	repeated := w.Raised.IsZero() // the store says that no workflow has recorded it
	if w.Epoch > 0 && !repeated && r.recorded[key].covers(w) || s.Client == nil ||
		agent.ID == "" && len(r.agents) >= mostWaiting {
		return
	}
	if w.Epoch > 0 && w.Epoch <= r.recorded[key].epoch {
		delete(r.recorded, key)
	}
	r.agents[key] = &unrecordedWake{wake: w, from: from, done: make(chan struct{})}
	r.agents[key].come(w)
	r.running.Go(func() { r.reportUntilRecorded(s, agent) })
}

// keyOf is an agent's id, or its handle when the store could not resolve it.
func keyOf(a dream.Agent) string {
	if a.ID != "" {
		return a.ID
	}
	return "handle " + a.Handle
}

// keysOf are all keys of an agent: without the store, its key is the name that the client used.
func keysOf(a dream.Agent) []string {
	return []string{keyOf(a), keyOf(dream.Agent{Handle: a.Handle}), keyOf(dream.Agent{Handle: a.ID})}
}

// reportUntilRecorded sends the wake update until the agent's workflow has recorded the newest wake, or the recorder is
// closed.
func (r *recorder) reportUntilRecorded(s *Starter, agent dream.Agent) {
	delay := reportAgain
	for {
		w, from := r.current(keyOf(agent))
		answer, err := r.attempt(from, s, agent, w)
		if errors.Is(err, memory.ErrNotFound) { // there is no such agent, or it was removed
			r.drop(keyOf(agent))
			return
		}
		if err == nil {
			if r.settle(keyOf(agent), w, answer) {
				return
			}
			delay = reportAgain
			continue
		}
		delay = pause(r.open, delay, reportSlow)
		if r.open.Err() != nil {
			return
		}
	}
}

// pause waits for a delay, or until ctx ends, and returns the next delay: twice as long, and at most the longest.
func pause(ctx context.Context, delay, longest time.Duration) time.Duration {
	wait := time.NewTimer(delay)
	defer wait.Stop()
	select {
	case <-ctx.Done():
	case <-wait.C:
	}
	return min(2*delay, longest)
}

func (r *recorder) attempt(from context.Context, s *Starter, agent dream.Agent,
	w workflows.Wake,
) (workflows.WakeAnswer, error) {
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-r.open.Done():
		return workflows.WakeAnswer{}, r.open.Err()
	}
	ctx, cancel := r.while(from, reportFor)
	defer cancel()
	if agent.ID == "" { // the store was unreachable when the request came
		existing, err := s.Memory.Agent(ctx, agent.Handle)
		if err != nil {
			return workflows.WakeAnswer{}, err
		}
		agent = existing
	}
	return waking{s}.sendWake(ctx, agent, w)
}

// while returns a context with the values of from that ends after d or when the recorder is closed.
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

// settle notes that a wake is recorded; false when a newer one has arrived meanwhile.
func (r *recorder) settle(agent string, w workflows.Wake, answer workflows.WakeAnswer) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	waiting := r.agents[agent]
	epoch := max(w.Epoch, answer.Epoch)
	if epoch >= r.recorded[agent].epoch {
		r.recorded[agent] = outcome{epoch, w.At, answer}
	}
	if next := waiting.wake; next != w && (next.Epoch == 0 || next.Epoch > epoch || next.At.After(w.At)) { // a newer one arrived meanwhile
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

// endAfterRecord ends a client's lease once its wake is recorded: the workflow grants the lease only then, and it would
// outlast the visit. An empty name means every client.
func (r *recorder) endAfterRecord(a dream.Agent, client string, depart func(context.Context, string) error) {
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

// cancelDeparture cancels a pending departure because the client has connected again and has a lease of its own.
func (r *recorder) cancelDeparture(a dream.Agent, client string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, key := range keysOf(a) {
		if waiting, ok := r.agents[key]; ok && waiting.blind[client] != nil {
			waiting.blind[client] = nil
		}
	}
}

// later runs do in the background, repeatedly until it succeeds, the recorder is closed or a time limit has passed.
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

// background is later for callers that hold the lock of an open recorder.
func (r *recorder) background(from context.Context, do func(context.Context) error) {
	r.running.Go(func() {
		ctx, cancel := r.while(from, 2*reportFor)
		defer cancel()
		for delay := reportAgain; do(ctx) != nil && ctx.Err() == nil; {
			delay = pause(ctx, delay, reportSlow)
		}
	})
}

// drop forgets a wake that cannot be reported.
func (r *recorder) drop(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.agents[key].done)
	delete(r.agents, key)
}

// wait returns when the wake of an epoch, or a newer one, was recorded by this process.
func (r *recorder) wait(ctx context.Context, agent string, epoch int64) (workflows.WakeAnswer, error) {
	for {
		r.mu.Lock()
		r.begin()
		last, waiting := r.recorded[agent], r.agents[agent]
		if byHandle := keyOf(dream.Agent{Handle: agent}); waiting == nil && last.epoch == 0 {
			last, waiting = r.recorded[byHandle], r.agents[byHandle]
		}
		r.mu.Unlock()
		// a wake without an epoch is complete when any wake is recorded
		if last.epoch >= epoch && (epoch > 0 || waiting == nil && last.epoch > 0) {
			return last.awoken, nil
		}
		if waiting == nil {
			return workflows.WakeAnswer{},
				fmt.Errorf("wake %d of agent %s was not requested in this process: %w", epoch, agent,
					memory.ErrNotFound)
		}
		select {
		case <-waiting.done:
		case <-r.open.Done():
			return workflows.WakeAnswer{}, errors.New("the recorder is closed")
		case <-ctx.Done():
			return workflows.WakeAnswer{}, ctx.Err()
		}
	}
}

// retryUnrecorded is the interval at which unrecorded wakes are searched, left by a process that died or while Temporal
// was unreachable.
const retryUnrecorded = 5 * time.Second

// Record keeps reporting wakes that no agent workflow has recorded, until ctx ends. One process per deployment is
// enough; several do no harm.
func (s *Starter) Record(ctx context.Context) {
	tick := time.NewTicker(retryUnrecorded)
	defer tick.Stop()
	for {
		waking{s}.recordMissing(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (s waking) recordMissing(ctx context.Context) {
	wakes, err := s.Presence.Unrecorded(ctx)
	if err != nil {
		return // the next tick finds them
	}
	for id, w := range wakes {
		if s.Now().Sub(w.At).Abs() < retryUnrecorded {
			continue // the process that raised it is reporting it now; a time in the future means a wrong clock
		}
		if agent, err := s.Memory.Agent(ctx, id); err == nil {
			s.recording.add(ctx, s.Starter, agent, workflows.Wake{Epoch: w.Epoch, Cause: w.Cause, Client: w.Client, At: w.At})
		}
	}
}

// Close stops reporting. Wakes that are not recorded stay marked in the store.
func (s *Starter) Close() {
	s.looks.end()
	s.recording.mu.Lock()
	s.recording.begin()
	s.recording.close()
	s.recording.mu.Unlock()
	s.recording.running.Wait()
}
