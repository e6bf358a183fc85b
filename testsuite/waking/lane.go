package waking

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
	"github.com/seed-56a03226/oneiros/workflows"
)

// After is what is done with an interrupted dream.
type After string

// What is done.
const (
	Resumed   After = "resumed"
	Replaced  After = "let go for another dream"
	Cancelled After = "cancelled"
	Abandoned After = "terminated and abandoned"
)

var afters = []After{Resumed, Resumed, Resumed, Resumed, Resumed, Resumed, Resumed, Replaced, Cancelled, Abandoned}

// lane is one agent, whose dreams follow one another.
type lane struct {
	*execution
	dice      *rand.Rand
	agent     dream.Agent
	awake     []awakeTime
	dreams    int
	abandoned string        // the interrupted dream that the next one ends
	ended     []string      // dreams that the next one replaced, or that were cancelled: only ended dreams are audited
	over      chan struct{} // closed when the workflow of the dream has ended
}

// awakeTime is a time in which the agent was held awake: from the answer to a connect until its lock was over.
type awakeTime struct{ from, to time.Time }

// addAgent makes the lane's agent, with money for as many dreams as there are.
func (l *lane) addAgent(ctx context.Context, i int) error {
	var err error
	l.agent, err = l.deployment.AddAgent(ctx, i%2, fmt.Sprintf("woken-%d", i))
	if err != nil {
		return err
	}
	l.agent.Caps = dream.Caps{Dream: 1 << 40, Day: 1 << 45, Month: 1 << 50}
	return l.deployment.Store.PutAgent(ctx, l.agent)
}

func (l *lane) run(ctx context.Context) error {
	for !l.enough() {
		if err := l.dream(ctx); err != nil {
			return err
		}
	}
	if l.abandoned != "" {
		if err := l.deployment.Starter.Cancel(ctx, l.abandoned); err != nil {
			return err
		}
		l.ended = append(l.ended, l.abandoned)
	}
	for _, id := range l.ended { // the test has not waited for them
		if err := l.waitForEnd(ctx, id); err != nil {
			return err
		}
	}
	return l.undisturbed(ctx)
}

// dream begins one dream and wakes it a few times, until it ends or is abandoned.
func (l *lane) dream(ctx context.Context) error {
	n, budget := l.dice.Uint64()>>1, l.agent.Caps.Dream
	w := starter.DreamRequest{
		Agent:  l.agent.Handle,
		Tier:   dream.Hardened,
		Seed:   &n,
		Budget: &budget,
		AsOf:   testdeploy.Night.AddDate(0, 0, l.dreams%10),
	}
	if l.dice.IntN(6) == 0 {
		w.Tier = dream.Core
	}
	l.dreams++
	begun, err := l.begin(ctx, w)
	if err != nil {
		return err
	}
	if l.abandoned != "" {
		l.ended, l.abandoned = append(l.ended, l.abandoned), ""
	}
	l.note(func(t *Tally) { t.Dreams++ })
	id, over := begun.Dream, make(chan struct{})
	l.over = over
	go func() {
		defer close(over)
		_, _ = l.deployment.Result(ctx, id) // a terminated one has none
	}()
	for range 1 + l.dice.IntN(6) {
		if !l.moment(ctx, id) {
			break
		}
		left, err := l.disturb(ctx, id)
		if left || err != nil {
			return err
		}
	}
	select {
	case <-l.over:
		return l.waitAsleep(ctx)
	case <-time.After(patience):
		return l.explain(ctx, id, errors.New("the dream does not end"))
	}
}

// waitForEnd waits for the end of a dream that was asked to end.
func (l *lane) waitForEnd(ctx context.Context, id string) error {
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if _, err := l.deployment.Result(within, id); err != nil {
		return l.explain(ctx, id, err)
	}
	return nil
}

// begin retries until a worker answers: all of them may have been killed.
func (l *lane) begin(ctx context.Context, w starter.DreamRequest) (workflows.StartedDream, error) {
	for {
		begun, err := l.deployment.Starter.Begin(ctx, w)
		if !errors.Is(err, starter.ErrUnreachable) || ctx.Err() != nil {
			return begun, err
		}
	}
}

