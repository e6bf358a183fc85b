package overmcp

import (
	"context"
	"time"
)

// HoldRenewed is Hold, renewed so often.
func (c *Client) HoldRenewed(ctx context.Context, every time.Duration) error {
	return c.hold(ctx, every)
}
