package sqlitestore_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/memory/memorytest"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
)

const (
	packingDream = "dream/echo/0001"
	packingStep  = packingDream + "/onset/1"
)

// caught returns a fragment of a dream; walk returns the episode that it was made from.
func caught(content string) *dream.Fragment {
	return &dream.Fragment{
		Head: dream.Head{
			ID:      packingDream + "/onset/1.1",
			Agent:   echo,
			Kind:    dream.KindFragment,
			At:      dawn,
			State:   dream.Live,
			Taint:   dream.FromDream,
			Dream:   packingDream,
			Phase:   dream.Onset,
			Sources: []string{"lived"},
		},
		Content: content,
		Verdict: dream.Verdict{Novelty: .3, Judge: "embedder"},
	}
}

func walk() *dream.Episode {
	return &dream.Episode{
		Head: dream.Head{
			ID:    "lived",
			Agent: echo,
			Kind:  dream.KindEpisode,
			At:    dawn,
			State: dream.Live,
			Taint: dream.FromHuman,
		},
		Content: "a pier",
	}
}

// columns reads one row of texts.
func columns(t *testing.T, path, query string) []string {
	t.Helper()
	rows, err := raw(t, path).QueryContext(t.Context(), query)
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	require.True(t, rows.Next(), query)
	names, err := rows.Columns()
	require.NoError(t, err)
	values, dest := make([]string, len(names)), make([]any, len(names))
	for i := range values {
		dest[i] = &values[i]
	}
	require.NoError(t, rows.Scan(dest...))
	return values
}

func TestOnlyItemsOfDreamsArePacked(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "oneiros.db")
	s := open(t, path)
	f := memory.Fence{Dream: packingDream, Run: "r"}
	_, err := s.TakeSlot(t.Context(), echo, memory.Slot{Fence: f, Since: dawn}, memory.Fence{})
	require.NoError(t, err)
	of := func(id, dreamID string) event.Event { return event.New(id, echo, dreamID, dawn, event.PatternFound{}) }
	_, err = s.Commit(t.Context(),
		memory.Write{Agent: echo, Add: []dream.Item{walk()}, Events: []event.Event{of("day", "")}})
	require.NoError(t, err)
	odd := of("odd", packingDream)
	odd.Data = json.RawMessage(` {"spaces": "around it"} `)
	_, err = s.Commit(t.Context(), memory.Write{
		Agent: echo, Fence: f, Add: []dream.Item{caught("glass")},
		Events: []event.Event{of("night", packingDream), odd},
		Vectors: []memory.Vector{
			{Item: "lived", Space: "s/1/3", V: []float32{1, 0, 0}},
			{Item: caught("").ID, Space: "s/1/3", V: []float32{0, 1, 0}},
		},
	})
	require.NoError(t, err)
	for _, dreamID := range []string{packingDream, ""} {
		_, err = s.Ledger().Reserve(t.Context(),
			spend.Ask{
				Step: "step of " + dreamID, Agent: echo, Dream: dreamID,
				Accounts: []budget.Account{{Scope: "fleet"}},
			})
		require.NoError(t, err)
	}
	for query, want := range map[string][]string{
		"SELECT body <> '', packed IS NULL FROM items WHERE id = 'lived'":            {"1", "1"},
		"SELECT body <> '', packed IS NULL, text FROM items WHERE kind = 'fragment'": {"0", "0", "glass"},
		"SELECT type, packed IS NULL FROM events WHERE id = 'day'": {
			"PatternFound",
			"1",
		},
		"SELECT type, packed IS NULL FROM events WHERE id = 'night'": {"", "0"},
		"SELECT type, packed IS NULL, data FROM events WHERE id = 'odd'": {
			"PatternFound",
			"1", string(odd.Data),
		},
		"SELECT accounts <> '', packed IS NULL FROM attempts WHERE dream = ''":                    {"1", "1"},
		"SELECT accounts <> '', packed IS NULL FROM attempts WHERE dream <> ''":                   {"0", "0"},
		"SELECT numbers IS NULL, length(v) FROM vectors WHERE kind = 'episode'":                   {"1", "12"},
		"SELECT numbers FROM vectors WHERE kind = 'fragment'":                                     {"3"},
		"SELECT count(*) FROM items WHERE cause = dream AND agent = 'agent-echo' AND dream <> ''": {"1"},
	} {
		require.Equal(t, want, columns(t, path, query), query)
	}
	events, err := s.Events(t.Context(), echo, 0, 0)
	require.NoError(t, err)
	require.Len(t, events, 3)
	for i, want := range []event.Event{of("day", ""), of("night", packingDream), odd} {
		want.Seq = int64(i + 1)
		require.Equal(t, want, events[i])
	}
}

