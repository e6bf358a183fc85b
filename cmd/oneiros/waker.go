package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"go.temporal.io/api/serviceerror"
	tlog "go.temporal.io/sdk/log"

	"github.com/seed-56a03226/oneiros/internal/console"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/presence"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/workers"
	"github.com/seed-56a03226/oneiros/workflows"
)

// waker is the console's view of the starter when it wakes. It holds a client that has not connected yet: a knock waits
// for the store, and for nothing else.
type waker struct {
	engine *engine
	nobody error       // why there is no Temporal to tell
	woken  dream.Agent // by this knock, and recorded; its life may be one that the knock began
	joined bool        // the knock found a sleeper held awake, and its life has not been told
}

// waker opens the way to whoever sleeps.
func (d *app) waker(_ context.Context, h *console.Deployment) (console.Waker, error) {
	own, err := d.behind(h)
	if err != nil {
		return nil, err
	}
	e := newEngine(own)
	e.log = tlog.NewStructuredLogger(slog.New(slog.DiscardHandler)) // the command has its own to say
	w := &waker{engine: e}
	o, err := e.options()
	if errors.Is(err, console.ErrNobody) {
		e.starter, w.nobody = own.starter(), err
		return w, nil
	}
	if err == nil {
		err = e.hold(o)
	}
	return w, err
}

// Wake knocks. When no server runs, a worker that does later tells the agent's life.
func (w *waker) Wake(ctx context.Context, k console.Connection) (console.Woken, error) {
	woken, err := w.engine.starter.Wake(ctx, starter.Connection(k))
	if err != nil {
		return console.Woken{}, err
	}
	if woken.Epoch == 0 { // nothing durable has happened, and this process ends before anything does
		return console.Woken{}, errors.New(woken.Degraded)
	}
	w.joined = woken.Joined(k.Cause)
	result := console.Woken{Wake: woken.Wake, Raised: woken.Raised, Degraded: woken.Degraded, Took: woken.Took}
	if w.nobody != nil && woken.Raised {
		result.Degraded = sentences(result.Degraded,
			"No Temporal server runs: the wake is recorded by the next worker that does.")
	}
	return result, nil
}

func sentences(first, second string) string {
	if first == "" {
		return second
	}
	return first + ". " + second
}

// askEvery is how often the agent's life is asked whether it has recorded a wake that somebody else raised.
const askEvery = 100 * time.Millisecond

// Recorded waits for the agent's life. A wake that this process did not raise is told by whoever did.
func (w *waker) Recorded(ctx context.Context, agent string, epoch int64) (workflows.Awoken, error) {
	awoken, err := w.engine.starter.Recorded(ctx, agent, epoch)
	if err == nil {
		w.woken, _ = w.engine.deployment.store.Agent(ctx, agent)
		return awoken, nil
	}
	if !errors.Is(err, memory.ErrNotFound) {
		return awoken, err
	}
	if w.nobody != nil {
		return awoken, w.nobody
	}
	a, err := w.engine.deployment.store.Agent(ctx, agent)
	if err != nil {
		return awoken, err
	}
	if w.joined {
		if err := w.engine.starter.Visited(ctx, a.Handle); err != nil {
			return awoken, err
		}
	}
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		agentState, err := w.AgentState(ctx, a.Handle)
		if err == nil && agentState.Epoch >= epoch && agentState.State != workflows.Waking {
			return w.toldBy(ctx, agent, epoch), nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return awoken, errors.Join(ctx.Err(), err)
		}
	}
}

// toldBy is what the store knows of a wake that is recorded.
func (w *waker) toldBy(ctx context.Context, agent string, epoch int64) workflows.Awoken {
	awoken := workflows.Awoken{Epoch: epoch, State: workflows.Awake}
	s, err := w.engine.starter.Status(ctx, agent)
	if err != nil || s.Last == nil || s.Last.Epoch != epoch || s.Last.Dream == "" {
		return awoken
	}
	awoken.Dream = s.Last.Dream
	if record, err := memory.One[*dream.Record](ctx, w.engine.deployment.store, agent, awoken.Dream); err == nil {
		awoken.Until = record.Until
	}
	return awoken
}

// Leave ends one client's lease.
func (w *waker) Leave(ctx context.Context, agent, client string) error {
	return w.gone(ctx, agent, w.engine.starter.Leave(ctx, agent, client),
		func(l presence.Lease) bool { return l.Client == client })
}

// Sleep ends every lease and the wake lock.
func (w *waker) Sleep(ctx context.Context, agent string) error {
	return w.gone(ctx, agent, w.engine.starter.Sleep(ctx, agent), func(presence.Lease) bool { return true })
}

// gone is the failure to end leases. When they have ended, only Temporal could not be told: the life looks by itself.
func (w *waker) gone(ctx context.Context, agent string, fault error, those func(presence.Lease) bool) error {
	if fault == nil {
		return nil
	}
	s, err := w.engine.starter.Status(ctx, agent)
	if err != nil || slices.ContainsFunc(s.Leases, those) {
		return fault
	}
	return nil
}

// AgentState asks the agent's workflow.
func (w *waker) AgentState(ctx context.Context, handle string) (workflows.AgentState, error) {
	if w.nobody != nil {
		return workflows.AgentState{}, w.nobody
	}
	agentState, err := w.engine.starter.AgentState(ctx, handle)
	var notFound *serviceerror.NotFound
	if errors.As(err, &notFound) {
		err = fmt.Errorf("%s has no life yet: %w", handle, memory.ErrNotFound)
	}
	return agentState, err
}

// Remove removes an agent. Without a server its workflow, where there is one, is left.
func (w *waker) Remove(ctx context.Context, name string) (console.Removed, error) {
	done, err := w.engine.starter.Remove(ctx, name)
	result := console.Removed(done)
	if w.nobody != nil && result.Running != "" {
		result.Running = "no Temporal server runs"
	}
	return result, asOwn(err)
}

// settleWithin bounds how long a knock that was answered looks after the life it may have begun.
const settleWithin = 300 * time.Millisecond

// Stop gives a life that the knock may have begun the deployment's settings in full, and lets go.
func (w *waker) Stop() error {
	if w.woken.ID != "" {
		ctx, cancel := context.WithTimeout(context.Background(), settleWithin)
		defer cancel()
		if found, err := workers.Look(ctx, w.engine.client, w.engine.namespace); err == nil && found.Searchable {
			w.engine.starter.Options.Searchable = true
			_ = w.engine.starter.Live(ctx, w.woken) // a worker that tends the lives does it too
		}
	}
	return w.engine.Stop()
}

var _ console.Waker = (*waker)(nil)
