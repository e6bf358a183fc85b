package presencetest

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/fabric"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/memory/archive"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
)

// RemovalStore has every port that keeps something of an agent, except the ledger.
type RemovalStore interface {
	memory.Store
	memory.Talks
	presence.Store
	fabric.Log
	memory.Movable
}

// Removal is a deployment of two processes: two stores and a ledger on the same data.
type Removal struct {
	One, Other RemovalStore
	Ledger     spend.Ledger
	Empty      RemovalStore // of another deployment
}

var removals = []struct {
	name string
	run  func(*testing.T, Removal)
}{
	{"ARemovedAgentLeavesNothing", removedLeavesNothing},
	{"AgentsOfSimilarIDsAreUntouched", removalLeavesOthers},
	{"WhatARemovedAgentHasSpentStaysCounted", removalKeepsMoney},
	{"AnAgentIsRemovedOnce", removedTwice},
	{"ADreamingAgentIsNotRemoved", dreamingIsNotRemoved},
	{"AnAgentHeldAwakeIsNotRemoved", awakeIsNotRemoved},
	{"NothingIsWrittenForARemovedAgent", removedIsClosed},
	{"ARecreatedAgentIsEmptyAndKeepsItsCounters", removedBeginsAnew},
	{"TheNumbersOfDreamsStayWithTheHandle", removedHandleCounts},
	{"AnArchiveKeepsAnAgentRemoved", removedIsMoved},
}

// RunRemovals tests what a store promises about removed agents.
func RunRemovals(t *testing.T, open func(t *testing.T) Removal) {
	t.Helper()
	for _, c := range removals {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, open(t))
		})
	}
}

const (
	placeSpace   = "test/1/2"
	elsewhere    = "else/2/3"
	removedDream = "dream/echo/0001"
	removedTalk  = "talk: one"
	removedOwner = dream.TalkOrigin + "laptop/anna"
)

// fillAgent writes one of everything that a store keeps for an agent.
func fillAgent(t *testing.T, r Removal, a dream.Agent) {
	t.Helper()
	s := r.One
	ctx := t.Context()
	require.NoError(t, s.PutAgent(ctx, a))
	_, err := s.NextDream(ctx, a.ID)
	require.NoError(t, err)
	f := memory.Fence{Dream: removedDream, Run: "run"}
	_, err = s.TakeSlot(ctx, a.ID, memory.Slot{Fence: f, Workflow: f.Dream, Since: dawn}, memory.Fence{})
	require.NoError(t, err)
	commit := func(w memory.Write) {
		w.Agent = a.ID
		for _, item := range append(append([]dream.Item{}, w.Add...), w.Change...) {
			item.Header().Agent = a.ID
		}
		_, err := s.Commit(ctx, w)
		require.NoError(t, err)
	}
	talk := statement("ep_1", "the harbour lamp is green")
	talk.Origin, talk.Session = removedOwner, "s1"
	foretold := &dream.Prediction{Head: headOf(dream.KindPrediction, "pr_1"), Claim: "the lamp turns red"}
	record := &dream.Record{Head: headOf(dream.KindRecord, removedDream), Outcome: dream.Completed}
	record.Dream = removedDream
	commit(memory.Write{
		Fence: f, Cause: f.Dream, Add: []dream.Item{talk, fact("se_1", "lamps are green"), foretold, record},
		Vectors: []memory.Vector{vectorOf("ep_1", 1, 0)},
		Affect:  &dream.Affect{PAD: mood.PAD{Pleasure: .5}, Since: dawn, Cause: f.Dream},
		Events:  []event.Event{event.New("ev_1", a.ID, f.Dream, dawn, event.PatternFound{})},
		OnWake:  &memory.OnWake{Digest: []string{"jo_1"}},
	})
	changed := fact("se_1", "lamps are red")
	commit(memory.Write{Fence: f, Cause: f.Dream, Change: []dream.Item{changed}})
	faded := statement("ep_2", "gone already")
	faded.State = dream.Archived
	commit(memory.Write{Cause: "import", Add: []dream.Item{faded}})
	require.NoError(t, s.Collect(ctx, a.ID, []memory.Vector{{Item: "ep_1", Space: elsewhere, V: []float32{1, 0, 0}}}))
	_, err = s.PutNote(ctx, a.ID, f, "note", []byte("a note"))
	require.NoError(t, err)
	require.NoError(t, memory.NoteUse(ctx, s, a.ID, dawn, "ep_1"))
	require.NoError(t, s.PutBackground(ctx, a.ID, removedTalk, memory.Background{Text: "[Background]", At: dawn}))
	require.NoError(t, s.FreeSlot(ctx, a.ID, f))
	_, err = s.Arrive(ctx, visitTo(a, dawn))
	require.NoError(t, err)
	spendSome(t, r, a)
	for _, each := range []RemovalStore{r.One, r.Other} { // both have an index in memory now
		require.NotEmpty(t, foundBy(t, each, a.ID))
	}
}

