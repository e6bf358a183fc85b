package store_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/memory/index"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/store"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// fill sets every field of a struct to some value.
func fill(v reflect.Value) {
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			f.SetString("the " + v.Type().Field(i).Name)
		case reflect.Int, reflect.Int64:
			f.SetInt(int64(i + 1))
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		case reflect.Struct:
			if f.Type() == reflect.TypeFor[time.Time]() {
				f.Set(reflect.ValueOf(noon.Add(time.Duration(i) * time.Hour)))
			} else {
				fill(f)
			}
		}
	}
}

// requireFull fails for a field of a struct that has its zero value: a column that a conversion forgot.
func requireFull(t *testing.T, value any) {
	t.Helper()
	v := reflect.ValueOf(value)
	for i := range v.NumField() {
		require.False(t, v.Field(i).IsZero(), "%s.%s is not set", v.Type(), v.Type().Field(i).Name)
	}
}

func TestARowHasEveryColumnOfAnAttempt(t *testing.T) {
	t.Parallel()
	var attempt store.Attempt
	fill(reflect.ValueOf(&attempt).Elem())
	requireFull(t, attempt)
	row := store.Row(attempt)
	row.Folded = 1 // of sums alone
	requireFull(t, row)
	requireFull(t, row.Ask)
}

func TestABillEndsAnAttempt(t *testing.T) {
	t.Parallel()
	var ask spend.Ask
	var bill spend.Bill
	fill(reflect.ValueOf(&ask).Elem())
	fill(reflect.ValueOf(&bill).Elem())
	bill.State = spend.Settled
	open := store.Reserved(ask, 2)
	require.Equal(t, string(spend.Open), open.State)
	require.Equal(t, ask, store.Row(open).Ask)
	ended := store.Ended(open, bill)
	ended.Latest, ended.Forgotten = 1, true // stores add them
	requireFull(t, ended)
	require.Equal(t, bill.Amount, ended.Counted)
	lost := store.Lost(open, noon)
	require.Equal(t, string(spend.Lost), lost.State)
	require.Equal(t, open.Counted, lost.Counted)
}

func TestAnEventComesBackFromItsRecord(t *testing.T) {
	t.Parallel()
	e := event.Event{
		Agent:     "a",
		Seq:       4,
		ID:        "e",
		Schema:    1,
		Subsystem: "dream",
		Dream:     "d",
		Type:      "t",
		At:        noon,
		Data:      []byte("{}"),
	}
	requireFull(t, e)
	require.Equal(t, e, store.EventOf(*store.EventRecord(e).Event))
}

func TestNamesAreTextAndNotEmpty(t *testing.T) {
	t.Parallel()
	require.NoError(t, store.CheckNames("id and handle", "a", "é"))
	for _, bad := range []string{"", "\xff"} {
		require.EqualError(t, store.CheckNames("id and handle", "a", bad), "id and handle must be UTF-8 text and not empty")
	}
	require.ErrorContains(t, store.CheckDeparture("a", "c", -1), "must not be negative")
	require.ErrorContains(t, store.CheckDeparture("a", "", 0), "agent and client")
	require.NoError(t, store.CheckDeparture("a", "c", 0))
}

func TestAFailedResultIsZero(t *testing.T) {
	t.Parallel()
	fault := errors.New("torn")
	n, err := store.Result(3, fault, "count ", "a")
	require.Zero(t, n)
	require.ErrorIs(t, err, fault)
	require.EqualError(t, err, "count a: torn")
	n, err = store.Result(3, nil, "count")
	require.NoError(t, err)
	require.Equal(t, 3, n)
	require.ErrorIs(t, store.Away(fault), memory.ErrAway)
	require.ErrorIs(t, store.Away(fault), fault)
}