// moment waits for a random one: some calls, and then some tokens; false when the dream ended before.
func (l *lane) moment(ctx context.Context, id string) bool {
	if !l.counted.reach(ctx, id, l.counted.of(id)+l.dice.IntN(7), l.over) {
		return false
	}
	tokens, tick := l.upstream.Billing.Streamed()+int64(l.dice.IntN(80)), time.NewTicker(2*time.Millisecond)
	defer tick.Stop()
	for range 100 { // no call may be streaming now
		if l.upstream.Billing.Streamed() >= tokens {
			return true
		}
		select {
		case <-tick.C:
		case <-l.over:
			return false
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// disturb wakes the agent and does something with the dream; true when the dream does not resume.
func (l *lane) disturb(ctx context.Context, id string) (bool, error) {
	way := draw(l.dice, ways)
	before, err := l.agentState(ctx)
	if err != nil {
		return true, err
	}
	err = way.wake(ctx, l.deployment, l.agent, id)
	blind := errors.Is(err, errDegraded)
	if err != nil && !blind {
		if way == ByDreamSignal && l.dreamEnded(id) {
			return true, l.waitAsleep(ctx) // it ended before the signal came
		}
		return true, fmt.Errorf("%s at %s: %w", way, id, err)
	}
	l.note(func(t *Tally) { t.Ways[way]++ })
	from := time.Now()
	if blind {
		l.note(func(t *Tally) { t.Blind++ })
		// otherwise the agent is woken when its workflow learns of it, whatever has been done with the dream by then
		if err := l.awaitRecorded(ctx); err != nil {
			return true, l.explain(ctx, id, err)
		}
	}
	if blind || way == ByUpdate || way == BySignal || way == ByDreamSignal {
		from = time.Time{} // the time at which its epoch was raised is unknown
	}
	interrupted, err := l.settled(ctx, id, before.Wakes)
	if err != nil {
		return true, err
	}
	if !interrupted {
		l.note(func(t *Tally) { t.Missed++ })
		return true, l.release(ctx, from)
	}
	after := draw(l.dice, afters)
	l.note(func(t *Tally) { t.After[after]++ })
	return after != Resumed, l.follow(ctx, id, after, from)
}

// awaitRecorded waits until the agent's workflow has recorded a client that the store was too slow for.
func (l *lane) awaitRecorded(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err := l.deployment.Starter.Recorded(within, l.agent.ID, 0)
	if errors.Is(err, memory.ErrNotFound) {
		_, err = l.deployment.Starter.Recorded(within, l.agent.Handle, 0)
	}
	return err
}

// agentState retries until a worker answers: the worker that is queried may be killed.
func (l *lane) agentState(ctx context.Context) (workflows.AgentState, error) {
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		agentState, err := l.deployment.Starter.AgentState(within, l.agent.Handle)
		if err == nil || within.Err() != nil {
			return agentState, err
		}
	}
}

// patience bounds each wait of a lane: a killed worker costs some seconds.
const patience = 90 * time.Second

// settled waits until the agent is awake and its dream interrupted or ended. wakes is how often the agent had been
// woken before.
func (l *lane) settled(ctx context.Context, id string, wakes int) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		agentState, err := l.deployment.Starter.AgentState(ctx, l.agent.Handle)
		if err == nil && agentState.Wakes > wakes && agentState.State == workflows.Awake && agentState.Dream == nil {
			return agentState.Interrupted != nil && agentState.Interrupted.Dream == id, nil
		}
		select {
		case <-tick.C:
		case <-l.over:
			return false, nil
		case <-ctx.Done():
			return false, l.explain(
				context.WithoutCancel(ctx),
				id,
				errors.Join(errors.New("the dream is not interrupted"), err),
			)
		}
	}
}

func (l *lane) dreamEnded(string) bool {
	select {
	case <-l.over:
		return true
	case <-time.After(5 * time.Second): // Temporal's answer about the end may come after the signal was refused
		return false
	}
}
