package hypnagogia_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

// shore are memories that share small words and the gulls with each other.
func shore() map[string][]string {
	all := map[string][]string{
		"storm":  {"The storm broke the mast of the ketch at midnight.", "The mast fell upon the cabin."},
		"squall": {"A squall tore the sail, and the mast of the ketch bent."},
		"prize":  {"Our marmalade won the silver cup at the fair."},
	}
	for i, thing := range []string{
		"kettle", "ladder", "garden", "letter", "bridge", "window", "bakery", "meadow", "lantern", "piano", "violin", "market",
	} {
		all[fmt.Sprintf("day-%d", i)] = []string{"The gulls cried above the " + thing + " on a quiet morning."}
	}
	return all
}

func shoreMarkers() []*dream.Marker {
	return []*dream.Marker{
		{
			Head:     dream.Head{ID: "mast", Sources: []string{"storm", "squall"}},
			Strength: .8,
			Valence:  dream.CameOutBadly,
			Count:    2,
		},
		{
			Head:     dream.Head{ID: "jam", Sources: []string{"prize", "forgotten"}},
			Strength: .6,
			Valence:  dream.CameOutWell,
			Count:    2,
		},
	}
}

func TestATextFiresTheMarkerOfTheMomentThatItSharesRareWordsWith(t *testing.T) {
	t.Parallel()
	m := hypnagogia.MomentsOf(shoreMarkers(), shore())
	fired := m.Match("While gulls cried, a mast broke again above the cabin.", 1)
	require.NotNil(t, fired)
	require.Equal(t, "mast", fired.Marker)
	require.Greater(t, fired.Deviations, 2.)
	require.Equal(t, 1., fired.Threshold)
	require.Equal(t, .8, fired.Strength)
	require.Equal(t, dream.CameOutBadly, fired.Valence)
	require.Equal(t, 2, fired.Count)
	require.Equal(t, "jam", m.Match("Somebody put marmalade in the silver cup.", 1).Marker)

	require.Nil(t, m.Match("While gulls cried, a mast broke again above the cabin.", fired.Deviations+.01), "below the threshold")
	require.Nil(t, m.Match("The gulls cried above the kettle.", 1), "what is shared with every memory says nothing")
	require.Nil(t, m.Match("A silver spoon.", 0), "one word is no moment")
	require.Nil(t, m.Match("", 0))
	require.Nil(t, hypnagogia.Moments{}.Match("The mast broke.", 0))
	require.Nil(t, hypnagogia.MomentsOf(shoreMarkers(), map[string][]string{"storm": shore()["storm"]}).Match("The storm broke the mast.", 0),
		"of one memory nothing stands out")
	require.Nil(t, hypnagogia.MomentsOf(nil, shore()).Match("The storm broke the mast.", 0), "without a marker none fires")
}

// A long memory shares more words by chance, and the rarer a word is, the more it says.
func TestARareWordInAShortMomentCountsMore(t *testing.T) {
	t.Parallel()
	memories := shore()
	memories["diary"] = []string{
		"The mast of another ketch, a chart, pilots, coffee, ropes, tar, oars, a compass, biscuits, blankets and the log.",
	}
	markers := append(shoreMarkers(), &dream.Marker{Head: dream.Head{ID: "diary", Sources: []string{"diary"}}})
	m := hypnagogia.MomentsOf(markers, memories)
	require.Equal(t, "mast", m.Match("The mast of the ketch.", 0).Marker, "its memory is short")
	require.Equal(t, "jam", m.Match("The gulls cried that a mast of marmalade is as silver as a ketch.", 0).Marker)
}

// A text fires a marker from what nine of ten of the agent's ordinary sentences do not reach.
func TestOrdinarySentencesSayWhenAMarkerFires(t *testing.T) {
	t.Parallel()
	m := hypnagogia.MomentsOf(shoreMarkers(), shore())
	var episodes []*dream.Episode
	for id, parts := range shore() {
		episodes = append(episodes, &dream.Episode{Head: dream.Head{ID: id}, Content: parts[0]})
	}
	from, ok := m.FireFrom(episodes)
	require.True(t, ok)
	require.Equal(t, 2., from, "no ordinary sentence shares two words with a moment")
	for i := range 4 {
		episodes = append(episodes, &dream.Episode{
			Head:    dream.Head{ID: fmt.Sprint("near-", i)},
			Content: fmt.Sprintf("The mast of ketch number %d stood above the gulls.", i),
		})
	}
	from, ok = m.FireFrom(episodes)
	require.True(t, ok)
	require.Greater(t, from, 2.)
	require.Nil(t, m.Match("The gulls cried above the kettle.", from))
	require.NotNil(t, m.Match("The storm broke the mast, which fell upon the cabin.", from), "its own moment fires it")
	from, ok = m.FireFrom(episodes[:3])
	require.True(t, ok)
	require.Equal(t, 2., from, "three sentences say nothing about what is ordinary")
	_, ok = hypnagogia.MomentsOf(nil, shore()).FireFrom(episodes)
	require.False(t, ok)
}
