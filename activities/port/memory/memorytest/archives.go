package memorytest

import (
	"bytes"
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/memory/archive"
)

// ArchiveStore is a store that can be exported and imported.
type ArchiveStore interface {
	memory.Store
	memory.Feeds
	memory.Movable
	Events(ctx context.Context, agent string, after int64, limit int) ([]event.Event, error)
}

var archives = []struct {
	name string
	run  func(t *testing.T, from, to func(*testing.T) ArchiveStore)
}{
	{"EveryRecordIsMoved", everythingMoved},
	{"AnImportedStoreGivesTheSameResults", movedAnswers},
	{"WhatTheStoreWroteItselfIsMoved", writtenMoved},
	{"AnEmptyStoreIsMoved", nothingMoved},
	{"OnlyAnEmptyStoreImports", occupiedRefuses},
	{"AnInterruptedImportLeavesNothing", cutLeavesNothing},
	{"AnAlteredRecordIsRefused", falseRecordRefused},
	{"WhetherKeysAreRequiredMoves", keysRequiredMoves},
	{"AnImportedStoreCanBeWritten", filledGoesOn},
	{"AnAbandonedExportEnds", exportEnds},
	{"NamesOfEarlierBuildsAreRead", formerNamesRead},
}

// RunArchive tests export and import between two stores. from and to return new, empty stores.
func RunArchive(t *testing.T, from, to func(t *testing.T) ArchiveStore) {
	t.Helper()
	for _, c := range archives {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, from, to)
		})
	}
}

var usual = Size{
	Agents:   3,
	Items:    60,
	Events:   20,
	Attempts: 80,
	Dim:      5,
}

// keysRequiredMoves exports what keys do not imply: required although there are none, and the opposite.
func keysRequiredMoves(t *testing.T, from, to func(*testing.T) ArchiveStore) {
	key := memory.Record{Key: &memory.KeptKey{ID: "a", Hash: "h", Body: memory.Raw(`{"id":"a","hash":"h"}`)}}
	says := func(required bool) memory.Record {
		return memory.Record{Access: &memory.KeptAccess{KeysRequired: required}}
	}
	for _, records := range [][]memory.Record{{}, {key}, {says(true)}, {key, says(false)}} {
		a, b := from(t), to(t)
		fill(t, a, Fill(records))
		require.Equal(t, written(t, Fill(records)), written(t, a.Export(t.Context())))
		fill(t, b, a.Export(t.Context()))
		require.Equal(t, written(t, Fill(records)), written(t, b.Export(t.Context())))
	}
}

// Collect reads all records.
func Collect(t *testing.T, records memory.Records) []memory.Record {
	t.Helper()
	var all []memory.Record
	for r, err := range records {
		require.NoError(t, err)
		all = append(all, r)
	}
	return all
}

func written(t *testing.T, records memory.Records) string {
	t.Helper()
	var b bytes.Buffer
	_, err := archive.Write(&b, records)
	require.NoError(t, err)
	return b.String()
}

func fill(t *testing.T, s ArchiveStore, records memory.Records) {
	t.Helper()
	_, err := s.Import(t.Context(), records)
	require.NoError(t, err)
}

func refused(t *testing.T, s ArchiveStore, records memory.Records) error {
	t.Helper()
	_, err := s.Import(t.Context(), records)
	require.Error(t, err)
	return err
}

func filled(t *testing.T, open func(*testing.T) ArchiveStore, records []memory.Record) ArchiveStore {
	t.Helper()
	s := open(t)
	fill(t, s, Fill(records))
	return s
}

func everythingMoved(t *testing.T, from, to func(*testing.T) ArchiveStore) {
	for seed := range uint64(5) {
		made := Deployment(seed, usual)
		one := filled(t, from, made)
		require.Equal(t, written(t, Fill(made)), written(t, one.Export(t.Context())), "seed %d", seed)
		other := to(t)
		fill(t, other, one.Export(t.Context()))
		require.Equal(t, written(t, Fill(made)), written(t, other.Export(t.Context())), "seed %d", seed)
		back := from(t)
		fill(t, back, archive.Read(bytes.NewBufferString(written(t, other.Export(t.Context())))))
		require.Equal(t, written(t, Fill(made)), written(t, back.Export(t.Context())), "seed %d", seed)
	}
}

// movedAnswers compares the results of every method of the port on both stores.
func movedAnswers(t *testing.T, from, to func(*testing.T) ArchiveStore) {
	one := filled(t, from, Deployment(11, usual))
	other := to(t)
	fill(t, other, one.Export(t.Context()))
	sameNames(t, one, other)
	for n := range usual.Agents {
		sameAgent(t, agentID(n), one, other)
	}
}

