package memorytest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// The owners of two clients' conversations.
const (
	ann = "talk/k1/ann"
	bob = "talk/k1/bob"
)

var queries = []clause[memory.DreamStore]{
	{"TiesBreakByTextAndThenById", tiesBreak},
	{"TimeIsFromSinceUpToUntil", timeIsHalfOpen},
	{"SoonestDueLeavesOutItemsWithoutADueTime", onlyDue},
	{"AnUnknownOrderIsRefused", unknownOrder},
	{"ADreamIsFoundWithItsRecord", foundWithRecord},
	{"EveryQueryAgreesWithAPlainScan", agreesWithScan},
}

func foundWithRecord(t *testing.T, s memory.DreamStore) {
	record := &dream.Record{Head: head(dream.KindRecord, "d1"), Outcome: dream.Completed}
	record.Dream, record.Taint = "d1", dream.FromDream
	add(t, s, record, dreamt("d1", "gist"))
	require.Len(t, find(t, s, memory.Query{Dream: "d1"}), 2)
	found := find(t, s, memory.Query{Dream: "d1", Kinds: []dream.Kind{dream.KindRecord}})
	require.Equal(t, []dream.Item{record}, found)
}

func countedByOwner(t *testing.T, s memory.Store) {
	owners := func() map[string]int {
		t.Helper()
		counts, err := s.Owners(t.Context(), echo)
		require.NoError(t, err)
		return counts
	}
	require.Empty(t, owners())
	var all []dream.Item
	for i := range 1200 { // more than a page
		e := episode(fmt.Sprint("many", i), "x")
		e.Origin = ann
		all = append(all, e)
	}
	answer := episode("said", "x")
	archived := episode("archived", "x")
	own := episode("own", "x")
	read := episode("read", "x")
	answer.Origin, archived.Origin, read.Origin = bob, bob, "diary.md:7"
	archived.State = dream.Archived
	commit(t, s, memory.Write{Add: append(all, answer, archived, own, read)})
	require.Equal(t, map[string]int{ann: 1200, bob: 1}, owners())
	given, err := memory.One[*dream.Episode](t.Context(), s, echo, "many7")
	require.NoError(t, err)
	given.Origin = bob
	commit(t, s, memory.Write{Cause: "own", Change: []dream.Item{given}})
	require.Equal(t, map[string]int{ann: 1199, bob: 2}, owners())
	n, err := s.Count(t.Context(), memory.Query{Agent: echo, Owners: []string{bob}})
	require.NoError(t, err)
	require.Equal(t, 2, n)
	_, err = s.Forget(t.Context(), echo, "said", "many7")
	require.NoError(t, err)
	require.Equal(t, map[string]int{ann: 1199}, owners())
}

func tiesBreak(t *testing.T, s memory.DreamStore) {
	for _, id := range []string{"c", "a", "d", "b"} {
		text := "same"
		if id == "a" {
			text = "tame"
		}
		add(t, s, episode(id, text))
	}
	for _, by := range []memory.SortOrder{"", memory.Newest, memory.Oldest, memory.MostSalient, memory.HighestScore} {
		require.Equal(t, []string{"b", "c", "d", "a"}, ids(find(t, s, memory.Query{Sort: by})), by)
	}
}

func timeIsHalfOpen(t *testing.T, s memory.DreamStore) {
	for i := range 4 {
		e := episode(fmt.Sprint(i), "x")
		e.At = dawn.Add(time.Duration(i) * time.Hour)
		add(t, s, e)
	}
	got := find(t, s, memory.Query{Since: dawn.Add(time.Hour), Until: dawn.Add(3 * time.Hour), Sort: memory.Oldest})
	require.Equal(t, []string{"1", "2"}, ids(got))
}

func onlyDue(t *testing.T, s memory.DreamStore) {
	add(t, s, episode("never", "x"))
	for i, hours := range []int{5, 1, 3} {
		e := semantic(fmt.Sprint(i), "x")
		e.Due = dawn.Add(time.Duration(hours) * time.Hour)
		add(t, s, e)
	}
	lasting := semantic("lasting", "x")
	lasting.Due = time.Time{}
	add(t, s, lasting)
	require.Equal(t, []string{"1", "2", "0"}, ids(find(t, s, memory.Query{Sort: memory.SoonestDue})))
	require.Equal(t, []string{"1"}, ids(find(t, s, memory.Query{DueBefore: dawn.Add(3 * time.Hour)})))
	n, err := s.Count(t.Context(), memory.Query{Agent: echo, Sort: memory.SoonestDue})
	require.NoError(t, err)
	require.Equal(t, 3, n)
}

func unknownOrder(t *testing.T, s memory.DreamStore) {
	_, err := s.Find(t.Context(), memory.Query{Agent: echo, Sort: "loudest"})
	require.ErrorContains(t, err, "loudest")
}

// agreesWithScan runs random queries over random items and compares the results with a filter and sort over all items.
func agreesWithScan(t *testing.T, s memory.DreamStore) {
	r := rand.New(rand.NewPCG(4, 2))
	items := randomCounters(r, 150)
	shuffled := slices.Clone(items)
	r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	add(t, s, shuffled...)
	for range 300 {
		q := randomQuery(r)
		want := scan(items, q)
		n, err := s.Count(t.Context(), q)
		require.NoError(t, err)
		require.Equal(t, len(want), n, "%+v", q)
		if q.Limit > 0 {
			want = want[:min(q.Limit, len(want))]
		}
		require.Equal(t, ids(want), ids(find(t, s, q)), "%+v", q)
	}
}