func visitTo(a dream.Agent, at time.Time) presence.Visit {
	return presence.Visit{
		Agent:  a.ID,
		Handle: a.Handle,
		Client: "laptop",
		Cause:  presence.Connect,
		Now:    at,
		For:    time.Minute,
		Lock:   time.Minute,
	}
}

// spendSome buys one answer for a dream and one for a request while awake.
func spendSome(t *testing.T, r Removal, a dream.Agent) {
	t.Helper()
	for _, d := range []string{removedDream, ""} {
		step := a.ID + "/step " + d
		hold, err := r.Ledger.Reserve(t.Context(), spend.Ask{
			Step:     step,
			Agent:    a.ID,
			Dream:    d,
			Day:      "2026-03-01",
			Amount:   10,
			At:       dawn,
			Accounts: []budget.Account{{Scope: "day:" + a.ID + "/2026-03-01", Limit: 1000}},
		})
		require.NoError(t, err)
		bill := spend.Bill{State: spend.Settled, Amount: 7, Answer: []byte("lamps"), At: dawn}
		require.NoError(t, r.Ledger.Settle(t.Context(), hold, bill))
	}
	require.NoError(t, r.Ledger.Allow(t.Context(), a.ID, "2026-03-01", "dream/"+a.Handle+"/0001", 5, 1000))
}

func foundBy(t *testing.T, s RemovalStore, agent string) []string {
	t.Helper()
	found, err := s.Search(t.Context(), memory.Search{Agent: agent, Text: "harbour lamp", Limit: 9})
	require.NoError(t, err)
	hits, err := s.Near(t.Context(), memory.Near{Agent: agent, Space: placeSpace, V: []float32{1, 0}, Limit: 9})
	require.NoError(t, err)
	var names []string
	for _, h := range found.Hits {
		names = append(names, h.Item)
	}
	for _, h := range hits {
		names = append(names, h.Item)
	}
	return names
}

func agentCalled(id, handle string) dream.Agent {
	return dream.Agent{
		ID:      id,
		Handle:  handle,
		Zone:    "UTC",
		Tier:    dream.Hardened,
		Created: dawn,
	}
}

func headOf(kind dream.Kind, id string) dream.Head {
	return dream.Head{
		ID:    id,
		Agent: echo,
		Kind:  kind,
		At:    dawn,
		State: dream.Live,
		Taint: dream.FromHuman,
	}
}

func statement(id, content string) *dream.Episode {
	return &dream.Episode{Head: headOf(dream.KindEpisode, id), Content: content, Salience: .5}
}

func fact(id, content string) *dream.Semantic {
	return &dream.Semantic{
		Head: headOf(dream.KindSemantic, id), Content: content, Strength: .5,
		Due: dawn.AddDate(0, 1, 0),
	}
}

func vectorOf(id string, v ...float32) memory.Vector {
	return memory.Vector{Item: id, Space: placeSpace, V: v}
}

func commitTo(t *testing.T, s memory.Store, w memory.Write) memory.Receipt {
	t.Helper()
	w.Agent = echo
	receipt, err := s.Commit(t.Context(), w)
	require.NoError(t, err)
	return receipt
}