// rowsOfSchema11 returns the rows that a program of schema 11 wrote.
func rowsOfSchema11(t *testing.T) []string {
	t.Helper()
	item := func(i dream.Item, cause string) string {
		h, m := i.Header(), i.Marks()
		body, err := json.Marshal(i)
		require.NoError(t, err)
		return fmt.Sprintf(
			`INSERT INTO items (agent, id, kind, state, at, salience, surprise, score, status, session, dream, bare, revision, cause, changed,
			text, body, dreamt, tide) VALUES ('%s', '%s', '%s', '%s', %d, 0, 0, 0, '%s', '', '%s', 0, 2, '%s', 7, '%s', '%s', %v, 1)`,
			echo, h.ID, h.Kind, h.State, h.At.UnixNano(), m.Status, h.Dream, cause, i.Text(), body, h.Dreamt())
	}
	revision := func(i dream.Item, cause string) string {
		body, err := json.Marshal(i)
		require.NoError(t, err)
		return fmt.Sprintf(
			"INSERT INTO revisions (agent, id, number, kind, cause, at, body) VALUES ('%s', '%s', 1, '%s', '%s', 5, '%s')",
			echo, i.Header().ID, i.Header().Kind, cause, body)
	}
	changed := walk()
	changed.Salience = .5
	const vector = "INSERT INTO vectors (agent, id, space, kind, live, v) VALUES ('%s', '%s', 's/1/2', '%s', 1, X'0000803F00000000')"
	return []string{
		"INSERT INTO lives (agent, seq, space, dim, tide) VALUES ('agent-echo', 1, 's/1/2', 2, 3)",
		revision(walk(), "import"), item(changed, packingDream),
		revision(caught("first"), packingDream), item(caught("glass"), packingDream),
		fmt.Sprintf(vector, echo, "lived", "episode"), fmt.Sprintf(vector, echo, caught("").ID, "fragment"),
		fmt.Sprintf(`INSERT INTO events (agent, seq, id, schema, subsystem, dream, type, at, data)
			VALUES ('%s', 1, 'v', 1, 'nrem', '%s', 'PatternFound', '2026-03-01T06:00:00Z', '{"prediction_id":"p"}')`,
			echo, packingDream),
		fmt.Sprintf(
			`INSERT INTO attempts (step, attempt, agent, dream, phase, model, day, accounts, reserved, counted, state, at, latest, ended)
			VALUES ('%s', 1, '%s', '%s', 'onset', 'm', '2026-03-01', '[{"scope":"fleet","limit":9}]', 3, 2, 'settled', '2026-03-01T06:00:00Z', 1,
			'2026-03-01T06:00:01Z')`, packingStep, echo, packingDream),
		"INSERT INTO accounts (scope, reserved, spent) VALUES ('fleet', 0, 2)",
	}
}

func TestAFileWithoutPackedRowsIsReadAndWritten(t *testing.T) {
	t.Parallel()
	path := before(t, 11, rowsOfSchema11(t)...)
	s := open(t, path)
	got, err := memory.One[*dream.Fragment](t.Context(), s, echo, caught("").ID)
	require.NoError(t, err)
	want := caught("glass")
	want.Revision = 2
	require.Equal(t, want, got)
	revisions, err := s.Revisions(t.Context(), echo, want.ID)
	require.NoError(t, err)
	require.Len(t, revisions, 2, "existing revisions stay")
	events, err := s.Events(t.Context(), echo, 0, 0)
	require.NoError(t, err)
	require.Equal(t, "PatternFound", events[0].Type)
	rows, err := s.Ledger().Rows(t.Context(), spend.Query{Dream: packingDream})
	require.NoError(t, err)
	require.Equal(t, []budget.Account{{Scope: "fleet", Limit: 9}}, rows[0].Accounts)
	require.NoError(t,
		s.Ledger().Settle(t.Context(), spend.Hold{Step: packingStep, Attempt: 1},
			spend.Bill{State: spend.Settled, Amount: 2, At: dawn}))
	hits, err := s.Near(t.Context(), memory.Near{Agent: echo, Space: "s/1/2", V: []float32{1, 0}, Limit: 9})
	require.NoError(t, err)
	require.Len(t, hits, 2)

	records := memorytest.Collect(t, s.Export(t.Context()))
	packed := open(t, filepath.Join(t.TempDir(), "new.db"))
	_, err = packed.Import(t.Context(), memorytest.Fill(records))
	require.NoError(t, err)
	require.Equal(t, records, memorytest.Collect(t, packed.Export(t.Context())),
		"the archive does not depend on packing")
	for _, s := range []*sqlitestore.Store{s, packed} {
		undone, err := s.Undo(t.Context(), echo, packingDream)
		require.NoError(t, err)
		require.Equal(t, memory.UndoResult{Archived: 1, Restored: 1}, undone)
		back, err := memory.One[*dream.Episode](t.Context(), s, echo, "lived")
		require.NoError(t, err)
		require.Zero(t, back.Salience)
		done, err := s.Forget(t.Context(), echo, "lived")
		require.NoError(t, err)
		require.Equal(t, 1, done)
		revisions, err := s.Revisions(t.Context(), echo, want.ID)
		require.NoError(t, err)
		require.Len(t, revisions, 3)
		for _, r := range revisions {
			require.Empty(t, r.Item.Header().Sources, "revision %d", r.Number)
		}
	}
	require.Equal(t, []string{"0", "0"},
		columns(t, path, "SELECT body <> '', packed IS NULL FROM items WHERE kind = 'fragment'"),
		"new rows are packed")
}

