package review

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/prediction"
)

// Pauses between two passes over one agent: so that a talk is judged in batches, and a provider that is away is not
// asked every minute.
const (
	judgedEvery = time.Hour
	triedEvery  = 5 * time.Minute
)

// agentsAtOnce is how many agents are judged at once, so that the slow model of one does not delay the others.
const agentsAtOnce = 4

// JudgeQueue judges the predictions of agents whose episodes have changed: at once, and then at most once an hour, but
// before a horizon makes a prediction void. Its methods may be called by several goroutines.
type JudgeQueue struct {
	Judge
	// Report, when set, is called after each pass over an agent in which its model was or should have been asked. It is
	// called by several goroutines.
	Report func(agent dream.Agent, done Judgement)

	mu      sync.Mutex
	pending map[string]dream.Agent
	passes  map[string]judgePass // by agent
}

// judgePass is when an agent was judged last, and when it may be again.
type judgePass struct {
	running  bool
	at, next time.Time
}

// Changed notes that the episodes of an agent have changed.
func (q *JudgeQueue) Changed(agent dream.Agent) {
	if _, reason := q.Asks(agent, false); reason != "" {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.pending == nil {
		q.pending, q.passes = map[string]dream.Agent{}, map[string]judgePass{}
	}
	q.pending[agent.ID] = agent
}

// Run judges the agents that are pending and due, at first and at each tick, a few at once, until ctx ends and the
// passes under way with it. An agent is judged by one pass at a time. Faults are given to fail.
func (q *JudgeQueue) Run(ctx context.Context, ticks <-chan time.Time, fail func(error)) {
	var passes sync.WaitGroup
	defer passes.Wait()
	free := make(chan struct{}, agentsAtOnce)
	for {
		q.start(ctx, &passes, free, fail)
		select {
		case <-ticks:
		case <-ctx.Done():
			return
		}
	}
}

// start begins a pass over each agent that waits, as soon as one of those under way leaves room for it.
func (q *JudgeQueue) start(ctx context.Context, passes *sync.WaitGroup, free chan struct{}, fail func(error)) {
	for _, agent := range q.waiting() {
		select {
		case free <- struct{}{}:
		case <-ctx.Done():
			return
		}
		passes.Go(func() {
			defer func() { <-free }()
			if err := q.judge(ctx, agent); err != nil {
				fail(err)
			}
		})
	}
}

// judge judges an agent if it is due and not being judged. An agent that could not be judged whole stays pending.
func (q *JudgeQueue) judge(ctx context.Context, agent dream.Agent) error {
	due, err := q.isDue(ctx, agent)
	if err != nil || !due || !q.take(agent) {
		return err
	}
	done, err := q.Once(ctx, agent, false)
	pause := judgedEvery
	if unfinished := err != nil || done.Reason != ""; unfinished {
		q.Changed(agent)
		if !done.Capped && done.Refused == 0 {
			pause = triedEvery
		}
	}
	if q.Report != nil && (done.Calls > 0 || done.Reason != "") {
		q.Report(agent, done)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.passes[agent.ID] = judgePass{at: q.Now(), next: q.Now().Add(pause)}
	if err != nil {
		return fmt.Errorf("judge the predictions of %s: %w", agent.Handle, err)
	}
	return nil
}

// waiting are the agents that are pending and not being judged.
func (q *JudgeQueue) waiting() []dream.Agent {
	q.mu.Lock()
	defer q.mu.Unlock()
	agents := make([]dream.Agent, 0, len(q.pending))
	for _, agent := range q.pending {
		if !q.passes[agent.ID].running {
			agents = append(agents, agent)
		}
	}
	return agents
}

// take begins a pass over an agent, unless one is under way; what changes from now on makes it pending again.
func (q *JudgeQueue) take(agent dream.Agent) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	last := q.passes[agent.ID]
	if last.running {
		return false
	}
	last.running = true
	q.passes[agent.ID] = last
	delete(q.pending, agent.ID)
	return true
}

// isDue says whether an agent may be judged again, or has a prediction in prose whose horizon has passed.
func (q *JudgeQueue) isDue(ctx context.Context, agent dream.Agent) (bool, error) {
	q.mu.Lock()
	last := q.passes[agent.ID]
	q.mu.Unlock()
	now := q.Now()
	if !now.Before(last.next) {
		return true, nil
	}
	if now.Before(last.at.Add(triedEvery)) {
		return false, nil
	}
	passed, err := q.open(ctx, memory.Query{Agent: agent.ID, DueBefore: now.Add(1)})
	for _, p := range passed {
		if prediction.IsProse(p) {
			return true, err
		}
	}
	return false, err
}