func TestUndoingADreamReturnsToTheAffectBefore(t *testing.T) {
	t.Parallel()
	set := func(cause string) store.Affect { return store.Affect{Cause: cause, Affect: dream.Affect{Cause: cause}} }
	for name, c := range map[string]struct {
		history []store.Affect
		want    string // cause of the affect to write; empty: nothing is written
	}{
		"nothing was set":      {nil, ""},
		"another dream set it": {[]store.Affect{set("d1")}, ""},
		"only this dream":      {[]store.Affect{set("d2")}, "new"},
		"one before":           {[]store.Affect{set("d1"), set("d2")}, "d1"},
		"one after":            {[]store.Affect{set("d1"), set("d2"), set("d3")}, "d3"},
	} {
		before := store.UndoAffect(c.history, "d2")
		if c.want == "" {
			require.Nil(t, before, name)
			continue
		}
		require.Equal(t, c.want, before.Cause, name)
	}
}

// forgetful forgets the word "secret".
type forgetful struct{}

func (forgetful) Scrub(dream.Kind, []byte) ([]byte, bool, error) { return nil, false, nil }
func (forgetful) Note(value []byte) ([]byte, bool)               { return []byte("-"), string(value) == "secret" }

func (forgetful) Holds(value []byte) bool { return string(value) == "secret" }

func TestALateNoteIsDroppedAndAnotherIsRewritten(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]store.Note{
		memory.LateNote + "1": {Changed: true, Drop: true},
		"plan":                {Changed: true, Value: []byte("-")},
	} {
		require.Equal(t, want, store.ScrubNote(forgetful{}, key, []byte("secret")))
		require.False(t, store.ScrubNote(forgetful{}, key, []byte("plain")).Changed)
	}
}

func TestAnExportEndsWithItsReader(t *testing.T) {
	t.Parallel()
	records := store.Export("here", func(put store.Put) error {
		for {
			if err := put(memory.Record{Note: &memory.KeptNote{}}); err != nil {
				return err
			}
		}
	})
	n := 0
	for _, err := range records {
		require.NoError(t, err)
		n++
		if n == 3 {
			break
		}
	}
	require.Equal(t, 3, n)
	for _, err := range store.Export("here", func(store.Put) error { return errors.New("torn") }) {
		require.EqualError(t, err, "export here: torn")
	}
}

func TestWaitersAreWokenByTheirOwnAgent(t *testing.T) {
	t.Parallel()
	var w store.Waiters
	one, same, other := w.Listen("a"), w.Listen("a"), w.Listen("b")
	w.Notify("a")
	<-one
	<-same
	select {
	case <-other:
		require.Fail(t, "an event of another agent")
	default:
	}
	select {
	case <-w.Listen("a"):
		require.Fail(t, "the event was before")
	default:
	}
}

func TestAPauseEndsWithItsContextOrItsStore(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, store.Pause(ended, time.Hour, nil), context.Canceled)
	closed := make(chan struct{})
	close(closed)
	require.ErrorIs(t, store.Pause(t.Context(), time.Hour, closed), store.ErrClosed)
	require.NoError(t, store.Pause(t.Context(), time.Nanosecond, nil))
}

func TestSteadySearchesLookForChangesOnce(t *testing.T) {
	t.Parallel()
	looks := 0
	open := func() *store.Searcher {
		return &store.Searcher{
			Limit: store.IndexMemory,
			CatchUp: func(_ context.Context, x *index.Index, _ string) (index.Version, error) {
				looks++
				v := index.Version{VectorRevision: int64(looks)}
				return v, x.CatchUp(v, func(int64, func(index.Entry)) (int64, error) { return v.VectorRevision, nil })
			},
		}
	}
	search := func(ctx context.Context, s *store.Searcher, agent string) {
		_, err := s.Search(ctx, memory.Search{Agent: agent, Text: "harbour", Limit: 1})
		require.NoError(t, err)
	}
	s, steady := open(), memory.SteadySearches(t.Context())
	for range 3 {
		search(steady, s, "a")
	}
	require.Equal(t, 1, looks)
	search(t.Context(), s, "a")
	require.Equal(t, 2, looks, "other searches find all that was written before")
	search(steady, s, "b")
	require.Equal(t, 3, looks, "each agent has a version of its own")
	search(steady, open(), "a")
	require.Equal(t, 4, looks, "an index that was evicted is read again")
}
