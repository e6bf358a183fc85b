package memorytest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

var movings = []clause[memory.Store]{
	{"AnAgentMovesToACollectedSpaceInOneStep", movesInOneStep},
	{"AMoveNeedsAVectorOfEveryLiveItem", moveNeedsAllVectors},
	{"CollectedVectorsFollowTheirItems", collectedFollow},
	{"SpacesAreNeverMixedWhileCollecting", collectingNeverMixes},
	{"AnAgentDoesNotMoveWhileItDreams", noMoveInADream},
	{"MovingToTheOwnSpaceDropsCollectedVectors", moveToOwnSpace},
	{"AnAgentWithoutVectorsMovesToo", movesFromNowhere},
	{"TheFirstVectorAdoptsACollectedSpace", adoptsCollected},
}

// elsewhere is the space that the agents of these tests move to.
const elsewhere = "else/2/3"

func there(id string, v ...float32) memory.Vector {
	return memory.Vector{Item: id, Space: elsewhere, V: v}
}

func collect(t *testing.T, s memory.Store, vectors ...memory.Vector) {
	t.Helper()
	require.NoError(t, s.Collect(t.Context(), echo, vectors))
}

func move(t *testing.T, s memory.Store, to string) int {
	t.Helper()
	missing, err := s.Move(t.Context(), echo, to)
	require.NoError(t, err)
	return missing
}

func nearThere(t *testing.T, s memory.Store, v ...float32) []string {
	t.Helper()
	hits, err := s.Near(t.Context(), memory.Near{Agent: echo, Space: elsewhere, V: v, Limit: 99})
	require.NoError(t, err)
	found := []string{}
	for _, hit := range hits {
		found = append(found, hit.Item)
	}
	return found
}

func bareIn(t *testing.T, s memory.Store, space string) []string {
	t.Helper()
	items, err := s.WithoutVector(t.Context(), echo, space, nil, 0)
	require.NoError(t, err)
	return ids(withoutRevisions(t, items))
}

// placed adds semantic entries a, b, c, … with vectors in the suite's own space.
func placed(t *testing.T, s memory.Store, n int) {
	t.Helper()
	for i := range n {
		id := string(rune('a' + i))
		add(t, s, semantic(id, "text of "+id))
		commit(t, s, memory.Write{Cause: "import", Vectors: []memory.Vector{vector(id, 1, float32(i))}})
	}
}

func movesInOneStep(t *testing.T, s memory.Store) {
	placed(t, s, 3)
	require.Equal(t, []string{"a", "b", "c"}, near(t, s, []float32{1, 0}, 9))
	require.Equal(t, []string{"a", "b", "c"}, bareIn(t, s, elsewhere))
	collect(t, s, there("c", 1, 0, 0), there("nobody", 1, 0, 0))
	require.Equal(t, []string{"a", "b"}, bareIn(t, s, elsewhere))
	collect(t, s, there("a", 9, 9, 9))
	collect(t, s, there("b", 1, 1, 0), there("a", 1, 2, 0)) // the newest wins
	require.Empty(t, bareIn(t, s, elsewhere))
	spaces, err := s.Spaces(t.Context(), echo)
	require.NoError(t, err)
	require.Equal(t, map[string]int{space: 3, elsewhere: 3}, spaces)
	require.Equal(t, []string{"a", "b", "c"}, near(t, s, []float32{1, 0}, 9), "searches still use the old space")
	_, err = s.Near(t.Context(), memory.Near{Agent: echo, Space: elsewhere, V: []float32{1, 0, 0}, Limit: 9})
	require.ErrorIs(t, err, memory.ErrSpace)

	require.Zero(t, move(t, s, elsewhere))
	now, err := s.Space(t.Context(), echo)
	require.NoError(t, err)
	require.Equal(t, elsewhere, now)
	require.Equal(t, []string{"c", "b", "a"}, nearThere(t, s, 1, 0, 0))
	_, err = s.Near(t.Context(), memory.Near{Agent: echo, Space: space, V: []float32{1, 0}, Limit: 9})
	require.ErrorIs(t, err, memory.ErrSpace)
	spaces, err = s.Spaces(t.Context(), echo)
	require.NoError(t, err)
	require.Equal(t, map[string]int{elsewhere: 3}, spaces)
	_, err = s.Commit(t.Context(), memory.Write{Agent: echo, Vectors: []memory.Vector{vector("a", 1, 0)}})
	require.ErrorIs(t, err, memory.ErrSpace)
	add(t, s, semantic("d", "later"))
	require.Equal(t, []string{"d"}, bareIn(t, s, elsewhere))
	commit(t, s, memory.Write{Vectors: []memory.Vector{there("d", 1, .1, 0)}})
	require.Equal(t, []string{"c", "d", "b", "a"}, nearThere(t, s, 1, 0, 0))
	require.Zero(t, move(t, s, elsewhere))
	require.Len(t, nearThere(t, s, 1, 0, 0), 4)
}

