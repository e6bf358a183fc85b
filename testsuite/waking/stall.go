package waking

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// stalled is for how long this process has been kept from running so far, because others had the cores.
var stalled = sync.OnceValue(func() *atomic.Int64 {
	total := new(atomic.Int64)
	go func() {
		const beat = 5 * time.Millisecond
		last := time.Now()
		for range time.Tick(beat) {
			now := time.Now()
			if gap := now.Sub(last) - 2*beat; gap > 0 {
				total.Add(int64(gap))
			}
			last = now
		}
	}()
	return total
})

// Within does something that must end within a time of its own, such as the second in which a connect must be
// answered. Time in which this process could not run, on a busy machine, does not count. It returns that time, and an
// error when the rest took longer.
func Within(ctx context.Context, within time.Duration, do func(context.Context) error) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*within)
	defer cancel()
	before, began := stalled().Load(), time.Now()
	err := do(ctx)
	took := time.Since(began)
	kept := time.Duration(stalled().Load() - before)
	if own := took - kept; err == nil && own > within {
		err = fmt.Errorf("it was not over within %s: it took %s, for %s of which this process was kept from running",
			within, took, kept)
	}
	return kept, err
}
