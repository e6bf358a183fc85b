package waking_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/testsuite/waking"
)

// Within returns an error for what takes longer than it may while this process runs, and for nothing else.
func TestWithinReportsWhatTakesTooLong(t *testing.T) {
	t.Parallel()
	waits := func(ctx context.Context) error { <-ctx.Done(); return nil }
	require.Eventually(t, func() bool { // the machine may be busy for all of a try
		_, err := waking.Within(t.Context(), 10*time.Millisecond, waits)
		return err != nil
	}, patience, time.Millisecond)
	_, err := waking.Within(t.Context(), time.Hour, func(context.Context) error { return nil })
	require.NoError(t, err)
	fault := errors.New("its own")
	_, err = waking.Within(t.Context(), time.Hour, func(context.Context) error { return fault })
	require.ErrorIs(t, err, fault)
}
