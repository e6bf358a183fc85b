package sqlitestore_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
)

// raw opens the file without a store.
func raw(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

func do(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		_, err := db.ExecContext(t.Context(), s)
		require.NoError(t, err, s)
	}
}

func TestTheFileIsAccessibleToItsOwnerOnly(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows keeps permissions elsewhere")
	}
	folder := filepath.Join(t.TempDir(), "new", "folder ?#%20é")
	path := filepath.Join(folder, "my store ?#%41.db")
	s := open(t, path)
	_, err := s.NextDream(t.Context(), echo)
	require.NoError(t, err)
	names, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		require.Contains(t, name.Name(), filepath.Base(path))
		info, err := name.Info()
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), name.Name())
	}
	info, err := os.Stat(folder)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
}

func TestAFileOfANewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "oneiros.db")
	s, err := sqlitestore.Open(t.Context(), path)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	do(t, raw(t, path), "PRAGMA user_version = 999")
	_, err = sqlitestore.Open(t.Context(), path)
	require.ErrorContains(t, err, "schema 999")
	require.ErrorContains(t, err, "newer program")
}

func TestAFileOfAnotherProgramIsRefusedAndLeftAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "theirs.db")
	db := raw(t, path)
	do(t, db, "CREATE TABLE recipes (name TEXT)")
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	_, err = sqlitestore.Open(t.Context(), path)
	require.ErrorContains(t, err, "another program")
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, before, after)
	text := filepath.Join(t.TempDir(), "notes.txt")
	require.NoError(t, os.WriteFile(text, []byte("these are no tables at all, only a long enough text"), 0o600))
	_, err = sqlitestore.Open(t.Context(), text)
	require.ErrorContains(t, err, "notes.txt")
}

func TestManyProcessesMayOpenANewFileConcurrently(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "oneiros.db")
	stores, faults := make(chan *sqlitestore.Store, 8), make(chan error, 8)
	for range 8 {
		go func() {
			s, err := sqlitestore.Open(t.Context(), path)
			stores <- s
			faults <- err
		}()
	}
	for range 8 {
		require.NoError(t, <-faults)
	}
	for want := range int64(8) {
		s := <-stores
		n, err := s.NextDream(t.Context(), echo)
		require.NoError(t, err)
		require.Equal(t, want+1, n)
		require.NoError(t, s.Close())
	}
}

func TestAClosedStoreRefusesEveryCall(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "oneiros.db")
	s, err := sqlitestore.Open(t.Context(), path)
	require.NoError(t, err)
	waiting := make(chan error, 1)
	go func() { waiting <- s.Await(context.WithoutCancel(t.Context()), echo, 0) }()
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	require.ErrorIs(t, <-waiting, sqlitestore.ErrClosed)
	_, err = s.Commit(t.Context(), memory.Write{Agent: echo})
	require.ErrorIs(t, err, sqlitestore.ErrClosed)
	_, err = s.Find(t.Context(), memory.Query{Agent: echo})
	require.ErrorIs(t, err, sqlitestore.ErrClosed)
	names, err := filepath.Glob(path + "*")
	require.NoError(t, err)
	require.Equal(t, []string{path}, names) // the log was folded into the file, so there is one file to copy
}

func TestWritesSurviveReopening(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "oneiros.db")
	for i := range 3 {
		s, err := sqlitestore.Open(t.Context(), path)
		require.NoError(t, err)
		n, err := s.Count(t.Context(), memory.Query{Agent: echo})
		require.NoError(t, err)
		require.Equal(t, i, n)
		_, err = s.Commit(t.Context(), memory.Write{Agent: echo, Add: []dream.Item{episode(string(rune('a'+i)), "x")}})
		require.NoError(t, err)
		require.NoError(t, s.Close())
	}
}

func TestABlockingWriterIsNamedInTheError(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "oneiros.db")
	s := open(t, path, sqlitestore.BusyTimeout(20*time.Millisecond))
	conn, err := raw(t, path).Conn(t.Context())
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.ExecContext(t.Context(), "BEGIN IMMEDIATE")
	require.NoError(t, err)
	_, err = s.NextDream(t.Context(), echo)
	require.ErrorContains(t, err, "another writer")
	_, err = s.Find(t.Context(), memory.Query{Agent: echo}) // readers are not blocked
	require.NoError(t, err)
	_, err = conn.ExecContext(t.Context(), "ROLLBACK")
	require.NoError(t, err)
	_, err = s.NextDream(t.Context(), echo)
	require.NoError(t, err)
}