func sameNames(t *testing.T, one, other ArchiveStore) {
	t.Helper()
	ctx := t.Context()
	for _, ask := range []func(ArchiveStore) (any, error){
		func(s ArchiveStore) (any, error) { return s.Agents(ctx) },
		func(s ArchiveStore) (any, error) { return s.Feeds(ctx) },
		func(s ArchiveStore) (any, error) { return s.Slots(ctx) },
		func(s ArchiveStore) (any, error) { return s.Agent(ctx, "handle-1") },
	} {
		sameAnswer(t, one, other, ask)
	}
}

func sameAnswer(t *testing.T, one, other ArchiveStore, ask func(ArchiveStore) (any, error)) {
	t.Helper()
	want, err := ask(one)
	require.NoError(t, err)
	got, err := ask(other)
	require.NoError(t, err)
	if list := reflect.ValueOf(want); list.Kind() == reflect.Slice && list.Len() == 0 {
		require.Empty(t, got)
		return
	}
	require.Equal(t, want, got)
}

func sameAgent(t *testing.T, agent string, one, other ArchiveStore) {
	t.Helper()
	ctx := t.Context()
	asks := []func(ArchiveStore) (any, error){
		func(s ArchiveStore) (any, error) { return s.Space(ctx, agent) },
		func(s ArchiveStore) (any, error) { return s.Spaces(ctx, agent) },
		func(s ArchiveStore) (any, error) { return s.Affect(ctx, agent) },
		func(s ArchiveStore) (any, error) { return s.Forgettings(ctx, agent) },
		func(s ArchiveStore) (any, error) { return s.Notes(ctx, agent, "dream/x/0001", "") },
		func(s ArchiveStore) (any, error) { return s.WithoutVector(ctx, agent, ownSpace, nil, 0) },
		func(s ArchiveStore) (any, error) { return s.WithoutVector(ctx, agent, otherSpace, nil, 0) },
		func(s ArchiveStore) (any, error) {
			return s.Near(ctx, memory.Near{Agent: agent, Space: ownSpace, V: []float32{1, 2, 3, 4, 5}, Limit: 1000})
		},
		func(s ArchiveStore) (any, error) {
			return s.Count(ctx, memory.Query{Agent: agent, Session: oddTexts[0] + "1"})
		},
		func(s ArchiveStore) (any, error) {
			return s.Find(ctx, memory.Query{Agent: agent, Dream: "dream/x/0001", States: states})
		},
	}
	for _, by := range []memory.SortOrder{memory.MostSalient, memory.HighestScore, memory.SoonestDue} {
		asks = append(asks, func(s ArchiveStore) (any, error) {
			return s.Find(ctx, memory.Query{
				Agent:       agent,
				Sort:        by,
				States:      states,
				Limit:       40,
				SalientFrom: .01,
			})
		})
	}
	for _, ask := range asks {
		sameAnswer(t, one, other, ask)
	}
	items, err := one.Find(ctx, memory.Query{Agent: agent, States: states})
	require.NoError(t, err)
	require.Len(t, items, usual.Items)
	for _, item := range items {
		sameAnswer(t, one, other,
			func(s ArchiveStore) (any, error) { return s.Revisions(ctx, agent, item.Header().ID) })
	}
}

var states = []dream.State{dream.Live, dream.Superseded, dream.Archived}

// writtenMoved fills a store through its own methods, and checks that an archive preserves all of it.
func writtenMoved(t *testing.T, from, to func(*testing.T) ArchiveStore) {
	one := from(t)
	WriteEverything(t, one)
	other := to(t)
	fill(t, other, one.Export(t.Context()))
	require.Equal(t, written(t, one.Export(t.Context())), written(t, other.Export(t.Context())))
	undone, err := one.Undo(t.Context(), echo, "d1")
	require.NoError(t, err)
	again, err := other.Undo(t.Context(), echo, "d1")
	require.NoError(t, err)
	require.Equal(t, undone, again)
	for _, s := range []ArchiveStore{one, other} {
		removed, err := s.Forget(t.Context(), echo, "e1")
		require.NoError(t, err)
		require.Equal(t, 1, removed)
		require.Empty(t, get(t, s, "h1")[0].Header().Sources, "references to it were removed")
		n, err := s.NextDream(t.Context(), echo)
		require.NoError(t, err)
		require.EqualValues(t, 3, n)
	}
	require.Equal(t, ids(find(t, one, memory.Query{States: states})), ids(find(t, other, memory.Query{States: states})))
}

