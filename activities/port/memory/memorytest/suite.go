// Package memorytest tests that a memory.Store keeps the contract of the port. Every store runs this suite.
package memorytest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// clause is one property of a store that is tested.
type clause[S any] struct {
	name string
	run  func(*testing.T, S)
}

// RunDreams tests a store that workers and the starter may use, against the whole contract of memory.DreamStore. open
// returns a new, empty store for each test and closes it at its end.
func RunDreams(t *testing.T, open func(t *testing.T) memory.DreamStore) {
	t.Helper()
	for _, part := range [][]clause[memory.DreamStore]{
		agents, commits, revisings, queries, neighbours, searches, affects, stretches,
		undoings, uses, proposals,
	} {
		run(t, part, open)
	}
}

// Run tests a store against the whole contract of memory.Store, which includes RunDreams.
func Run(t *testing.T, open func(t *testing.T) memory.Store) {
	t.Helper()
	RunDreams(t, func(t *testing.T) memory.DreamStore { return open(t) })
	for _, part := range [][]clause[memory.Store]{forgettings, readings, movings, owners} {
		run(t, part, open)
	}
}

func run[S any](t *testing.T, clauses []clause[S], open func(t *testing.T) S) {
	t.Helper()
	for _, c := range clauses {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, open(t))
		})
	}
}

// RunFeeds tests the feeds of a store that keeps them beside memory.
func RunFeeds(t *testing.T, open func(t *testing.T) FeedStore) {
	t.Helper()
	for _, c := range feeds {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, open(t))
		})
	}
}

// RunShared tests two handles on one deployment, as two processes have them.
func RunShared(t *testing.T, open func(t *testing.T) (one, other memory.Store)) {
	t.Helper()
	for _, c := range sharings {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			one, other := open(t)
			c.run(t, one, other)
		})
	}
}

const echo = "agent-echo"

// dawn is the start time of all tests.
var dawn = time.Date(2026, 3, 1, 6, 0, 0, 0, time.UTC)

func head(kind dream.Kind, id string) dream.Head {
	return dream.Head{
		ID:    id,
		Agent: echo,
		Kind:  kind,
		At:    dawn,
		State: dream.Live,
		Taint: dream.FromHuman,
	}
}

func episode(id, content string) *dream.Episode {
	return &dream.Episode{Head: head(dream.KindEpisode, id), Content: content, Salience: .5}
}

func semantic(id, content string) *dream.Semantic {
	return &dream.Semantic{
		Head: head(dream.KindSemantic, id), Content: content, Strength: .5,
		Due: dawn.AddDate(0, 1, 0),
	}
}

func hypothesis(id, claim string, confidence float64) *dream.Hypothesis {
	return &dream.Hypothesis{
		Head: head(dream.KindHypothesis, id), Claim: claim, Confidence: confidence,
		Status: dream.HypothesisStaged,
	}
}

func commit(t *testing.T, s memory.DreamStore, w memory.Write) memory.Receipt {
	t.Helper()
	if w.Agent == "" {
		w.Agent = echo
	}
	r, err := s.Commit(t.Context(), w)
	require.NoError(t, err)
	return r
}

func add(t *testing.T, s memory.DreamStore, items ...dream.Item) {
	t.Helper()
	r := commit(t, s, memory.Write{Cause: "import", Add: items})
	require.Equal(t, len(items), r.Added)
}

func find(t *testing.T, s memory.DreamStore, q memory.Query) []dream.Item {
	t.Helper()
	q.Agent = echo
	items, err := s.Find(t.Context(), q)
	require.NoError(t, err)
	return withoutRevisions(t, items)
}

func get(t *testing.T, s memory.DreamStore, ids ...string) []dream.Item {
	t.Helper()
	items, err := s.Get(t.Context(), echo, ids...)
	require.NoError(t, err)
	return withoutRevisions(t, items)
}

// withoutRevisions checks that every item has a revision number and clears it, so that items compare equal to those
// written.
func withoutRevisions(t *testing.T, items []dream.Item) []dream.Item {
	t.Helper()
	for _, item := range items {
		require.Positive(t, item.Header().Revision, item.Header().ID)
		item.Header().Revision = 0
	}
	return items
}

func stateOf(t *testing.T, s memory.DreamStore, id string) dream.State {
	t.Helper()
	items := get(t, s, id)
	require.Len(t, items, 1, id)
	return items[0].Header().State
}

func ids(items []dream.Item) []string {
	out := make([]string, 0, len(items))
	for _, item := range items {
		out = append(out, item.Header().ID)
	}
	return out
}

// sleep takes the agent's slot for a dream and returns its fence.
func sleep(t *testing.T, s memory.DreamStore, dreamID string) memory.Fence {
	t.Helper()
	f := memory.Fence{Dream: dreamID, Run: "run-" + dreamID}
	_, err := s.TakeSlot(t.Context(), echo, memory.Slot{Fence: f, Workflow: "dream/" + dreamID, Since: dawn},
		memory.Fence{})
	require.NoError(t, err)
	return f
}

func wakeUp(t *testing.T, s memory.DreamStore, f memory.Fence) {
	t.Helper()
	require.NoError(t, s.FreeSlot(t.Context(), echo, f))
}

// together runs do n times concurrently and waits for all of them.
func together(t *testing.T, n int, do func(ctx context.Context, i int) error) {
	t.Helper()
	faults := make(chan error, n)
	for i := range n {
		go func() { faults <- do(t.Context(), i) }()
	}
	for range n {
		require.NoError(t, <-faults)
	}
}