func allOf(t *testing.T, s memory.Store) []dream.Item {
	t.Helper()
	items, err := s.Find(t.Context(), memory.Query{Agent: echo, States: dream.States})
	require.NoError(t, err)
	return items
}

func archived(t *testing.T, s memory.Movable) string {
	t.Helper()
	var b bytes.Buffer
	_, err := archive.Write(&b, s.Export(t.Context()))
	require.NoError(t, err)
	return b.String()
}

// hourLater is a time when no lease is left.
var hourLater = dawn.Add(time.Hour)

func drop(t *testing.T, s memory.Store, agent string) memory.RemovalResult {
	t.Helper()
	dropped, err := s.DropAgent(t.Context(), agent, hourLater)
	require.NoError(t, err)
	require.Empty(t, dropped.Traces)
	return dropped
}

var removable = agentCalled(echo, "echo")

func removedLeavesNothing(t *testing.T, r Removal) {
	fillAgent(t, r, removable)
	dropped := drop(t, r.One, echo)
	_, err := r.Other.Agent(t.Context(), echo)
	require.ErrorIs(t, err, memory.ErrRemoved)
	require.Equal(t, memory.RemovalResult{Events: 1, Items: dream.KindCounts{
		dream.KindEpisode: 2, dream.KindSemantic: 1, dream.KindPrediction: 1, dream.KindRecord: 1,
	}}, dropped)
	require.Equal(t, 5, dropped.Sum())
	for _, s := range []RemovalStore{r.One, r.Other} {
		holdsNothing(t, s)
	}
	for _, step := range []string{echo + "/step " + removedDream, echo + "/step "} {
		_, found, err := r.Ledger.Answer(t.Context(), step)
		require.NoError(t, err)
		require.False(t, found, step)
	}
	for record, err := range r.One.Export(t.Context()) {
		require.NoError(t, err)
		kept := record.Counters != nil || record.Attempt != nil || record.Account != nil || record.Allowance != nil
		require.True(t, kept, "%+v", record)
		if l := record.Counters; l != nil && l.Agent == "echo" { // the handle keeps its counters
			require.Equal(t, memory.KeptCounters{Agent: "echo", Dreams: 1}, *l)
		} else if l != nil {
			want := memory.KeptCounters{
				Agent:         echo,
				Seq:           1,
				Dreams:        1,
				Scrubs:        l.Scrubs,
				Epoch:         1,
				RecordedEpoch: 1,
				Removed:       true,
			}
			require.Equal(t, want, *l)
		}
	}
}

