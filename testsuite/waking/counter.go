package waking

import (
	"context"
	"sync"

	"github.com/seed-56a03226/oneiros/testsuite/chaos"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
)

// counter counts the calls of each dream as they arrive.
type counter struct {
	mu      sync.Mutex
	calls   map[string]int
	sum     int
	changed chan struct{}
}

func (c *counter) plan(rest provider.Plan) provider.Plan {
	return func(a provider.Arrival) provider.Fault {
		c.mu.Lock()
		if key, ok := chaos.ReadKey(a.Key); ok {
			if c.calls == nil {
				c.calls = map[string]int{}
			}
			c.calls[key.Dream]++
		}
		c.sum++
		if c.changed != nil {
			close(c.changed)
			c.changed = nil
		}
		c.mu.Unlock()
		return rest(a)
	}
}

func (c *counter) all() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sum
}

// reach waits for the n-th call of a dream; false when over is closed first.
func (c *counter) reach(ctx context.Context, id string, n int, over <-chan struct{}) bool {
	for {
		c.mu.Lock()
		if c.calls[id] >= n {
			c.mu.Unlock()
			return true
		}
		if c.changed == nil {
			c.changed = make(chan struct{})
		}
		changed := c.changed
		c.mu.Unlock()
		select {
		case <-changed:
		case <-over:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// of counts the calls of a dream so far.
func (c *counter) of(id string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls[id]
}