func moveNeedsAllVectors(t *testing.T, s memory.Store) {
	placed(t, s, 4)
	collect(t, s, there("a", 1, 0, 0))
	require.Equal(t, 3, move(t, s, elsewhere))
	require.Equal(t, []string{"a", "b", "c", "d"}, near(t, s, []float32{1, 0}, 9))
	commit(t, s, memory.Write{Cause: "operator", Change: []dream.Item{faded(semantic("b", "text of b"))}})
	add(t, s, semantic("e", "never placed"))
	collect(t, s, there("c", 0, 1, 0))
	require.Equal(t, 1, move(t, s, elsewhere), "neither archived items nor items without a vector prevent a move")
	forget(t, s, "d")
	require.Zero(t, move(t, s, elsewhere))
	require.Equal(t, []string{"a", "c"}, nearThere(t, s, 1, 0, 0))
	commit(t, s, memory.Write{Cause: "operator", Change: []dream.Item{semantic("b", "text of b")}})
	require.Equal(t, []string{"e", "b"}, bareIn(t, s, elsewhere), "a restored item has no vector in this space yet")
}

func collectedFollow(t *testing.T, s memory.Store) {
	placed(t, s, 4)
	add(t, s, semantic("bare", "placed in the new space alone"))
	collect(t, s, there("a", 1, 0, 0), there("b", 1, .1, 0), there("c", 1, .2, 0), there("d", 1, .3, 0),
		there("bare", 1, .4, 0))
	retold := semantic("a", "another text")
	stronger := semantic("d", "text of d")
	stronger.Strength = .9
	commit(t, s, memory.Write{Cause: "operator", Change: []dream.Item{
		retold, faded(semantic("b", "text of b")), faded(semantic("bare", "placed in the new space alone")), stronger,
	}})
	forget(t, s, "c")
	require.Equal(t, []string{"a"}, bareIn(t, s, elsewhere), "its vector belonged to its old text")
	require.Equal(t, 1, move(t, s, elsewhere))
	collect(t, s, there("a", 0, 1, 0))
	require.Zero(t, move(t, s, elsewhere))
	require.Equal(t, []string{"d", "a"}, nearThere(t, s, 1, 0, 0))
	commit(t, s,
		memory.Write{
			Cause:  "operator",
			Change: []dream.Item{semantic("b", "text of b"), semantic("bare", "placed in the new space alone")},
		})
	require.Equal(t, []string{"b", "d", "bare", "a"}, nearThere(t, s, 1, 0, 0))
}

func collectingNeverMixes(t *testing.T, s memory.Store) {
	placed(t, s, 1)
	for _, wrong := range []memory.Vector{vector("a", 1, 0), {Item: "a", Space: "", V: []float32{1}}, there("a")} {
		require.Error(t, s.Collect(t.Context(), echo, []memory.Vector{wrong}))
	}
	require.ErrorIs(t, s.Collect(t.Context(), echo, []memory.Vector{vector("a", 1, 0)}), memory.ErrSpace)
	collect(t, s, there("a", 1, 0, 0))
	require.ErrorIs(t, s.Collect(t.Context(), echo, []memory.Vector{there("a", 1, 0)}), memory.ErrSpace)
	_, err := s.Commit(t.Context(), memory.Write{Agent: echo, Vectors: []memory.Vector{there("a", 1, 0, 0)}})
	require.ErrorIs(t, err, memory.ErrSpace)
	_, err = s.Move(t.Context(), echo, "")
	require.Error(t, err)
}

func noMoveInADream(t *testing.T, s memory.Store) {
	placed(t, s, 1)
	f := sleep(t, s, "d1")
	collect(t, s, there("a", 1, 0, 0))
	_, err := s.Move(t.Context(), echo, elsewhere)
	require.ErrorIs(t, err, memory.ErrTaken)
	commit(t, s, memory.Write{Fence: f, Vectors: []memory.Vector{vector("a", 0, 1)}})
	wakeUp(t, s, f)
	require.Zero(t, move(t, s, elsewhere))
}