func TestForgettingReportsAReaderThatHoldsTheLog(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "oneiros.db")
	s := open(t, path, sqlitestore.BusyTimeout(20*time.Millisecond))
	_, err := s.Commit(t.Context(), memory.Write{Agent: echo, Add: []dream.Item{episode("e", "a secret")}})
	require.NoError(t, err)
	conn, err := raw(t, path).Conn(t.Context())
	require.NoError(t, err)
	defer conn.Close()
	var n int
	_, err = conn.ExecContext(t.Context(), "BEGIN")
	require.NoError(t, err)
	require.NoError(t, conn.QueryRowContext(t.Context(), "SELECT count(*) FROM items").Scan(&n))
	erased, err := s.Forget(t.Context(), echo, "e")
	require.ErrorContains(t, err, "forget again")
	require.Equal(t, 1, erased)
	_, err = conn.ExecContext(t.Context(), "COMMIT")
	require.NoError(t, err)
	_, err = s.Forget(t.Context(), echo, "e")
	require.NoError(t, err)
	require.NotContains(t, string(onDisk(t, path)), "a secret")
}

func TestACancelledContextWritesNothing(t *testing.T) {
	t.Parallel()
	s := onFile(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Commit(ended, memory.Write{Agent: echo, Add: []dream.Item{episode("e", "x")}})
	require.ErrorIs(t, err, context.Canceled)
	_, err = s.Find(ended, memory.Query{Agent: echo})
	require.ErrorIs(t, err, context.Canceled)
	n, err := s.Count(t.Context(), memory.Query{Agent: echo})
	require.NoError(t, err)
	require.Zero(t, n)
}

func TestAFileOfAnOlderSchemaIsMigrated(t *testing.T) {
	t.Parallel()
	s := open(t, before(t, 1,
		`INSERT INTO slots VALUES ('agent-echo', 'd1', 'r1', 'w', '2026-03-01T06:00:00Z')`,
		`INSERT INTO attempts (step, attempt, agent, dream, phase, model, day, accounts, reserved, counted, state, at)
			VALUES ('d1/s', 1, 'echo', 'd1', 'onset', 'm', '2026-03-01', '[]', 5, 5, 'open', '2026-03-01T06:00:00Z')`))
	slots, err := s.Slots(t.Context())
	require.NoError(t, err)
	require.Equal(t,
		map[string]memory.Slot{echo: {Fence: memory.Fence{Dream: "d1", Run: "r1"}, Workflow: "w", Since: dawn}}, slots)
	answered(t, s, spend.Hold{Step: "d1/s", Attempt: 1}, "kept")
	_, kept, err := s.Ledger().Answer(t.Context(), "d1/s")
	require.NoError(t, err)
	require.True(t, kept)
}

// Items written under an older schema get their owners in the migration, and are found by them.
func TestItemsOfAnOlderSchemaGetTheirOwners(t *testing.T) {
	t.Parallel()
	const columns = "agent, id, kind, state, at, salience, surprise, score, status, session, dream, bare, revision, cause, changed, text, body"
	row := func(id, kind, body string) string {
		return fmt.Sprintf(
			"INSERT INTO items (%s) VALUES ('%s', '%s', '%s', 'live', 1, 0, 0, 0, '', '', '', 0, 1, 'import', 1, 'x', '%s')",
			columns, echo, id, kind, body)
	}
	body := func(id, kind, more string) string {
		return fmt.Sprintf(
			`{"id":"%s","agent":"%s","kind":"%s","at":"2026-03-01T06:00:00Z","state":"live","content":"x"%s}`, id,
			echo, kind, more)
	}
	rows := []string{"INSERT INTO lives (agent, space, dim, tide) VALUES ('agent-echo', 's/1/2', 2, 3)"}
	for id, more := range map[string]string{
		"ann's": `,"taint":"human","origin":"talk/k/ann"`, "diary": `,"taint":"human","origin":"Talk/diary.md"`,
		"dreamt": `,"taint":"dream"`,
	} {
		rows = append(rows,
			strings.ReplaceAll(row("ID", "episode", "BODY"), "'ID'", "'"+strings.ReplaceAll(id, "'", "''")+"'"))
		last := len(rows) - 1
		rows[last] = strings.ReplaceAll(rows[last], "'BODY'",
			"'"+strings.ReplaceAll(body(id, "episode", more), "'", "''")+"'")
		rows = append(rows,
			fmt.Sprintf(
				"INSERT INTO vectors (agent, id, space, kind, live, tide, v) VALUES ('%s', '%s', 's/1/2', 'episode', 1, 3, X'0000803F00000000')",
				echo, strings.ReplaceAll(id, "'", "''")))
	}
	s := open(t, before(t, 7, rows...))
	for owner, want := range map[string]int{"talk/k/ann": 1, "": 2, "talk/k/bob": 0} {
		n, err := s.Count(t.Context(), memory.Query{Agent: echo, Owners: []string{owner}})
		require.NoError(t, err)
		require.Equal(t, want, n, owner)
		hits, err := s.Near(t.Context(), memory.Near{
			Agent:  echo,
			Space:  "s/1/2",
			V:      []float32{1, 0},
			Limit:  9,
			Filter: memory.Filter{Owners: []string{owner}},
		})
		require.NoError(t, err)
		require.Len(t, hits, want, owner)
	}
	hits, err := s.Near(t.Context(), memory.Near{
		Agent:  echo,
		Space:  "s/1/2",
		V:      []float32{1, 0},
		Limit:  9,
		Filter: memory.Filter{Dreamt: memory.NoneDreamt},
	})
	require.NoError(t, err)
	require.Len(t, hits, 2)
}

// before creates a file of an older schema with some rows.
func before(t *testing.T, schema int, rows ...string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "oneiros.db")
	db := raw(t, path)
	for n := range schema {
		script, err := os.ReadFile(fmt.Sprintf("schema/%04d.sql", n+1))
		require.NoError(t, err)
		do(t, db, string(script))
	}
	do(t, db,
		append([]string{"PRAGMA application_id = 0x6f6e6569", fmt.Sprint("PRAGMA user_version = ", schema)},
			rows...)...)
	return path
}

