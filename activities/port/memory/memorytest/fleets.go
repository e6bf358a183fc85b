package memorytest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// FleetStore is a store that describes many agents at once, and that can be moved.
type FleetStore interface {
	memory.Store
	memory.Movable
	memory.Fleet
}

// RunFleet tests a store against the contract of memory.Fleet. open returns a new, empty store.
func RunFleet(t *testing.T, open func(t *testing.T) FleetStore) {
	t.Helper()
	for _, c := range []struct {
		name string
		run  func(*testing.T, func(t *testing.T) FleetStore)
	}{
		{"AnOverviewIsWhatAFullScanFinds", overviewIsAScan},
		{"AnAgentThatIsUnknownHasDoneNothing", unknownOverview},
		{"AnAgentThatHoldsItsSlotDreams", overviewTellsSlots},
		{"DreamsOfOneMomentArePagedInOneOrder", sameMomentIsPaged},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, open)
		})
	}
}

func unknownOverview(t *testing.T, open func(t *testing.T) FleetStore) {
	s := open(t)
	got, err := s.Overview(t.Context(), []string{"nobody"}, everything)
	require.NoError(t, err)
	require.Equal(t, []memory.Overview{{Agent: "nobody"}}, emptied(got))
	got, err = s.Overview(t.Context(), nil, everything)
	require.NoError(t, err)
	require.Empty(t, got)
	for _, agents := range [][]string{nil, {"nobody"}} {
		found, err := s.Dreams(t.Context(), memory.DreamsQuery{Agents: agents, Limit: 5})
		require.NoError(t, err)
		require.Empty(t, found)
	}
}

func overviewTellsSlots(t *testing.T, open func(t *testing.T) FleetStore) {
	s := open(t)
	f := sleep(t, s, "dream/echo/0001")
	got, err := s.Overview(t.Context(), []string{"other", echo}, memory.OverviewQuery{})
	require.NoError(t, err)
	require.Equal(t, []bool{false, true}, []bool{got[0].Dreaming, got[1].Dreaming})
	wakeUp(t, s, f)
	got, err = s.Overview(t.Context(), []string{echo}, memory.OverviewQuery{})
	require.NoError(t, err)
	require.False(t, got[0].Dreaming)
}

// sameMomentIsPaged pages through dreams of which many began at the same moment, in the order of their themes reversed.
func sameMomentIsPaged(t *testing.T, open func(t *testing.T) FleetStore) {
	s := open(t)
	agents := []string{"c", "a", "b"}
	var want []string
	for _, agent := range agents {
		for n := range 9 {
			r := recordAt(agent, n, dawn.Add(time.Duration(n/3)*time.Hour))
			r.Theme = fmt.Sprint("theme ", 9-n)
			commit(t, s, memory.Write{Agent: agent, Cause: "import", Add: []dream.Item{r}})
			want = append(want, fmt.Sprintf("%d %s", 2-n/3, r.ID))
		}
	}
	slices.Sort(want)
	for limit := 1; limit < 30; limit += 4 {
		var got []string
		for _, r := range allDreams(t, s, memory.DreamsQuery{Agents: agents, Limit: limit}) {
			got = append(got, fmt.Sprintf("%d %s", 2-int(r.At.Sub(dawn)/time.Hour), r.ID))
		}
		require.Equal(t, want, got, "pages of %d", limit)
	}
}

func recordAt(agent string, n int, at time.Time) *dream.Record {
	r := &dream.Record{Head: head(dream.KindRecord, fmt.Sprintf("dream/%s/%04d", agent, n)), Outcome: dream.Completed}
	r.Agent, r.At = agent, at
	return r
}

// allDreams lists dreams page by page.
func allDreams(t *testing.T, s FleetStore, q memory.DreamsQuery) (all []*dream.Record) {
	t.Helper()
	for {
		page, err := s.Dreams(t.Context(), q)
		require.NoError(t, err)
		require.LessOrEqual(t, len(page), q.Limit)
		all = append(all, page...)
		if len(page) < q.Limit {
			return all
		}
		q.After = memory.PlaceOf(page[len(page)-1])
	}
}

// fleetDue is the time before which predictions of fleets are due.
var fleetDue = dawn.Add(20 * time.Hour)