// holdsNothing reads with every method of a store.
func holdsNothing(t *testing.T, s RemovalStore) {
	t.Helper()
	ctx := t.Context()
	for _, name := range []string{echo, "echo"} {
		_, err := s.Agent(ctx, name)
		require.ErrorIs(t, err, memory.ErrNotFound)
	}
	agents, err := s.Agents(ctx)
	require.NoError(t, err)
	require.Empty(t, agents)
	items, err := s.Get(ctx, echo, "ep_1", "ep_2", "se_1", "pr_1", removedDream)
	require.NoError(t, err)
	require.Empty(t, items)
	for _, q := range []memory.Query{
		{},
		{Kinds: []dream.Kind{dream.KindPrediction}},
		{Dream: removedDream},
		{Session: "s1"},
		{Owners: []string{removedOwner}},
		{Sort: memory.MostSalient},
		{Sort: memory.HighestScore},
		{Sort: memory.SoonestDue},
	} {
		q.Agent, q.States = echo, dream.States
		found, err := s.Find(ctx, q)
		require.NoError(t, err)
		require.Empty(t, found)
		n, err := s.Count(ctx, q)
		require.NoError(t, err)
		require.Zero(t, n)
	}
	owners, err := s.Owners(ctx, echo)
	require.NoError(t, err)
	require.Empty(t, owners)
	_, err = s.Revisions(ctx, echo, "se_1")
	require.ErrorIs(t, err, memory.ErrNotFound)
	require.Empty(t, foundBy(t, s, echo))
	for _, in := range []string{placeSpace, elsewhere} {
		vectors, err := s.Vectors(ctx, echo, in, "ep_1")
		require.NoError(t, err)
		require.Empty(t, vectors)
		bare, err := s.WithoutVector(ctx, echo, in, nil, 0)
		require.NoError(t, err)
		require.Empty(t, bare)
	}
	own, err := s.Space(ctx, echo)
	require.NoError(t, err)
	require.Empty(t, own)
	spaces, err := s.Spaces(ctx, echo)
	require.NoError(t, err)
	require.Empty(t, spaces)
	affect, err := s.Affect(ctx, echo)
	require.NoError(t, err)
	require.Equal(t, dream.Affect{Cause: "new"}, affect)
	slots, err := s.Slots(ctx)
	require.NoError(t, err)
	require.Empty(t, slots)
	_, err = s.Note(ctx, echo, removedDream, "note")
	require.ErrorIs(t, err, memory.ErrNotFound)
	uses, err := memory.Uses(ctx, s, echo)
	require.NoError(t, err)
	require.Empty(t, uses)
	backgrounds, err := s.Backgrounds(ctx, echo, removedTalk)
	require.NoError(t, err)
	require.Empty(t, backgrounds)
	status, err := s.Status(ctx, echo, dawn)
	require.NoError(t, err)
	require.Equal(t, presence.Status{Epoch: 1, Recorded: 1}, status)
	untold, err := s.Unrecorded(ctx)
	require.NoError(t, err)
	require.Empty(t, untold)
	events, err := s.Events(ctx, echo, 0, 99)
	require.NoError(t, err)
	require.Empty(t, events)
	heads, err := s.Heads(ctx)
	require.NoError(t, err)
	require.Empty(t, heads)
}

func removalLeavesOthers(t *testing.T, r Removal) {
	fillAgent(t, r, removable)
	others := []dream.Agent{
		agentCalled(echo+":items", "echo-2"), agentCalled(echo+"%3Aitems", "echo3"), agentCalled("agent-ech", "ech"),
		agentCalled(echo+"o", "echoo"), agentCalled("echo*", "e"),
	}
	for _, a := range others {
		fillAgent(t, r, a)
	}
	before := exported(t, r, echo)
	drop(t, r.One, echo)
	require.Equal(t, before, exported(t, r, echo))
	for _, a := range others {
		for _, s := range []RemovalStore{r.One, r.Other} {
			require.NotEmpty(t, foundBy(t, s, a.ID))
			got, err := s.Backgrounds(t.Context(), a.ID, removedTalk)
			require.NoError(t, err)
			require.Len(t, got, 1)
		}
	}
	all, err := r.Other.Agents(t.Context())
	require.NoError(t, err)
	require.Len(t, all, len(others))
}

// exported returns the records of all agents but one, without the ledger.
func exported(t *testing.T, r Removal, but string) []string {
	t.Helper()
	var records []string
	for record, err := range r.One.Export(t.Context()) {
		require.NoError(t, err)
		switch {
		case record.Agent != nil && record.Agent.ID == but,
			record.Counters != nil && (record.Counters.Agent == but || record.Counters.Agent == "echo"),
			record.Lease != nil && record.Lease.Agent == but, record.Affect != nil && record.Affect.Agent == but,
			record.Item != nil && record.Item.Agent == but, record.Event != nil && record.Event.Agent == but,
			record.Note != nil && record.Note.Agent == but, record.Answer != nil:
		default:
			body, err := json.Marshal(record)
			require.NoError(t, err)
			records = append(records, string(body))
		}
	}
	require.NotEmpty(t, records)
	return records
}