func TestADreamOfAFileWithoutPresenceTablesCanBeWoken(t *testing.T) {
	t.Parallel()
	s := open(t, before(t, 2, `INSERT INTO slots VALUES ('agent-echo', 'd1', 'r1', 'w', '2026-03-01T06:00:00Z', 'c')`,
		`INSERT INTO notes VALUES ('agent-echo', 'd1', 'plan', X'01')`))
	f := memory.Fence{Dream: "d1", Run: "r1"}
	slots, err := s.Slots(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]memory.Slot{echo: {Fence: f, Workflow: "w", Cluster: "c", Since: dawn}}, slots)
	status, err := s.Status(t.Context(), echo, dawn)
	require.NoError(t, err)
	require.Zero(t, status)
	_, err = s.Commit(t.Context(),
		memory.Write{Agent: echo, Fence: f, OnWake: &memory.OnWake{Mood: &mood.PAD{Pleasure: .5}}})
	require.NoError(t, err)
	a, err := s.Arrive(t.Context(), presence.Visit{
		Agent:  echo,
		Client: "web",
		Cause:  presence.Connect,
		Now:    dawn,
		For:    time.Minute,
	})
	require.NoError(t, err)
	require.True(t, a.Raised)
	require.Equal(t, "d1", a.Dream)
	require.Equal(t, .5, a.Affect.Pleasure)
	_, err = s.Commit(t.Context(), memory.Write{Agent: echo, Fence: f})
	require.ErrorIs(t, err, memory.ErrWoken)
	kept, err := s.Note(t.Context(), echo, "d1", "plan")
	require.NoError(t, err)
	require.Equal(t, []byte{1}, kept)
	feeds, err := s.Feeds(t.Context())
	require.NoError(t, err)
	require.Empty(t, feeds)
}
