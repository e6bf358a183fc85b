package deploy

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/seed-56a03226/oneiros/config"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/matrix"
	"github.com/seed-56a03226/oneiros/internal/psyche/rooms"
	"github.com/seed-56a03226/oneiros/internal/telemetry"
)

// bridging is a running bridge, and how it ends.
type bridging struct {
	stop func()
	over chan error // the result of Run
	// Of a process that only bridges: what answers in its rooms.
	rooms *rooms.Service
	being *psyche.Service
	hush  func() // unsubscribes from the wake bus
}

// Bridge bridges Matrix in this process, without a worker and without a server for clients.
func (d *Process) Bridge(ctx context.Context, h *Deployment, tell func(string, ...any)) (Engine, error) {
	if h.config.Matrix.Homeserver == "" {
		return nil, &exit.Error{
			Code: exit.Usage,
			Err:  errors.New("matrix.homeserver is empty; set it to an address such as https://matrix.example.org (docs/matrix.md)"),
		}
	}
	if err := d.handOverIfNeeded(h.config); err != nil {
		return nil, err
	}
	if h.wants != nil { // agents must be able to answer
		return nil, &exit.Error{Code: exit.Usage, Err: h.wants}
	}
	e := newEngine(h)
	e.counts = true
	reached, err := e.dialIfAny(ctx)
	if err != nil {
		return nil, errors.Join(err, e.Stop())
	}
	if !reached {
		tell("Warning: no Temporal server runs. Agents answer without it; sleep with an end, and calls that wait for the end of a dream, wait for one.")
	}
	being := h.service(e.starter)
	hush, err := listenFor(h, being)
	if err != nil {
		return nil, errors.Join(err, being.Close(ctx), e.Stop())
	}
	service := h.rooms("bridge", e.starter, being)
	err = e.startBridge(ctx, service)
	if err != nil {
		hush()
		closing := service.Close(ctx)
		return nil, errors.Join(err, closing, being.Close(ctx), e.Stop())
	}
	e.bridge.rooms, e.bridge.being, e.bridge.hush = service, being, hush
	if err := e.serveMetrics(ctx, readyToBridge(e)); err != nil {
		return nil, errors.Join(err, e.Stop())
	}
	return e, nil
}

// startBridge bridges Matrix in this process where that is configured.
func (e *engine) startBridge(ctx context.Context, service *rooms.Service) error {
	c := e.deployment.config
	if c.Matrix.Homeserver == "" {
		return nil
	}
	named, err := c.MatrixAccounts()
	if err != nil {
		return &exit.Error{Code: exit.Usage, Err: err}
	}
	accounts := make([]matrix.Account, len(named))
	for i, a := range named {
		accounts[i] = matrix.Account(a)
	}
	b, err := matrix.New(ctx, matrix.Ports{
		Rooms:  service,
		Store:  e.deployment.store.Rooms(),
		Agents: e.deployment.store,
		Now:    time.Now,
		Log:    e.deployment.log,
	}, matrix.Options{
		Homeserver: c.Matrix.Homeserver,
		Accounts:   accounts,
		People:     config.SplitList(c.Matrix.People),
		Rooms:      c.Matrix.Listed(),
		Subscribe:  c.Matrix.Subscribe,
		State:      filepath.Join(c.DataDir, "matrix.json"),
	})
	if err != nil {
		return &exit.Error{Code: exit.Usage, Err: err}
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	e.bridge = &bridging{stop: cancel, over: make(chan error, 1)}
	e.bridges.Store(b)
	go func() {
		err := b.Run(running)
		if err != nil && e.worker == nil { // beside a worker it has logged why it ended
			e.ended <- fmt.Errorf("the bridge to Matrix: %w", err)
		}
		e.bridge.over <- err
	}()
	count := "1 account"
	if n := len(accounts); n != 1 {
		count = fmt.Sprintf("%d accounts", n)
	}
	e.place("matrix", c.Matrix.Homeserver+", "+count)
	return nil
}

// end ends the bridge, if there is one, before what it brings posts to. Answers that are being given have so much time.
func (b *bridging) end(grace time.Duration) error {
	if b == nil {
		return nil
	}
	b.stop()
	err := <-b.over
	if b.rooms == nil {
		return err
	}
	b.hush()
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	_ = b.rooms.Close(ctx) // its only error is that of ctx
	last, end := context.WithTimeout(context.Background(), rememberWithin)
	defer end()
	if closing := b.being.Close(last); closing != nil {
		err = errors.Join(err, fmt.Errorf("store the last turns: %w", closing))
	}
	return err
}

// matrixQueue is how the bridge of this process is doing; false when it runs none.
func matrixQueue(ctx context.Context, e *engine) (telemetry.MatrixQueue, bool, error) {
	b := e.bridges.Load()
	if b == nil {
		return telemetry.MatrixQueue{}, false, nil
	}
	q, err := matrix.QueueOf(ctx, b)
	return telemetry.MatrixQueue(q), true, err
}
