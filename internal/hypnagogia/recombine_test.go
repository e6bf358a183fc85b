package hypnagogia_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

// Context, action and outcome come from 2 or 3 different episodes.
func TestARecombinationTakesItsPartsFromDifferentEpisodes(t *testing.T) {
	t.Parallel()
	var agentState []*dream.Episode
	for i := range 6 {
		agentState = append(agentState,
			episode(fmt.Sprint(i), fmt.Sprint("context ", i), fmt.Sprint("action ", i), fmt.Sprint("outcome ", i), ""))
	}
	dreamt := hypnagogia.Recombine(agentState, 40, hypnagogia.Dice(5, dream.REM, 0, 0, "recombine"))
	require.Len(t, dreamt, 40)
	twoSources := 0
	for _, d := range dreamt {
		require.Equal(t, "context "+d.Sources[0], d.Context)
		require.Equal(t, "action "+d.Sources[1], d.Action)
		if len(d.Sources) == 2 {
			twoSources++
			require.Equal(t, "outcome "+d.Sources[0], d.Outcome)
		} else {
			require.Equal(t, "outcome "+d.Sources[2], d.Outcome)
		}
	}
	require.InDelta(t, 20, twoSources, 9)
}

func TestTooFewEpisodesCannotBeRecombined(t *testing.T) {
	t.Parallel()
	whole := episode("a", "c", "d", "o", "")
	dice := hypnagogia.Dice(1, dream.REM, 0, 0, "")
	require.Empty(t, hypnagogia.Recombine(nil, 3, dice))
	require.Empty(t, hypnagogia.Recombine([]*dream.Episode{whole, whole, nil}, 3, dice))
	require.Empty(t, hypnagogia.Recombine([]*dream.Episode{whole, episode("b", " ", "", "o2", "")}, 3, dice),
		"context and action of the same episode")
	require.Empty(t, hypnagogia.Recombine([]*dream.Episode{whole, episode("b", "c", "d", "o", "")}, 3, dice),
		"it really happened")
	require.Len(t, hypnagogia.Recombine([]*dream.Episode{whole, episode("b", "c2", "", "", "")}, 3, dice), 1)
}

func TestNoRecombinationIsBlankOrHappened(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		part := rapid.SampledFrom([]string{"", " ", "x", "y", "z", "w "})
		var agentState []*dream.Episode
		lived := map[string]bool{}
		contexts, actions, outcomes := map[string]bool{}, map[string]bool{}, 0
		for i := range rapid.IntRange(0, 7).Draw(r, "episodes") {
			id := fmt.Sprint(i)
			e := episode(id, part.Draw(r, "c"), part.Draw(r, "a"), part.Draw(r, "o"), "")
			agentState = append(agentState, e)
			lived[e.Context+"|"+e.Action+"|"+e.Outcome] = true
			if len(e.Context) > 0 && e.Context != " " {
				contexts[id] = true
			}
			if len(e.Action) > 0 && e.Action != " " {
				actions[id] = true
			}
			if len(e.Outcome) > 0 && e.Outcome != " " {
				outcomes++
			}
		}
		seed := rapid.Uint64().Draw(r, "seed")
		got := hypnagogia.Recombine(agentState, 3, hypnagogia.Dice(seed, dream.REM, 0, 0, ""))
		require.Equal(r, got, hypnagogia.Recombine(agentState, 3, hypnagogia.Dice(seed, dream.REM, 0, 0, "")))
		require.LessOrEqual(r, len(got), 3)
		for _, d := range got {
			require.NotEmpty(r, d.Context)
			require.NotEmpty(r, d.Action)
			require.NotEmpty(r, d.Outcome)
			require.False(r, lived[d.Context+"|"+d.Action+"|"+d.Outcome])
			require.Contains(r, []int{2, 3}, len(d.Sources))
			require.True(r, contexts[d.Sources[0]])
			require.True(r, actions[d.Sources[1]])
			require.NotEqual(r, d.Sources[0], d.Sources[1])
			if len(d.Sources) == 3 {
				require.NotContains(r, d.Sources[:2], d.Sources[2])
			}
		}
		if outcomes == 0 {
			require.Empty(r, got)
		}
	})
}
