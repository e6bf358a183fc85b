package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/console"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/mcpserver"
)

// speak answers a client of MCP over a pair of streams. It stands where serve does, but without a cluster, too: talk and memory
// need none, and dreams are not offered then.
func (d *door) speak(ctx context.Context, h *console.House, s console.Speech) (err error) {
	own, err := d.behind(h)
	if err != nil {
		return err
	}
	if err := d.lend(own.told); err != nil {
		return err
	}
	if own.wants != nil { // talk must be able to call its model
		return &console.Exit{Code: console.Usage, Err: own.wants}
	}
	e := newEngine(own)
	dreams, err := e.dialIfAny(ctx)
	defer func() { err = errors.Join(err, e.Stop()) }()
	if err != nil {
		return err
	}
	being := own.being(e.starter)
	defer func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), rememberWithin)
		defer cancel()
		if closing := being.Close(last); closing != nil {
			err = errors.Join(err, fmt.Errorf("remember what was said last: %w", closing))
		}
	}()
	var nights mcpserver.Dreams
	if dreams {
		nights = own.dreams(e.starter)
	}
	face := mcpserver.New(being, nights, mcpserver.Options{
		Version: version, Drain: cmp.Or(own.told.Serve.Grace, -1), Report: e.report,
	})
	defer face.Close()
	return face.ServeStream(ctx, psyche.Caller{Key: access.Key{Role: s.Role, Agents: []string{s.Agent.Handle}}}, s.In, s.Out)
}

// dialIfAny connects to the cluster, and says whether there is one to connect to.
func (e *engine) dialIfAny(ctx context.Context) (bool, error) {
	if _, err := e.options(); errors.Is(err, console.ErrNobody) {
		e.starter = e.house.starter()
		return false, nil
	}
	err := e.dialLater(ctx, func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) })
	return err == nil, err
}
