package sqlitestore_test

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
)

// TestCancelledCallsLeaveNoTransaction cancels calls at every moment of their transactions. The driver may report
// the cancellation although the statement was carried out. No connection may keep the transaction.
func TestCancelledCallsLeaveNoTransaction(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 7))
	path := filepath.Join(t.TempDir(), "oneiros.db")
	s, other := open(t, path), open(t, path)
	gaveUp := 0
	for range 500 {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Duration(r.IntN(300))*time.Microsecond, cancel)
		_, wrote := s.NextDream(ctx, echo)
		_, read := s.Affect(ctx, echo)
		cancel()
		for _, err := range []error{wrote, read} {
			if err != nil {
				require.ErrorIs(t, err, context.Canceled)
				gaveUp++
			}
		}
		for _, handle := range []*sqlitestore.Store{s, other} {
			_, err := handle.NextDream(t.Context(), echo)
			require.NoError(t, err)
		}
		for range 8 { // uses every reading connection
			_, err := s.Affect(t.Context(), echo)
			require.NoError(t, err)
		}
	}
	require.Positive(t, gaveUp)
}

func TestAWriterStopsWaitingForTheLockWithItsCaller(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "oneiros.db")
	s := open(t, path, sqlitestore.BusyTimeout(time.Hour))
	_, err := s.NextDream(t.Context(), echo)
	require.NoError(t, err)
	holder, err := raw(t, path).Conn(t.Context())
	require.NoError(t, err)
	_, err = holder.ExecContext(t.Context(), "BEGIN IMMEDIATE")
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = s.NextDream(ctx, echo)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, err = holder.ExecContext(t.Context(), "ROLLBACK")
	require.NoError(t, err)
	n, err := s.NextDream(t.Context(), echo)
	require.NoError(t, err)
	require.EqualValues(t, 2, n)
	require.NoError(t, holder.Close())
}
