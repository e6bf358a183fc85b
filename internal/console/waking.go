package console

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/presence"
	"github.com/seed-56a03226/oneiros/workflows"
)

// Connection is somebody who wants an agent awake.
type Connection struct {
	Agent   string // id
	Client  string
	Cause   presence.Cause
	For     time.Duration // how long; 0: as long as the deployment's settings hold an agent awake for this cause
	Trigger string        // of an alarm
}

// Woken answers a knock: whoever knocked may go on.
type Woken struct {
	presence.Wake
	Raised   bool          // this knock woke it; otherwise it was awake already
	Degraded string        // what has not been told, and by whom it will be; empty when all is well
	Took     time.Duration // from the knock to here
}

// Waker wakes agents and lets them sleep. It needs the store; Temporal is told beside it, or later.
type Waker interface {
	Wake(ctx context.Context, k Connection) (Woken, error)
	// Recorded waits until the agent's workflow has recorded the wake of an epoch.
	Recorded(ctx context.Context, agent string, epoch int64) (workflows.Awoken, error)
	// Leave ends one client's lease.
	Leave(ctx context.Context, agent, client string) error
	// Sleep ends every lease and the wake lock.
	Sleep(ctx context.Context, agent string) error
	// AgentState asks the agent's workflow, which a worker must answer. memory.ErrNotFound when the agent has none.
	AgentState(ctx context.Context, handle string) (workflows.AgentState, error)
	// Remove removes an agent and ends its workflows, where Temporal answers. ErrDreaming, ErrAwake,
	// memory.ErrNotFound.
	Remove(ctx context.Context, name string) (Removed, error)
	Stop() error
}

// waker opens the way to whoever is dreaming. It does not wait for Temporal.
func (app *App) waker(ctx context.Context, h *Deployment) (Waker, error) {
	w, err := app.Dream.Waker(ctx, h)
	if err != nil {
		return nil, unanswered(err)
	}
	return w, nil
}

// unanswered marks an error that left a knock without an answer as what it is: the store could not be reached. What
// knows its exit code keeps it.
func unanswered(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || Code(err) != Failure {
		return err
	}
	return &Exit{Code: Unreachable, Err: err}
}

// status asks the store who holds an agent awake.
func (app *App) status(ctx context.Context, h *Deployment, a dream.Agent) (presence.Status, error) {
	s, err := h.Wakes.Status(ctx, a.ID, app.Now().UTC())
	if err != nil {
		return s, fmt.Errorf("ask who holds %s awake: %w", a.Handle, err)
	}
	return s, nil
}

// resumable finds the interrupted dream of an agent that may still go on; nil when there is none.
func (app *App) resumable(ctx context.Context, h *Deployment, a dream.Agent) (*dream.Record, error) {
	found, err := h.Store.Find(ctx,
		memory.Query{Agent: a.ID, Kinds: []dream.Kind{dream.KindRecord}, Statuses: []string{dream.RecordWaits}})
	if err != nil {
		return nil, err
	}
	for _, n := range memory.As[*dream.Record](found) {
		if app.mayGoOn(n) {
			return n, nil
		}
	}
	return nil, nil
}

// mayGoOn says whether a dream was interrupted and its time to be resumed has not run out.
func (app *App) mayGoOn(n *dream.Record) bool { return n.MayGoOn(app.Now()) }

// holders names whoever holds an agent awake, and until when.
func holders(leases []presence.Lease, now time.Time, zone string) []string {
	var names []string
	for _, l := range leases {
		names = append(names, called(l.Client, l.Cause)+" until "+clock(l.Until, now, zone))
	}
	return names
}

// called names a client and why it came; an operator and an alarm say that themselves.
func called(client string, cause presence.Cause) string {
	if name, _, _ := strings.Cut(client, "/"); name == string(cause) {
		return client
	}
	return client + " (" + string(cause) + ")"
}

// clock writes a time near now: to the second, with the day when it is another.
func clock(t, now time.Time, zone string) string {
	l := location(zone)
	if t.In(l).Format(time.DateOnly) == now.In(l).Format(time.DateOnly) {
		return t.In(l).Format("15:04:05")
	}
	return t.In(l).Format("2006-01-02 15:04:05")
}
