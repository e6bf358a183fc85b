package overmcp

import (
	"context"
	"time"
)

// HoldFor is Hold with another time.
func (c *Client) HoldFor(ctx context.Context, hold time.Duration) error { return c.holdFor(ctx, hold) }
