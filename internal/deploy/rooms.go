package deploy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	tlog "go.temporal.io/sdk/log"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/rooms"
	"github.com/seed-56a03226/oneiros/internal/psyche/webhooks"
	"github.com/seed-56a03226/oneiros/starter"
)

// rooms returns the rooms of the deployment, as a part of this process runs them: "serve", "worker", "mcp" or
// "command". The caller must close them before the mind that answers there.
func (h *Deployment) rooms(part string, s *starter.Starter, being *psyche.Service) *rooms.Service {
	c := h.config
	return rooms.New(rooms.Ports{
		Rooms:  h.store.Rooms(),
		Agents: h.store,
		Minds:  being,
		Waker:  s.ForPsyche(),
		Now:    time.Now,
		Log:    h.log,

		Attendants: s.ForRooms(),
	}, h.Holder+"/"+part, rooms.Options{
		AgentDay:    capped(c.Rooms.AgentDay),
		StrangerDay: capped(c.Rooms.StrangerDay),
		Hold:        c.Agent.ClientTimeout,
	})
}

// capped is a cap as rooms take it, where 0 is none. A cap of nothing is the smallest there is.
func capped(m budget.Micros) budget.Micros {
	if m == budget.Unlimited {
		return 0
	}
	return max(m, 1)
}

// RoomSession is the rooms of a deployment for one command.
type RoomSession struct {
	*rooms.Service
	Webhooks *webhooks.Service
	// End ends what answers in the rooms, after the last answer; nil: nothing.
	End func(ctx context.Context) error
}

// Rooms opens the rooms for one command. The command's own process answers what it posts; Temporal is told of it where
// it can be reached.
func (d *Process) Rooms(ctx context.Context, h *Deployment) (*RoomSession, error) {
	e := newEngine(h)
	e.log = tlog.NewStructuredLogger(slog.New(slog.DiscardHandler)) // the command prints its own messages
	if _, err := e.dialIfAny(ctx); err != nil {
		return nil, errors.Join(err, e.Stop())
	}
	being := h.service(e.starter)
	speak := h.rooms("command", e.starter, being)
	return &RoomSession{Service: speak, Webhooks: h.webhooks("command", speak), End: func(ctx context.Context) error {
		var err error
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), rememberWithin)
		defer cancel()
		if closing := being.Close(last); closing != nil {
			err = fmt.Errorf("store the last turns: %w", closing)
		}
		return errors.Join(err, e.Stop())
	}}, nil
}

// Close waits until what was posted is answered and remembered. When ctx ends before, the rest is left to a server,
// which is no error.
func (s *RoomSession) Close(ctx context.Context) error {
	_ = s.Service.Close(ctx) // only ever the end of ctx
	if s.End == nil {
		return nil
	}
	return s.End(ctx)
}

// stopAttending ends what the worker's rooms are about, after the worker.
func stopAttending(e *engine) error {
	if e.attending == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), rememberWithin)
	defer cancel()
	if err := e.attending.Close(ctx); err != nil {
		e.plainLog.Warn("answers in rooms were cut off; they are given when a worker runs again", "error", err)
	}
	if err := e.attendant.Close(ctx); err != nil {
		return fmt.Errorf("store what was said in rooms: %w", err)
	}
	return nil
}