func moveToOwnSpace(t *testing.T, s memory.Store) {
	placed(t, s, 2)
	third := memory.Vector{Item: "a", Space: "third/1/2", V: []float32{1, 1}}
	collect(t, s, there("a", 1, 0, 0), there("b", 0, 1, 0), third)
	require.Zero(t, move(t, s, space))
	spaces, err := s.Spaces(t.Context(), echo)
	require.NoError(t, err)
	require.Equal(t, map[string]int{space: 2}, spaces)
	require.Equal(t, []string{"a", "b"}, near(t, s, []float32{1, 0}, 9))
	collect(t, s, there("a", 1, 0), there("b", 0, 1)) // another dimension: the first collection was dropped
	require.Zero(t, move(t, s, elsewhere))
	require.Equal(t, []string{"a", "b"}, nearThere(t, s, 1, 0))
}

func movesFromNowhere(t *testing.T, s memory.Store) {
	none, err := s.Spaces(t.Context(), echo)
	require.NoError(t, err)
	require.Empty(t, none)
	add(t, s, semantic("a", "tides"), semantic("b", "glass"))
	collect(t, s, there("a", 1, 0, 0))
	require.Equal(t, []string{"b"}, bareIn(t, s, elsewhere))
	require.Zero(t, move(t, s, elsewhere))
	require.Equal(t, []string{"a"}, nearThere(t, s, 1, 0, 0))
	require.Equal(t, []string{"b"}, bareIn(t, s, elsewhere))
}

func adoptsCollected(t *testing.T, s memory.Store) {
	add(t, s, semantic("a", "tides"), semantic("b", "glass"), semantic("c", "salt"), semantic("d", "ash"))
	collect(t, s, there("a", 1, 0, 0), there("b", 1, 1, 0))
	_, err := s.Commit(t.Context(), memory.Write{Agent: echo, Vectors: []memory.Vector{there("c", 1, 2)}})
	require.ErrorIs(t, err, memory.ErrSpace, "the collected vectors have dimension three")
	none, err := s.Space(t.Context(), echo)
	require.NoError(t, err)
	require.Empty(t, none)
	require.Empty(t, nearThere(t, s, 1, 0, 0))
	commit(t, s, memory.Write{Cause: "import", Vectors: []memory.Vector{there("c", 1, 2, 0)}})
	require.Equal(t, []string{"d"}, bareIn(t, s, elsewhere), "collected items have their vectors")
	require.Equal(t, []string{"a", "b", "c"}, nearThere(t, s, 1, 0, 0))
	require.Zero(t, move(t, s, elsewhere))
	require.Equal(t, []string{"d"}, bareIn(t, s, elsewhere))
	require.Equal(t, []string{"a", "b", "c"}, nearThere(t, s, 1, 0, 0))
}

// bothMove moves an agent through one handle while the other searches: every result is wholly from one space.
func bothMove(t *testing.T, one, other memory.Store) {
	const n = 40
	var all []memory.Vector
	for i := range n {
		id := fmt.Sprintf("e%02d", i)
		add(t, one, episode(id, id))
		commit(t, one, memory.Write{Cause: "import", Vectors: []memory.Vector{vector(id, 1, float32(i), 0)}})
		all = append(all, there(id, 1, float32(n-i), 0))
	}
	moved, searched := make(chan struct{}), make(chan error, 4)
	for i := range cap(searched) {
		go func() {
			searched <- func() error {
				for {
					s := []memory.Store{one, other}[i%2]
					hits, err := s.Near(t.Context(),
						memory.Near{Agent: echo, Space: space, V: []float32{1, 0, 0}, Limit: 1})
					if errors.Is(err, memory.ErrSpace) {
						<-moved
						hits, err = s.Near(t.Context(),
							memory.Near{Agent: echo, Space: elsewhere, V: []float32{1, 0, 0}, Limit: 1})
						if err == nil && hits[0].Item != "e39" {
							err = fmt.Errorf("after the move %s is nearest", hits[0].Item)
						}
						return err
					}
					if err != nil || hits[0].Item != "e00" {
						return fmt.Errorf("before the move: %v, %w", hits, err)
					}
				}
			}()
		}()
	}
	collect(t, one, all[:n/2]...)
	collect(t, other, all[n/2:]...)
	require.Zero(t, move(t, other, elsewhere))
	close(moved)
	for range cap(searched) {
		require.NoError(t, <-searched)
	}
	require.Equal(t, "e39", nearThere(t, one, 1, 0, 0)[0])
}