// WriteEverything writes one of everything through the methods of the port, for an agent that no Deployment has.
func WriteEverything(t *testing.T, s ArchiveStore) {
	t.Helper()
	ctx := t.Context()
	require.NoError(t, s.PutAgent(ctx, dream.Agent{ID: echo, Handle: "echo", Zone: "UTC", Tier: dream.Core}))
	require.NoError(t, s.PutFeed(ctx, tides()))
	add(t, s, episode("e1", "one"), episode("e2", "two"), semantic("s1", "tides"))
	for range 2 {
		_, err := s.NextDream(ctx, echo)
		require.NoError(t, err)
	}
	f := sleep(t, s, "d1")
	guess := hypothesis("h1", "it returns", .5)
	guess.Dream, guess.Sources = "d1", []string{"e1"}
	stronger := semantic("s1", "tides")
	stronger.Strength = .75
	commit(t, s, memory.Write{
		Fence: f, Add: []dream.Item{guess}, Change: []dream.Item{stronger},
		Vectors: []memory.Vector{
			{Item: "e1", Space: "flat/2", V: []float32{1, 0}},
			{Item: "s1", Space: "flat/2", V: []float32{0, 1}},
		},
		Affect: &dream.Affect{Since: dawn, Cause: "d1"},
	})
	_, err := s.PutNote(ctx, echo, f, "k", []byte("v"))
	require.NoError(t, err)
	require.NoError(t, s.Collect(ctx, echo, []memory.Vector{{Item: "e2", Space: elsewhere, V: []float32{1, 2, 3}}}))
}

func nothingMoved(t *testing.T, from, to func(*testing.T) ArchiveStore) {
	one, other := from(t), to(t)
	fill(t, other, one.Export(t.Context()))
	require.Empty(t, Collect(t, other.Export(t.Context())))
	fill(t, other, one.Export(t.Context()))
}

func occupiedRefuses(t *testing.T, _, to func(*testing.T) ArchiveStore) {
	made := Deployment(3, usual)
	for name, begin := range map[string]func(ArchiveStore) error{
		"an agent": func(s ArchiveStore) error {
			return s.PutAgent(t.Context(), dream.Agent{ID: echo, Handle: "echo"})
		},
		"a feed":   func(s ArchiveStore) error { return s.PutFeed(t.Context(), tides()) },
		"a number": func(s ArchiveStore) error { _, err := s.NextDream(t.Context(), echo); return err },
		"a memory": func(s ArchiveStore) error {
			_, err := s.Commit(t.Context(), memory.Write{Agent: echo, Add: []dream.Item{episode("e", "x")}})
			return err
		},
		"everything": func(s ArchiveStore) error { _, err := s.Import(t.Context(), Fill(made)); return err },
	} {
		s := to(t)
		require.NoError(t, begin(s), name)
		before := written(t, s.Export(t.Context()))
		require.ErrorIs(t, refused(t, s, Fill(made)), memory.ErrOccupied, name)
		require.Equal(t, before, written(t, s.Export(t.Context())), name)
	}
}

func cutLeavesNothing(t *testing.T, _, to func(*testing.T) ArchiveStore) {
	made := Deployment(4, usual)
	s := to(t)
	for _, n := range []int{0, 1, 5, len(made) / 2, len(made) - 1, len(made)} {
		require.ErrorIs(t, refused(t, s, CutAfter(n, made)), ErrCut)
		require.Empty(t, Collect(t, s.Export(t.Context())))
	}
	fill(t, s, Fill(made))
	require.Equal(t, written(t, Fill(made)), written(t, s.Export(t.Context())))
}

// falseRecordRefused alters one record of an archive and writes a valid seal.
func falseRecordRefused(t *testing.T, _, to func(*testing.T) ArchiveStore) {
	s := to(t)
	for name, lie := range map[string]func(r *memory.Record) bool{
		"a sum": func(r *memory.Record) bool {
			return r.Account != nil && alter(&r.Account, func(a *memory.KeptAccount) { a.Spent++ })
		},
		"an amount": func(r *memory.Record) bool {
			return r.Attempt != nil && alter(&r.Attempt, func(a *memory.KeptAttempt) { a.Counted++ })
		},
		"an attempt": func(r *memory.Record) bool {
			return r.Attempt != nil && alter(&r.Attempt, func(a *memory.KeptAttempt) { a.Attempt = 9 })
		},
		"a kind": func(r *memory.Record) bool {
			return r.Item != nil && alter(&r.Item, func(i *memory.KeptItem) { i.Kind = "wish" })
		},
		"another's body": func(r *memory.Record) bool {
			return r.Item != nil && alter(&r.Item, func(i *memory.KeptItem) { i.ID += "!" })
		},
		"another handle": func(r *memory.Record) bool {
			return r.Agent != nil && alter(&r.Agent, func(a *memory.KeptAgent) { a.Handle += "x" })
		},
		"a longer vector": func(r *memory.Record) bool {
			return r.Counters != nil && alter(&r.Counters, func(l *memory.KeptCounters) { l.Dim++ })
		},
		"no revision": func(r *memory.Record) bool {
			return r.Item != nil && alter(&r.Item, func(i *memory.KeptItem) { i.Revisions = nil })
		},
	} {
		made := Deployment(5, usual)
		at := slices.IndexFunc(made, func(r memory.Record) bool { return lie(&r) })
		lie(&made[at])
		_ = refused(t, s, Fill(made))
		require.Empty(t, Collect(t, s.Export(t.Context())), name)
	}
}