func removalKeepsMoney(t *testing.T, r Removal) {
	fillAgent(t, r, removable)
	drop(t, r.One, echo)
	rows, err := r.Ledger.Rows(t.Context(), spend.Query{Agent: echo})
	require.NoError(t, err)
	require.Len(t, rows, 2)
	balance, err := r.Ledger.Balance(t.Context(), "day:"+echo+"/2026-03-01")
	require.NoError(t, err)
	require.Equal(t, spend.Balance{Spent: 14}, balance)
	allowed, err := r.Ledger.Allowance(t.Context(), echo, "2026-03-01")
	require.NoError(t, err)
	require.EqualValues(t, 5, allowed)
	require.NoError(t, r.Other.PutAgent(t.Context(), removable))
	_, err = r.Ledger.Reserve(t.Context(), spend.Ask{
		Step:     "later",
		Agent:    echo,
		Day:      "2026-03-01",
		Amount:   10,
		At:       dawn,
		Accounts: []budget.Account{{Scope: "day:" + echo + "/2026-03-01", Limit: 20}},
	})
	over, ok := spend.AsOverCap(err)
	require.True(t, ok, err)
	require.EqualValues(t, 14, over.Counted)
}

func removedTwice(t *testing.T, r Removal) {
	_, err := r.One.DropAgent(t.Context(), echo, hourLater)
	require.ErrorIs(t, err, memory.ErrNotFound, "an agent that never existed")
	fillAgent(t, r, removable)
	drop(t, r.One, echo)
	for _, s := range []RemovalStore{r.One, r.Other} {
		_, err := s.DropAgent(t.Context(), echo, hourLater)
		require.ErrorIs(t, err, memory.ErrNotFound)
	}
	_, err = r.One.DropAgent(t.Context(), "", hourLater)
	require.Error(t, err)
}

func dreamingIsNotRemoved(t *testing.T, r Removal) {
	fillAgent(t, r, removable)
	f := memory.Fence{Dream: "dream/echo/0002", Run: "run"}
	_, err := r.One.TakeSlot(t.Context(), echo, memory.Slot{Fence: f, Workflow: f.Dream, Since: hourLater},
		memory.Fence{})
	require.NoError(t, err)
	before := exported(t, r, "nobody")
	_, err = r.Other.DropAgent(t.Context(), echo, hourLater)
	require.ErrorIs(t, err, memory.ErrTaken)
	require.ErrorContains(t, err, f.Dream)
	require.Equal(t, before, exported(t, r, "nobody"))
	require.NoError(t, r.One.FreeSlot(t.Context(), echo, f))
	drop(t, r.Other, echo)
}

func awakeIsNotRemoved(t *testing.T, r Removal) {
	fillAgent(t, r, removable)
	before := exported(t, r, "nobody")
	_, err := r.Other.DropAgent(t.Context(), echo, dawn.Add(time.Second))
	require.ErrorIs(t, err, memory.ErrAwake)
	require.ErrorContains(t, err, "laptop")
	require.Equal(t, before, exported(t, r, "nobody"))
	_, err = r.One.Depart(t.Context(), echo, "laptop", dawn.Add(time.Second), time.Hour)
	require.NoError(t, err)
	_, err = r.Other.DropAgent(t.Context(), echo, dawn.Add(time.Second))
	require.NoError(t, err, "a wake lock alone does not prevent a removal")
}

func removedIsClosed(t *testing.T, r Removal) {
	fillAgent(t, r, removable)
	drop(t, r.One, echo)
	ctx := t.Context()
	for _, s := range []RemovalStore{r.One, r.Other} {
		for name, write := range map[string]func() error{
			"Commit": func() error {
				_, err := s.Commit(ctx,
					memory.Write{Agent: echo, Cause: "import", Add: []dream.Item{statement("late", "late")}})
				return err
			},
			"fenced Commit": func() error {
				f := memory.Fence{Dream: removedDream, Run: "run"}
				_, err := s.Commit(ctx,
					memory.Write{Agent: echo, Fence: f, Late: true, Add: []dream.Item{statement("late", "late")}})
				return err
			},
			"Collect": func() error {
				return s.Collect(ctx, echo, []memory.Vector{{Item: "ep_1", Space: elsewhere, V: []float32{1}}})
			},
			"Move":      func() error { _, err := s.Move(ctx, echo, elsewhere); return err },
			"NextDream": func() error { _, err := s.NextDream(ctx, echo); return err },
			"TakeSlot": func() error {
				f := memory.Fence{Dream: "d", Run: "r"}
				_, err := s.TakeSlot(ctx, echo, memory.Slot{Fence: f, Since: hourLater}, memory.Fence{})
				return err
			},
			"PutNote": func() error { _, err := s.PutNote(ctx, echo, memory.Fence{}, "k", []byte("v")); return err },
			"PutBackground": func() error {
				return s.PutBackground(ctx, echo, removedTalk, memory.Background{Text: "[Background]", At: dawn})
			},
			"Undo": func() error { _, err := s.Undo(ctx, echo, removedDream); return err },
		} {
			require.ErrorIs(t, write(), memory.ErrRemoved, name)
			require.ErrorIs(t, write(), memory.ErrNotFound, name)
		}
		for _, handle := range []string{"echo", ""} {
			visit := visitTo(removable, hourLater)
			visit.Handle = handle
			_, err := s.Arrive(ctx, visit)
			require.ErrorIs(t, err, memory.ErrNotFound, "Arrive")
		}
		holdsNothing(t, s)
	}
}

