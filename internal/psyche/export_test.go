package psyche

import (
	"context"
	"time"
)

// Drained waits until what is queued now is done.
func Drained(b *Being) {
	done := make(chan struct{})
	b.beside.Wait()
	b.queue <- deed{context.Background(), func(context.Context) { close(done) }}
	<-done
}

// Tend renews leases as the clock would have it.
func Tend(ctx context.Context, b *Being) { b.tend(ctx) }

var dawnOfTests = time.Date(2026, 11, 20, 7, 0, 0, 0, time.UTC)