func alter[T any](at **T, change func(*T)) bool {
	copied := **at
	change(&copied)
	*at = &copied
	return true
}

// filledGoesOn keeps writing to an imported store.
func filledGoesOn(t *testing.T, _, to func(*testing.T) ArchiveStore) {
	one := to(t)
	WriteEverything(t, one)
	s := to(t)
	fill(t, s, one.Export(t.Context()))
	f := memory.Fence{Dream: "d1", Run: "run-d1"}
	r := commit(t, s, memory.Write{
		Fence: f, Add: []dream.Item{episode("e3", "three")}, Change: []dream.Item{semantic("s1", "tides and glass")},
		Vectors: []memory.Vector{{Item: "e3", Space: "flat/2", V: []float32{1, 1}}},
	})
	require.Equal(t, memory.Receipt{Added: 1, Changed: 1}, r)
	hits, err := s.Near(t.Context(), memory.Near{Agent: echo, Space: "flat/2", V: []float32{1, .1}, Limit: 9})
	require.NoError(t, err)
	require.Equal(t, []string{"e1", "e3", "s1"}, []string{hits[0].Item, hits[1].Item, hits[2].Item})
	wakeUp(t, s, f)
	require.Equal(t, 3, move(t, s, elsewhere), "collected vectors stay, and the others are missing")
	_, err = s.PutNote(t.Context(), echo, memory.Fence{}, "k", nil)
	require.NoError(t, err)
	require.Equal(t, []string{"h1", "e2"}, bareIn(t, s, "flat/2"))
}

func exportEnds(t *testing.T, from, _ func(*testing.T) ArchiveStore) {
	s := filled(t, from, Deployment(6, usual))
	for range 100 { // more than a store has connections
		n := 0
		for _, err := range s.Export(t.Context()) {
			require.NoError(t, err)
			n++
			if n > 7 {
				break
			}
		}
	}
	require.NoError(t, s.PutFeed(t.Context(), tides()))
}

// formerNamesRead imports a dream's record and an event as earlier builds wrote them.
func formerNamesRead(t *testing.T, from, to func(*testing.T) ArchiveStore) {
	const id = "dream/echo/0001"
	record := dream.Record{Head: head(dream.KindRecord, id), Outcome: dream.Empty}
	body := strings.Replace(string(jsonOf(record)), `"kind":"dream_record"`, `"kind":"night"`, 1)
	require.Contains(t, body, `"kind":"night"`)
	kept := written(t, Fill([]memory.Record{
		{Agent: &memory.KeptAgent{ID: echo, Handle: "echo", Body: jsonOf(dream.Agent{ID: echo, Handle: "echo"})}},
		{Counters: &memory.KeptCounters{Agent: echo, Seq: 1}},
		{Item: &memory.KeptItem{
			Agent:     echo,
			ID:        id,
			Kind:      "night",
			Revisions: []memory.KeptRevision{{Cause: "c", At: dawn, Body: memory.Raw(body)}},
		}},
		{Event: &memory.KeptEvent{
			Agent:     echo,
			Seq:       1,
			ID:        "e",
			Schema:    event.Schema,
			Subsystem: event.Subsystem,
			Dream:     id,
			Type:      "NothingAgain",
			At:        dawn,
			Data:      memory.Raw(`{"nights":3}`),
		}},
	}))
	for _, open := range []func(*testing.T) ArchiveStore{from, to} {
		s := open(t)
		fill(t, s, archive.Read(bytes.NewBufferString(kept)))
		items, err := s.Find(t.Context(), memory.Query{Agent: echo, Kinds: []dream.Kind{dream.KindRecord}})
		require.NoError(t, err)
		require.Len(t, items, 1)
		require.Equal(t, dream.KindRecord, items[0].Header().Kind)
		events, err := s.Events(t.Context(), echo, 0, 10)
		require.NoError(t, err)
		require.Len(t, events, 1)
		require.Equal(t, event.EmptyDreamsRepeated{}.EventType(), events[0].Type)
		require.JSONEq(t, `{"dreams":3}`, string(events[0].Data))
		require.Equal(t, kept, written(t, s.Export(t.Context())), "what was imported is exported unchanged")
	}
}