func removedBeginsAnew(t *testing.T, r Removal) {
	fillAgent(t, r, removable)
	times, err := r.Other.Forgettings(t.Context(), echo)
	require.NoError(t, err)
	drop(t, r.One, echo)
	more, err := r.Other.Forgettings(t.Context(), echo)
	require.NoError(t, err)
	require.Greater(t, more, times, "caches start over")
	require.NoError(t, r.Other.PutAgent(t.Context(), removable))
	found := allOf(t, r.One)
	require.Empty(t, found)
	number, err := r.One.NextDream(t.Context(), echo)
	require.NoError(t, err)
	require.EqualValues(t, 2, number)
	receipt := commitTo(t, r.One, memory.Write{
		Cause: "import", Add: []dream.Item{statement("ep_1", "another harbour")},
		Vectors: []memory.Vector{vectorOf("ep_1", 0, 1)},
		Events:  []event.Event{event.New("ev_1", echo, "", dawn, event.PatternFound{})},
	})
	require.Equal(t, memory.Receipt{Added: 1, LastSeq: 2}, receipt)
	for _, s := range []RemovalStore{r.One, r.Other} {
		require.Equal(t, []string{"ep_1", "ep_1"}, foundBy(t, s, echo))
		owners, err := s.Owners(t.Context(), echo)
		require.NoError(t, err)
		require.Empty(t, owners)
	}
	arrival, err := r.Other.Arrive(t.Context(), visitTo(removable, hourLater))
	require.NoError(t, err)
	require.True(t, arrival.Raised)
	require.EqualValues(t, 2, arrival.Epoch)
	require.Empty(t, arrival.Digest)
	require.Equal(t, mood.PAD{}, arrival.Affect)
}

func removedHandleCounts(t *testing.T, r Removal) {
	named := agentCalled("a1", "echo")
	require.NoError(t, r.One.PutAgent(t.Context(), named))
	for range 3 {
		_, err := r.One.NextDream(t.Context(), "a1")
		require.NoError(t, err)
	}
	drop(t, r.One, "a1")
	require.NoError(t, r.One.PutAgent(t.Context(), agentCalled("echo", "echo")))
	number, err := r.One.NextDream(t.Context(), "echo")
	require.NoError(t, err)
	require.EqualValues(t, 4, number, "dream/echo/0001 is in the ledger")
}

func removedIsMoved(t *testing.T, r Removal) {
	fillAgent(t, r, removable)
	drop(t, r.One, echo)
	before := archived(t, r.One)
	_, err := r.Empty.Import(t.Context(), r.One.Export(t.Context()))
	require.NoError(t, err)
	require.Equal(t, before, archived(t, r.Empty))
	_, err = r.Empty.NextDream(t.Context(), echo)
	require.ErrorIs(t, err, memory.ErrRemoved)
	require.NoError(t, r.Empty.PutAgent(t.Context(), removable))
	number, err := r.Empty.NextDream(t.Context(), echo)
	require.NoError(t, err)
	require.EqualValues(t, 2, number)
}
