package memorytest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

var owners = []clause[memory.Store]{
	{"OwnersCountsTheLiveItemsOfEach", ownersCounted},
	{"LiveItemsAreCountedByOwner", countedByOwner},
}

// ownersCounted adds, reassigns, archives, restores, undoes and forgets items of several owners at random. The counts
// must always agree with the items.
func ownersCounted(t *testing.T, s memory.Store) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	dice := rand.New(rand.NewPCG(seed, 3))
	origins := []string{
		dream.TalkOrigin + "laptop/anna", dream.TalkOrigin + "laptop/ben",
		dream.TalkOrigin + "phone/", "diary.md",
	}
	throw := func(id string) dream.Item {
		e := episode(id, fmt.Sprint("said ", dice.IntN(5)))
		e.Origin = origins[dice.IntN(len(origins))]
		e.State = []dream.State{dream.Live, dream.Live, dream.Archived, dream.Superseded}[dice.IntN(4)]
		return e
	}
	var existing []string
	for step := range 60 {
		cause := fmt.Sprint("night-", dice.IntN(8))
		w := memory.Write{Cause: cause}
		for range dice.IntN(4) {
			id := fmt.Sprint("e", len(existing))
			existing = append(existing, id)
			w.Add = append(w.Add, throw(id))
		}
		for range min(len(existing), dice.IntN(4)) {
			w.Change = append(w.Change, throw(existing[dice.IntN(len(existing))]))
		}
		_, err := s.Commit(t.Context(), memory.Write{Agent: echo, Cause: w.Cause, Add: w.Add})
		require.NoError(t, err)
		for _, item := range w.Change { // items that were forgotten meanwhile cannot be changed
			if _, err := s.Commit(t.Context(),
				memory.Write{Agent: echo, Cause: cause, Change: []dream.Item{item}}); err != nil {
				require.ErrorIs(t, err, memory.ErrNotFound)
			}
		}
		switch dice.IntN(6) {
		case 0:
			undo(t, s, cause)
		case 1:
			if len(existing) > 0 {
				forget(t, s, existing[dice.IntN(len(existing))])
			}
		}
		want := map[string]int{}
		for _, item := range find(t, s, memory.Query{}) {
			if owner := item.Marks().Owner; owner != "" {
				want[owner]++
			}
		}
		counts, err := s.Owners(t.Context(), echo)
		require.NoError(t, err)
		require.Equal(t, want, counts, "seed %d, step %d", seed, step)
	}
	forget(t, s, existing...)
	counts, err := s.Owners(t.Context(), echo)
	require.NoError(t, err)
	require.Empty(t, counts)
}
