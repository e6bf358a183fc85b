package deploy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	tlog "go.temporal.io/sdk/log"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/workers"
	"github.com/seed-56a03226/oneiros/workflows"
)

// waker carries out the console's commands on wakes. It holds a Temporal client that has not connected yet: raising a
// wake waits for the store only.
type waker struct {
	engine   *engine
	noServer error       // why there is no Temporal server to notify
	woken    dream.Agent // set when the wake is recorded; the connection may have started its workflow
	joined   bool        // the connection joined a wake under way, of which the agent's workflow was not notified
}

// Waker returns the commands that wake sleeping agents.
func (d *Process) Waker(_ context.Context, h *Deployment) (Waker, error) {
	e := newEngine(h)
	e.log = tlog.NewStructuredLogger(slog.New(slog.DiscardHandler)) // the command prints its own messages
	w := &waker{engine: e}
	o, err := e.options()
	if errors.Is(err, ErrNoServer) {
		e.starter, w.noServer = h.starter(), err
		return w, nil
	}
	if err == nil {
		err = e.createClient(o)
	}
	return w, err
}

// Wake raises a wake. When no Temporal server runs, a later worker notifies the agent's workflow.
func (w *waker) Wake(ctx context.Context, k starter.Connection) (starter.WakeResult, error) {
	woken, err := w.engine.starter.Wake(ctx, k)
	if err != nil {
		return starter.WakeResult{}, err
	}
	if woken.Epoch == 0 { // nothing is stored, and this process ends before anything can be
		return starter.WakeResult{}, fmt.Errorf("nothing is recorded: %w", woken.Unstored)
	}
	w.joined = woken.Joined(k.Cause)
	if w.noServer != nil && woken.Raised {
		woken.Degraded = sentences(woken.Degraded,
			"No Temporal server runs: the wake is recorded when a worker next runs.")
	}
	return woken, nil
}

func sentences(first, second string) string {
	if first == "" {
		return second
	}
	return first + ". " + second
}

// askEvery is how often the agent's workflow is polled for a wake that another process raised.
const askEvery = 100 * time.Millisecond

// Recorded waits until the agent's workflow has recorded the wake. The process that raised a wake notifies the
// workflow; this one only waits when it raised none.
func (w *waker) Recorded(ctx context.Context, agent string, epoch int64) (workflows.WakeAnswer, error) {
	awoken, err := w.engine.starter.Recorded(ctx, agent, epoch)
	if err == nil {
		w.woken, _ = w.engine.deployment.store.Agent(ctx, agent)
		return awoken, nil
	}
	if !errors.Is(err, memory.ErrNotFound) {
		return awoken, w.blame(ctx, err)
	}
	if w.noServer != nil {
		return awoken, w.noServer
	}
	a, err := w.engine.deployment.store.Agent(ctx, agent)
	if err != nil {
		return awoken, err
	}
	if w.joined {
		if err := w.engine.starter.Connected(ctx, a.Handle); err != nil {
			return awoken, err
		}
	}
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		agentState, err := w.AgentState(ctx, a.Handle)
		if err == nil && agentState.Epoch >= epoch && agentState.State != workflows.Waking {
			return w.recordedWake(ctx, agent, epoch), nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return awoken, errors.Join(ctx.Err(), err)
		}
	}
}

// recordedWake is what the store knows of a recorded wake.
func (w *waker) recordedWake(ctx context.Context, agent string, epoch int64) workflows.WakeAnswer {
	awoken := workflows.WakeAnswer{Epoch: epoch, State: workflows.Awake}
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
	return w.unlessEnded(ctx, agent, w.engine.starter.Leave(ctx, agent, client),
		func(l presence.Lease) bool { return l.Client == client })
}

// Sleep ends every lease and the wake lock.
func (w *waker) Sleep(ctx context.Context, agent string) error {
	return w.unlessEnded(ctx, agent, w.engine.starter.Sleep(ctx, agent), func(presence.Lease) bool { return true })
}

// unlessEnded drops an error when the leases have ended: only Temporal could not be notified then, and the agent's
// workflow looks at the store by itself.
func (w *waker) unlessEnded(ctx context.Context, agent string, fault error, those func(presence.Lease) bool) error {
	if fault == nil {
		return nil
	}
	s, err := w.engine.starter.Status(ctx, agent)
	if err != nil || slices.ContainsFunc(s.Leases, those) {
		return fault
	}
	return nil
}

// AgentStateWithin bounds a query of an agent's workflow, since the store knows nearly the same.
const AgentStateWithin = 1500 * time.Millisecond

// AgentState queries the agent's workflow.
func (w *waker) AgentState(ctx context.Context, handle string) (workflows.AgentState, error) {
	if w.noServer != nil {
		return workflows.AgentState{}, w.noServer
	}
	agentState, err := w.engine.starter.AgentState(ctx, handle)
	var notFound *serviceerror.NotFound
	if errors.As(err, &notFound) {
		err = fmt.Errorf("the workflow of %s has not started yet: %w", handle, memory.ErrNotFound)
	}
	err = w.blame(ctx, err)
	if errors.Is(err, ErrNoWorker) {
		err = fmt.Errorf("%w%s", err, lastFailure(ctx, w.engine.client, workflows.AgentID(handle)))
	}
	return agentState, err
}

// blame says of an error that nothing answered in time what did not: ErrNoTemporal or ErrNoWorker, with the error.
// Other errors stay.
func (w *waker) blame(ctx context.Context, err error) error {
	var late *serviceerror.DeadlineExceeded
	var away *serviceerror.Unavailable
	unanswered := errors.As(err, &late) || errors.As(err, &away) || errors.Is(err, context.DeadlineExceeded)
	if !unanswered || w.engine.client == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), failureWithin)
	defer cancel()
	if _, silent := w.engine.client.CheckHealth(ctx, &client.CheckHealthRequest{}); silent != nil {
		return fmt.Errorf("%w: %w", ErrNoTemporal, err)
	}
	return fmt.Errorf("%w: %w", ErrNoWorker, err)
}

// Remove removes an agent. Without a Temporal server its workflow, if any, is left.
func (w *waker) Remove(ctx context.Context, name string) (starter.RemovalResult, error) {
	done, err := w.engine.starter.Remove(ctx, name)
	if w.noServer != nil && done.Running != "" {
		done.Running = "no Temporal server runs"
	}
	return done, err
}

// settleWithin bounds how long Stop takes to send settings to a workflow that the connection may have started.
const settleWithin = 300 * time.Millisecond

// Stop sends the deployment's full settings to a workflow that the connection may have started, and closes the
// client.
func (w *waker) Stop() error {
	if w.woken.ID != "" {
		ctx, cancel := context.WithTimeout(context.Background(), settleWithin)
		defer cancel()
		if found, err := workers.Look(ctx, w.engine.client, w.engine.namespace); err == nil && found.Searchable {
			w.engine.starter.Options.Searchable = true
			_ = w.engine.starter.EnsureWorkflow(ctx, w.woken) // a worker that maintains the workflows does the same
		}
	}
	return w.engine.Stop()
}

var _ Waker = (*waker)(nil)