func randomCounters(r *rand.Rand, n int) []dream.Item {
	var items []dream.Item
	states := []dream.State{dream.Live, dream.Live, dream.Superseded, dream.Archived}
	for i := range n {
		set := func(h *dream.Head) {
			h.At = dawn.Add(time.Duration(r.IntN(6)) * time.Hour)
			h.State = states[r.IntN(len(states))]
			h.Dream = []string{"", "", "echo/0001", "echo/0002"}[r.IntN(4)]
		}
		id, text := fmt.Sprintf("i%03d", r.IntN(1000)*1000+i), fmt.Sprint("text ", r.IntN(4))
		grade := float64(r.IntN(5)) / 4
		switch r.IntN(4) {
		case 0:
			e := episode(id, text)
			e.Salience, e.Session = grade, []string{"", "s1", "s2"}[r.IntN(3)]
			e.Origin = []string{"", "diary.md:4", ann, bob}[r.IntN(4)]
			set(&e.Head)
			items = append(items, e)
		case 1:
			e := semantic(id, text)
			e.Strength, e.Due = grade, dawn.Add(time.Duration(r.IntN(4))*time.Hour)
			set(&e.Head)
			items = append(items, e)
		case 2:
			e := hypothesis(id, text, grade)
			e.Status = []string{dream.HypothesisStaged, dream.HypothesisPromoted}[r.IntN(2)]
			set(&e.Head)
			items = append(items, e)
		default:
			e := &dream.Gist{Head: head(dream.KindGist, id), Content: text}
			set(&e.Head)
			items = append(items, e)
		}
	}
	return items
}

func randomQuery(r *rand.Rand) memory.Query {
	some := func() bool { return r.IntN(3) == 0 }
	q := memory.Query{Agent: echo, Limit: r.IntN(3) * r.IntN(20)}
	q.Sort = []memory.SortOrder{
		"", memory.Newest, memory.Oldest, memory.MostSalient, memory.HighestScore,
		memory.SoonestDue,
	}[r.IntN(6)]
	if some() {
		q.Kinds = [][]dream.Kind{
			{dream.KindEpisode},
			{dream.KindGist, dream.KindSemantic},
			{dream.KindEpisode, dream.KindEpisode},
		}[r.IntN(3)]
	}
	if some() {
		q.States = [][]dream.State{{dream.Archived}, {dream.Live, dream.Superseded}}[r.IntN(2)]
	}
	if some() {
		q.Statuses = [][]string{{dream.HypothesisStaged}, {dream.HypothesisPromoted, "", dream.HypothesisStaged}}[r.IntN(2)]
	}
	if some() {
		q.Owners = [][]string{{""}, {ann}, {"", bob}, {ann, bob, ann}, {"talk/k9/nobody"}}[r.IntN(5)]
	}
	if some() {
		q.Dream = "echo/0001"
	}
	if some() {
		q.Session = "s1"
	}
	if some() {
		q.SalientFrom = .5
	}
	if some() {
		q.ScoreFrom = .5
	}
	if some() {
		q.Since = dawn.Add(time.Hour)
	}
	if some() {
		q.Until = dawn.Add(4 * time.Hour)
	}
	if some() {
		q.DueBefore = dawn.Add(2 * time.Hour)
	}
	return q
}

// scan implements the contract of Query by a plain filter and sort.
func scan(items []dream.Item, q memory.Query) []dream.Item {
	found := []dream.Item{}
	for _, item := range items {
		if fits(item.Header(), item.Marks(), q) {
			found = append(found, item)
		}
	}
	slices.SortFunc(found, func(a, b dream.Item) int { return before(a, b, q.Sort) })
	return found
}

func fits(h *dream.Head, m dream.Marks, q memory.Query) bool {
	states := q.States
	if len(states) == 0 {
		states = []dream.State{dream.Live}
	}
	return slices.Contains(states, h.State) &&
		(len(q.Kinds) == 0 || slices.Contains(q.Kinds, h.Kind)) &&
		(len(q.Statuses) == 0 || slices.Contains(q.Statuses, m.Status)) &&
		(len(q.Owners) == 0 || slices.Contains(q.Owners, m.Owner)) &&
		(q.Dream == "" || q.Dream == h.Dream) &&
		(q.Session == "" || q.Session == m.Session) &&
		m.Salience >= q.SalientFrom && m.Score >= q.ScoreFrom &&
		(q.Since.IsZero() || !h.At.Before(q.Since)) &&
		(q.Until.IsZero() || h.At.Before(q.Until)) &&
		(q.DueBefore.IsZero() || !m.Due.IsZero() && m.Due.Before(q.DueBefore)) &&
		(q.Sort != memory.SoonestDue || !m.Due.IsZero())
}

func before(a, b dream.Item, by memory.SortOrder) int {
	newer := b.Header().At.Compare(a.Header().At)
	last := cmp.Or(cmp.Compare(a.Text(), b.Text()), cmp.Compare(a.Header().ID, b.Header().ID))
	switch by {
	case memory.Oldest:
		return cmp.Or(-newer, last)
	case memory.MostSalient:
		return cmp.Or(cmp.Compare(b.Marks().Salience, a.Marks().Salience), newer, last)
	case memory.HighestScore:
		return cmp.Or(cmp.Compare(b.Marks().Score, a.Marks().Score), newer, last)
	case memory.SoonestDue:
		return cmp.Or(a.Marks().Due.Compare(b.Marks().Due), last)
	case memory.Newest:
	}
	return cmp.Or(newer, last)
}
