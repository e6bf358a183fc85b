package sqlitestore_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/memory/memorytest"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
)

func TestTheStoreIsMovedWithNothingLost(t *testing.T) {
	t.Parallel()
	private := func(t *testing.T) memorytest.ArchiveStore { return open(t, ":memory:") }
	onFile := func(t *testing.T) memorytest.ArchiveStore { return open(t, filepath.Join(t.TempDir(), "oneiros.db")) }
	memorytest.RunArchive(t, onFile, private)
}

// When this variable names a file, the test binary fills it until it is killed.
const fillerOf = "ONEIROS_TEST_FILLER_OF"

func init() {
	if path := os.Getenv(fillerOf); path != "" {
		memorytest.FillIfTold(func(ctx context.Context) (memory.Movable, error) { return sqlitestore.Open(ctx, path) })
	}
}

func TestAProcessKilledWhileItFillsAFileLeavesItEmpty(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "oneiros.db")
	memorytest.DieFilling(t, []string{fillerOf + "=" + path}, func(t *testing.T) (memory.Movable, []memory.Record) {
		s := open(t, path)
		var verdict string
		require.NoError(t, raw(t, path).QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&verdict))
		require.Equal(t, "ok", verdict)
		return s, memorytest.Collect(t, s.Export(t.Context()))
	})
}

func TestAFileIsFilledWhileOthersWait(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "oneiros.db")
	s, other := open(t, path), open(t, path)
	made := memorytest.Deployment(2, memorytest.Size{Agents: 1, Items: 9, Dim: 2})
	var late chan error
	_, err := s.Import(t.Context(), func(yield func(memory.Record, error) bool) {
		late = make(chan error, 1)
		go func() { late <- other.PutFeed(context.Background(), dream.Feed{Name: "late"}) }()
		for _, r := range made {
			if !yield(r, nil) {
				return
			}
		}
	})
	require.NoError(t, err)
	require.NoError(t, <-late)
	feeds, err := s.Feeds(t.Context())
	require.NoError(t, err)
	require.Len(t, feeds, 4, "what another process wrote came after the import")
}

func TestAnImportEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := open(t, ":memory:")
	ctx, stop := context.WithCancel(t.Context())
	n := 0
	_, err := s.Import(ctx, func(yield func(memory.Record, error) bool) {
		for _, r := range memorytest.Deployment(2, memorytest.Size{Agents: 1, Items: 9, Dim: 2}) {
			if n++; n == 5 {
				stop()
			}
			if !yield(r, nil) {
				return
			}
		}
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, memorytest.Collect(t, s.Export(t.Context())))
}

func TestATimeThatAFileCannotSortIsRefused(t *testing.T) {
	t.Parallel()
	s := open(t, ":memory:")
	far := memory.KeptLife{Agent: echo, Lock: time.Date(2400, 1, 1, 0, 0, 0, 0, time.UTC)}
	_, err := s.Import(t.Context(), memorytest.Told([]memory.Record{{Life: &far}}))
	require.ErrorContains(t, err, "1678 to 2262")
	latest := memory.KeptLife{Agent: echo, Lock: time.Unix(0, 1<<63-1).UTC()}
	_, err = s.Import(t.Context(), memorytest.Told([]memory.Record{{Life: &latest}}))
	require.NoError(t, err)
}

func TestWhoListensBesideAFileIsCounted(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "oneiros.db")
	s := open(t, path)
	count := func() int {
		n, err := s.Listeners(t.Context())
		require.NoError(t, err)
		return n
	}
	require.Zero(t, count())
	child, _ := neighbour(t, path)
	require.Equal(t, 1, count())
	kill(t, child)
	require.Zero(t, count(), "the socket of the dead is nobody")
}
