package sqlitestore_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/memory/memorytest"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
)

func TestAnArchivePreservesTheWholeStore(t *testing.T) {
	t.Parallel()
	private := func(t *testing.T) memorytest.ArchiveStore { return open(t, ":memory:") }
	onFile := func(t *testing.T) memorytest.ArchiveStore { return open(t, filepath.Join(t.TempDir(), "oneiros.db")) }
	memorytest.RunArchive(t, onFile, private)
}

// When this environment variable names a file, the test binary fills that file until it is killed.
const fillerOf = "ONEIROS_TEST_FILLER_OF"

func init() {
	if path := os.Getenv(fillerOf); path != "" {
		memorytest.ImportIfRequested(func(ctx context.Context) (memory.Movable, error) {
			return sqlitestore.Open(ctx, path)
		})
	}
}

func TestAProcessKilledDuringAnImportLeavesTheFileEmpty(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "oneiros.db")
	env := []string{fillerOf + "=" + path}
	memorytest.KillWhileImporting(t, env, func(t *testing.T) (memory.Movable, []memory.Record) {
		s := open(t, path)
		var verdict string
		require.NoError(t, raw(t, path).QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&verdict))
		require.Equal(t, "ok", verdict)
		return s, memorytest.Collect(t, s.Export(t.Context()))
	})
}

func TestOtherWritersWaitForAnImport(t *testing.T) {
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
	require.Len(t, feeds, 4, "the other process wrote after the import")
}

func TestAnImportEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := open(t, ":memory:")
	ctx, stop := context.WithCancel(t.Context())
	n := 0
	_, err := s.Import(ctx, func(yield func(memory.Record, error) bool) {
		for _, r := range memorytest.Deployment(2, memorytest.Size{Agents: 1, Items: 9, Dim: 2}) {
			n++
			if n == 5 {
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
	far := memory.KeptCounters{Agent: echo, Lock: time.Date(2400, 1, 1, 0, 0, 0, 0, time.UTC)}
	_, err := s.Import(t.Context(), memorytest.Fill([]memory.Record{{Counters: &far}}))
	require.ErrorContains(t, err, "1678 to 2262")
	latest := memory.KeptCounters{Agent: echo, Lock: time.Unix(0, 1<<63-1).UTC()}
	_, err = s.Import(t.Context(), memorytest.Fill([]memory.Record{{Counters: &latest}}))
	require.NoError(t, err)
}

func TestProcessesThatListenToAFileAreCounted(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "oneiros.db")
	s := open(t, path)
	count := func() int {
		n, err := s.Listeners(t.Context())
		require.NoError(t, err)
		return n
	}
	require.Zero(t, count())
	child, _ := startListener(t, path)
	require.Equal(t, 1, count())
	kill(t, child)
	require.Zero(t, count(), "the socket of a dead process does not count")
}

// Every new table or column must be listed here when an archive holds it, when it can be recomputed, or when it is not
// meant to last, as claims, responses, backgrounds of conversations and embed_jobs.
func TestEveryColumnIsArchivedOrRecomputed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "oneiros.db")
	open(t, path)
	rows, err := raw(t, path).QueryContext(t.Context(),
		`SELECT m.name || '.' || c.name FROM sqlite_schema AS m, pragma_table_info(m.name) AS c
		WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' ORDER BY 1`)
	require.NoError(t, err)
	defer rows.Close()
	var columns []string
	for rows.Next() {
		var column string
		require.NoError(t, rows.Scan(&column))
		columns = append(columns, column)
	}
	require.NoError(t, rows.Err())
	archived := strings.Fields(
		`access_settings.keys_required access_settings.one accounts.reserved accounts.scope accounts.spent
		affects.agent affects.body affects.cause affects.number agents.body agents.handle agents.id allowances.agent
		allowances.amount allowances.day allowances.dream answers.answer answers.step attempts.accounts
		attempts.agent attempts.at attempts.attempt attempts.counted attempts.day attempts.dream attempts.ended
		attempts.finish attempts.forgotten attempts.key attempts.latest attempts.model attempts.packed
		attempts.phase attempts.reserved attempts.state attempts.step attempts.tokens backgrounds.agent
		backgrounds.at backgrounds.body backgrounds.key backgrounds.talk claims.at claims.body claims.digest
		claims.dropped claims.ends claims.header claims.key claims.name claims.scope claims.status claims.type
		embed_jobs.agent embed_jobs.body events.agent events.at events.data events.dream events.id events.packed
		events.schema events.seq events.subsystem events.type feeds.body feeds.name
		item_counts.agent item_counts.kind item_counts.n item_counts.state items.agent items.at items.bare
		items.body items.cause items.changed items.dream items.dreamt items.due items.id items.key items.kind
		items.owner items.packed items.revision items.salience items.score items.session items.state items.status
		items.surprise items.text items.tide keys.body keys.hash keys.id leases.agent leases.cause leases.client
		leases.since leases.until lives.agent lives.details_from lives.dim lives.dreams lives.removed lives.scrubs
		lives.seq lives.space lives.tide lives.undo_from moves.agent moves.dim moves.space notes.agent notes.dream notes.name notes.value
		presences.agent presences.digest presences.epoch presences.lock presences.seen presences.told presences.wake
		responses.agent responses.at responses.body responses.id responses.key responses.previous responses.scope
		responses.until responses.user revisions.agent revisions.at revisions.body revisions.cause revisions.id revisions.kind revisions.number
		revisions.packed room_records.body room_records.name slots.agent slots.cluster slots.dream slots.epoch slots.mood slots.run slots.since
		slots.workflow spent.agent spent.cached spent.calls spent.day spent.out spent.reserved spent.settled spent.tokens spent.unknown
		sums.agent sums.body sums.day sums.dream sweeps.body sweeps.one vectors.agent vectors.id vectors.key vectors.kind vectors.live vectors.numbers vectors.space
		vectors.v`)
	require.Equal(t, archived, columns)
}
