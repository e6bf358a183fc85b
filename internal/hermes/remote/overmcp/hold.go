package overmcp

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"time"
)

const (
	holdFor    = time.Minute // how long the agent stays awake when the client is lost
	renewEvery = holdFor / 3

	leaveWithin = 2 * time.Second // after that the hold ends by itself
)

// Hold keeps the agent awake until the context ends, and lets it rest then. A connection that is lost is tried again.
// The error is nil then, or what the server said when it refused the first time.
func (c *Client) Hold(ctx context.Context) error { return c.hold(ctx, renewEvery) }

func (c *Client) hold(ctx context.Context, every time.Duration) error {
	session := map[string]any{"session": "hermes-" + rand.Text()} // ours, so that it can be ended when no answer came
	defer func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveWithin)
		defer cancel()
		_ = c.Call(ending, "leave", session, nil)
	}()
	connect := maps.Clone(session)
	connect["seconds"] = int(holdFor / time.Second)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for held := false; ; {
		err := c.connect(ctx, connect)
		if _, refused := errors.AsType[*Error](err); refused && !held {
			return err
		}
		held = held || err == nil
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// connect asks for the lease. Once ctx ends it waits up to leaveWithin for the answer to a call under way: the server
// could carry out a call that was given up after the leave.
func (c *Client) connect(ctx context.Context, arguments map[string]any) error {
	calling, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(leaveWithin, cancel) })
	defer stop()
	return c.Call(calling, "connect", arguments, nil)
}