// censor removes one word from items.
type censor struct{ word string }

func TestWordsAreRemovedFromPackedRows(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "oneiros.db"))
	first, second := caught("a pier of glass"), caught("a pier of rain")
	_, err := s.Commit(t.Context(), memory.Write{Agent: echo, Cause: "a", Add: []dream.Item{first}})
	require.NoError(t, err)
	_, err = s.Commit(t.Context(), memory.Write{Agent: echo, Cause: "b", Change: []dream.Item{second}})
	require.NoError(t, err)
	done, err := s.Erase(t.Context(), echo, memory.Erasure{Scrub: []string{first.ID}, Words: censor{"pier"}})
	require.NoError(t, err)
	require.Equal(t, 1, done.Scrubbed)
	revisions, err := s.Revisions(t.Context(), echo, first.ID)
	require.NoError(t, err)
	require.Equal(t, "a [] of glass", revisions[0].Item.Text())
	require.Equal(t, "a [] of rain", revisions[1].Item.Text())
	found, err := s.Search(t.Context(), memory.Search{Agent: echo, Text: "pier", Limit: 3})
	require.NoError(t, err)
	require.Empty(t, found.Hits)
}

func (h censor) Scrub(_ dream.Kind, body []byte) ([]byte, bool, error) {
	out := []byte(strings.ReplaceAll(string(body), h.word, "[]"))
	return out, string(out) != string(body), nil
}
func (h censor) Note(value []byte) ([]byte, bool) { return value, false }
func (h censor) Holds([]byte) bool                { return false }

func TestAnAlteredPackedRowIsAnError(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "oneiros.db")
	s := open(t, path)
	_, err := s.Commit(t.Context(), memory.Write{Agent: echo, Cause: "a", Add: []dream.Item{caught("glass")}})
	require.NoError(t, err)
	do(t, raw(t, path), "UPDATE items SET packed = X'0900'")
	_, err = s.Get(t.Context(), echo, caught("").ID)
	require.ErrorContains(t, err, caught("").ID+": not packed, or altered")
}

// Reading what a dream wrote costs the unpacking; memories are not packed.
func BenchmarkFind(b *testing.B) {
	for _, dreamID := range []string{"", packingDream} {
		b.Run(map[bool]string{true: "lived", false: "dreamt"}[dreamID == ""], func(b *testing.B) {
			s, err := sqlitestore.Open(b.Context(), filepath.Join(b.TempDir(), "oneiros.db"))
			require.NoError(b, err)
			defer func() { require.NoError(b, s.Close()) }()
			var items []dream.Item
			for n := range 1000 {
				f := caught(fmt.Sprint("a thought of glass, number ", n))
				f.ID, f.Dream, f.At = fmt.Sprint(f.ID, ".", n), dreamID, dawn.Add(time.Duration(n)*time.Minute)
				items = append(items, f)
			}
			_, err = s.Commit(b.Context(), memory.Write{Agent: echo, Cause: "a", Add: items})
			require.NoError(b, err)
			b.ResetTimer()
			for b.Loop() {
				found, err := s.Find(b.Context(),
					memory.Query{Agent: echo, Kinds: []dream.Kind{dream.KindFragment}, Limit: 100})
				require.NoError(b, err)
				require.Len(b, found, 100)
			}
		})
	}
}