var everything = memory.OverviewQuery{
	Episodes:  true,
	Dreams:    3,
	States:    []dream.State{dream.Live, dream.Archived},
	DueBefore: fleetDue,
	Waits:     true,
}

// overviewIsAScan compares the indexes with a full scan after random writes, undos, erasures and removals, and once
// more after a move to another store.
func overviewIsAScan(t *testing.T, open func(t *testing.T) FleetStore) {
	for seed := range uint64(4) {
		f := &fleetHistory{T: t, r: rand.New(rand.NewPCG(seed, 7)), s: open(t), agents: []string{"ada", "b:o%b", "cy"}}
		for _, a := range f.agents {
			f.put(a)
		}
		for range 60 {
			f.step()
		}
		f.compare()
		other := open(t)
		_, err := other.Import(t.Context(), f.s.Export(t.Context()))
		require.NoError(t, err)
		f.s = other
		f.compare()
		f.step()
		f.compare()
	}
}

// fleetHistory is a random history of several agents.
type fleetHistory struct {
	*testing.T
	r      *rand.Rand
	s      FleetStore
	agents []string
	n      int
}

func (f *fleetHistory) put(agent string) {
	require.NoError(f, f.s.PutAgent(f.Context(), dream.Agent{ID: agent, Handle: agent, Zone: "UTC", Created: dawn}))
}

// step makes one random change.
func (f *fleetHistory) step() {
	agent := f.agents[f.r.IntN(len(f.agents))]
	items := f.items(agent)
	switch choice := f.r.IntN(20); {
	case choice < 9 || len(items) == 0:
		f.dream(agent, f.added(agent), nil)
	case choice < 15:
		changed := items[f.r.IntN(len(items))]
		f.change(changed)
		f.dream(agent, nil, []dream.Item{changed})
	case choice < 17:
		_, err := f.s.Undo(f.Context(), agent, items[f.r.IntN(len(items))].Header().Dream)
		require.NoError(f, err)
	case choice < 19:
		erased := memory.Erasure{IDs: []string{items[f.r.IntN(len(items))].Header().ID}}
		_, err := f.s.Erase(f.Context(), agent, erased)
		require.NoError(f, err)
	default:
		_, err := f.s.DropAgent(f.Context(), agent, dawn)
		require.NoError(f, err)
		f.compare()
		f.put(agent)
	}
}

// dream writes as a new dream of the agent.
func (f *fleetHistory) dream(agent string, add, change []dream.Item) {
	f.n++
	id := fmt.Sprintf("dream/%s/%04d", agent, f.n)
	for _, item := range add {
		item.Header().Dream = id
	}
	fence := memory.Fence{Dream: id, Run: "run"}
	_, err := f.s.TakeSlot(f.Context(), agent, memory.Slot{Fence: fence, Since: dawn}, memory.Fence{})
	require.NoError(f, err)
	_, err = f.s.Commit(f.Context(), memory.Write{Agent: agent, Fence: fence, Add: add, Change: change})
	require.NoError(f, err)
	require.NoError(f, f.s.FreeSlot(f.Context(), agent, fence))
}

// added are new items: a record, an episode, a prediction and something that may wait for a review.
func (f *fleetHistory) added(agent string) []dream.Item {
	f.n++
	at := dawn.Add(time.Duration(f.n) * 7 * time.Minute)
	head := func(kind dream.Kind) dream.Head {
		states := []dream.State{dream.Live, dream.Live, dream.Archived}
		h := head(kind, fmt.Sprintf("%s-%d", kind, f.n))
		h.Agent, h.At, h.State = agent, at, states[f.r.IntN(len(states))]
		return h
	}
	record := &dream.Record{Head: head(dream.KindRecord), Theme: fmt.Sprint("theme ", f.r.IntN(5))}
	f.change(record)
	p := &dream.Prediction{Head: head(dream.KindPrediction), Claim: "it rains", Status: dream.PredictionOpen}
	p.Horizon = dawn.Add(time.Duration(f.n) * time.Hour / 2)
	waiting := &dream.Hypothesis{Head: head(dream.KindHypothesis), Claim: "so", Status: dream.HypothesisStaged}
	if f.r.IntN(4) == 0 {
		waiting.State = dream.Proposed
	}
	return []dream.Item{record, &dream.Episode{Head: head(dream.KindEpisode), Content: "it rained"}, p, waiting}
}

