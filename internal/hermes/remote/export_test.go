package remote

import (
	"context"
	"time"
)

// AtOnce leaves out the pauses before a connection is made again.
func AtOnce(c *Client) {
	c.wait = func(ctx context.Context, _ time.Duration) bool { return ctx.Err() == nil }
}

// Silence sets after which time without any byte a stream counts as dead.
func Silence(c *Client, d time.Duration) { c.silence = d }

// Moment sets after which time without any byte all events so far have come.
func Moment(c *Client, d time.Duration) { c.moment = d }
