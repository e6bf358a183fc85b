package redisstore

import (
	"context"
	"fmt"
	"io"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// The pause before the next try may end at the same moment as the time for all of them.
func TestTheReasonOfTheLastTryIsToldWheneverTheTimeIsOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		late := fmt.Errorf("no answer in time: %w", context.DeadlineExceeded)
		s := &server{set: settings{timeout: firstPause}, late: late, closed: make(chan struct{})}
		for range 100 {
			err := s.exchange(t.Context(), func(context.Context) error { return io.EOF })
			require.ErrorIs(t, err, io.EOF)
			require.ErrorIs(t, err, late)
			require.ErrorIs(t, err, memory.ErrAway)
		}
	})
}