// change changes an item in what indexes tell of it.
func (f *fleetHistory) change(item dream.Item) {
	h := item.Header()
	if f.r.IntN(3) == 0 && h.Revision > 0 {
		h.State = []dream.State{dream.Live, dream.Archived, dream.Superseded}[f.r.IntN(3)]
	}
	switch v := item.(type) {
	case *dream.Record:
		v.Outcome = []dream.Outcome{dream.Completed, dream.Empty, dream.Aborted, dream.Interrupted}[f.r.IntN(4)]
		v.Until = time.Time{}
		if v.Outcome == dream.Interrupted && f.r.IntN(2) == 0 {
			v.Until = dawn
		}
	case *dream.Prediction:
		v.Status = []string{dream.PredictionOpen, dream.PredictionRight}[f.r.IntN(2)]
	}
}

// items are all items of an agent.
func (f *fleetHistory) items(agent string, kinds ...dream.Kind) []dream.Item {
	items, err := f.s.Find(f.Context(), memory.Query{Agent: agent, Kinds: kinds, States: dream.States})
	require.NoError(f, err)
	return items
}

// compare compares the indexes with a scan of all items.
func (f *fleetHistory) compare() {
	f.Helper()
	got, err := f.s.Overview(f.Context(), f.agents, everything)
	require.NoError(f, err)
	var want []memory.Overview
	var records []*dream.Record
	for _, agent := range f.agents {
		items := f.items(agent)
		want = append(want, scanned(agent, items))
		records = append(records, memory.As[*dream.Record](items)...)
	}
	require.Equal(f, emptied(want), emptied(got))
	q := memory.DreamsQuery{
		Agents:   f.agents,
		States:   []dream.State{dream.Live, dream.Archived},
		Statuses: []string{string(dream.Completed), dream.RecordWaits},
		Since:    dawn.Add(time.Hour),
		Until:    dawn.Add(30 * time.Hour),
	}
	records = slices.DeleteFunc(records, func(r *dream.Record) bool {
		return !slices.Contains(q.States, r.State) || !slices.Contains(q.Statuses, r.Marks().Status) ||
			r.At.Before(q.Since) || !r.At.Before(q.Until)
	})
	slices.SortFunc(records, func(a, b *dream.Record) int { return memory.PlaceOf(a).Compare(memory.PlaceOf(b)) })
	for _, q.Limit = range []int{1, 3, 50} {
		require.Equal(f, emptyOr(records), emptyOr(allDreams(f.T, f.s, q)))
	}
}

// scanned is an agent's overview from all its items.
func scanned(agent string, items []dream.Item) memory.Overview {
	o := memory.Overview{Agent: agent}
	var due []*dream.Prediction
	for _, item := range items {
		h := item.Header()
		o.Waits = o.Waits || h.State == dream.Proposed
		switch v := item.(type) {
		case *dream.Episode:
			if h.State == dream.Live {
				o.Episodes++
			}
		case *dream.Prediction:
			if h.State == dream.Live && v.Horizon.Before(fleetDue) {
				due = append(due, v)
			}
		case *dream.Record:
			if slices.Contains(everything.States, h.State) {
				mark := memory.DreamMark{ID: h.ID, At: h.At, Status: v.Marks().Status, State: h.State}
				o.Dreams = append(o.Dreams, mark)
			}
		}
	}
	slices.SortFunc(o.Dreams, func(a, b memory.DreamMark) int { return b.At.Compare(a.At) })
	o.Dreams = o.Dreams[:min(everything.Dreams, len(o.Dreams))]
	slices.SortFunc(due, func(a, b *dream.Prediction) int { return b.Horizon.Compare(a.Horizon) })
	for _, p := range due[:min(memory.LastDue, len(due))] {
		if p.Status == dream.PredictionOpen {
			o.Overdue++
		}
	}
	return o
}

// emptied has nil in place of empty lists.
func emptied(all []memory.Overview) []memory.Overview {
	for i := range all {
		all[i].Dreams = emptyOr(all[i].Dreams)
	}
	return all
}

func emptyOr[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return list
}
