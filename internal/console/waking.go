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

// Connection is a client that wants an agent awake.
type Connection struct {
	Agent   string // id
	Client  string
	Cause   presence.Cause
	For     time.Duration // how long; 0: as long as the deployment's settings hold an agent awake for this cause
	Trigger string        // of an alarm
}

// Woken is the result of a connection: the client may go on.
type Woken struct {
	presence.Wake
	Raised   bool          // this connection woke the agent; otherwise it was awake already
	Degraded string        // what was not yet notified or recorded, and how it will be; empty when all is well
	Took     time.Duration // from the connection to the result
}

// Waker wakes agents and lets them sleep. It needs the store; Temporal is notified in parallel, or later.
type Waker interface {
	Wake(ctx context.Context, k Connection) (Woken, error)
	// Recorded waits until the agent's workflow has recorded the wake of an epoch.
	Recorded(ctx context.Context, agent string, epoch int64) (workflows.WakeAnswer, error)
	// Leave ends one client's lease.
	Leave(ctx context.Context, agent, client string) error
	// Sleep ends every lease and the wake lock.
	Sleep(ctx context.Context, agent string) error
	// AgentState queries the agent's workflow, which needs a worker. memory.ErrNotFound when the agent has none.
	AgentState(ctx context.Context, handle string) (workflows.AgentState, error)
	// Remove removes an agent and ends its workflows, where Temporal answers. ErrDreaming, ErrAwake,
	// memory.ErrNotFound.
	Remove(ctx context.Context, name string) (Removed, error)
	Stop() error
}

// waker returns the commands that wake agents, without waiting for Temporal.
func (app *App) waker(ctx context.Context, h *Deployment) (Waker, error) {
	w, err := app.Dream.Waker(ctx, h)
	if err != nil {
		return nil, asUnreachable(err)
	}
	return w, nil
}

// asUnreachable marks an error of a wake as: the store could not be reached. Errors with an exit code keep it.
func asUnreachable(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || Code(err) != Failure {
		return err
	}
	return &Exit{Code: Unreachable, Err: err}
}

// status reads from the store who holds an agent awake.
func (app *App) status(ctx context.Context, h *Deployment, a dream.Agent) (presence.Status, error) {
	s, err := h.Wakes.Status(ctx, a.ID, app.Now().UTC())
	if err != nil {
		return s, fmt.Errorf("ask who holds %s awake: %w", a.Handle, err)
	}
	return s, nil
}

// resumable finds the interrupted dream of an agent that may be resumed; nil when there is none.
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

// mayGoOn reports whether a dream was interrupted and may still be resumed.
func (app *App) mayGoOn(n *dream.Record) bool { return n.MayGoOn(app.Now()) }

// holders lists who holds an agent awake, and until when.
func holders(leases []presence.Lease, now time.Time, zone string) []string {
	var names []string
	for _, l := range leases {
		names = append(names, called(l.Client, l.Cause)+" until "+clock(l.Until, now, zone))
	}
	return names
}

// called describes a client and the cause of its lease; operators and alarms need no cause.
func called(client string, cause presence.Cause) string {
	if name, _, _ := strings.Cut(client, "/"); name == string(cause) {
		return client
	}
	return client + " (" + string(cause) + ")"
}

// clock formats a time near now: to the second, with the day when it is another.
func clock(t, now time.Time, zone string) string {
	l := location(zone)
	if t.In(l).Format(time.DateOnly) == now.In(l).Format(time.DateOnly) {
		return t.In(l).Format("15:04:05")
	}
	return t.In(l).Format("2006-01-02 15:04:05")
}
