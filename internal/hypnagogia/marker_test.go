package hypnagogia_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

var (
	terror = mood.PAD{Pleasure: -.6, Arousal: .7}
	triump = mood.PAD{Pleasure: .7, Arousal: .4}
)

func TestOnlyStrongAffectWithAKnownOutcomeTeaches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		outcome  string
		affect   mood.PAD
		came     dream.Valence
		strength float64
	}{
		{"strong and bad", "it sank", terror, dream.CameOutBadly, .921954},
		{"strong and good", "it held", triump, dream.CameOutWell, .806226},
		{"the outcome is unknown", " ", terror, "", .921954},
		{"weak", "it held", mood.PAD{Pleasure: .3, Arousal: .3}, "", .424264},
		{"strong and neither", "it passed", mood.PAD{Arousal: .9, Pleasure: .1}, "", .905539},
		{"at the limit", "it held", mood.PAD{Pleasure: .5}, dream.CameOutWell, .5},
		{"beyond the limit", "it held", mood.PAD{Pleasure: 1, Arousal: 1, Dominance: 1}, dream.CameOutWell, 1},
	} {
		strength, came, ok := hypnagogia.LearnableAffect(&dream.Episode{Outcome: c.outcome, Affect: c.affect})
		require.InDelta(t, c.strength, strength, 1e-6, c.name)
		require.Equal(t, c.came, came, c.name)
		require.Equal(t, c.came != "", ok, c.name)
	}
}

func lesson(id string, affect mood.PAD, place ...float32) hypnagogia.EpisodeVector {
	return hypnagogia.EpisodeVector{
		Episode: &dream.Episode{Head: dream.Head{ID: id}, Outcome: "o", Affect: affect},
		Place:   place,
	}
}

var calibrated = hypnagogia.Calibration{Mean: .1, SD: .1, Pairs: 100} // merged from .4

func TestNearMarkersOfOneValenceAreMerged(t *testing.T) {
	t.Parallel()
	episodes := []hypnagogia.EpisodeVector{
		lesson("storm", terror, 1, 0), lesson("squall", terror, .9, .2), lesson("prize", triump, 1, 0),
		lesson("fire", terror, 0, 1),
		lesson("storm", terror, 1, 0),
		{Episode: episodeWithout("calm"), Place: []float32{1, 0}},
		lesson("nowhere", terror),
	}
	learned := hypnagogia.LearnMarkers(nil, episodes, calibrated)
	require.Len(t, learned, 3)
	require.Equal(t, []string{"storm", "squall"}, learned[0].Sources)
	require.Equal(t, 2, learned[0].Count)
	require.Equal(t, dream.CameOutBadly, learned[0].Valence)
	require.InDelta(t, .921954, learned[0].Strength, 1e-6)
	require.Equal(t, []string{"prize"}, learned[1].Sources)
	require.Equal(t, []string{"fire"}, learned[2].Sources)

	// Learning again from the same episodes changes nothing; a new episode joins a near marker, and the given markers
	// are not modified.
	held := []hypnagogia.MarkerVector{
		{Marker: learned[0], Place: []float32{1, 0}},
		{Marker: learned[1], Place: []float32{1, 0}},
		{Marker: learned[2], Place: []float32{0, 1}},
	}
	require.Empty(t, hypnagogia.LearnMarkers(held, episodes, calibrated))
	joined := hypnagogia.LearnMarkers(held,
		[]hypnagogia.EpisodeVector{lesson("gale", mood.PAD{Pleasure: -.3, Arousal: 1}, .95, .05)}, calibrated)
	require.Len(t, joined, 1)
	require.Equal(t, []string{"storm", "squall", "gale"}, joined[0].Sources)
	require.InDelta(t, -.5, joined[0].Affect.Pleasure, 1e-9)
	require.InDelta(t, .8, joined[0].Affect.Arousal, 1e-9)
	require.Equal(t, 2, learned[0].Count)
	require.Empty(t, hypnagogia.LearnMarkers(nil, episodes, hypnagogia.Calibration{}),
		"an uncalibrated space teaches nothing")
}

func episodeWithout(id string) *dream.Episode {
	return &dream.Episode{Head: dream.Head{ID: id}, Affect: terror}
}

func TestTheNumberOfMarkersIsLimited(t *testing.T) {
	t.Parallel()
	var episodes []hypnagogia.EpisodeVector
	for i := range hypnagogia.MostMarkers + 20 {
		place := make([]float32, hypnagogia.MostMarkers+20)
		place[i] = 1
		episodes = append(episodes, lesson(fmt.Sprint(i), terror, place...))
	}
	require.Len(t, hypnagogia.LearnMarkers(nil, episodes, calibrated), hypnagogia.MostMarkers)
}

func TestABoostGrowsUpToTwiceTheThreshold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ deviations, strength, relevance, boost float64 }{
		{3, 1, 0, .125},
		{6, 1, 0, .25},
		{9, 1, 0, .25},
		{4.5, 1, 0, .1875},
		{6, .5, 0, .125},
		{6, 1, .8, .05},
		{6, 1, 1, 0},
		{6, 0, 0, 0},
	} {
		require.InDelta(t, c.boost,
			hypnagogia.Boost(
				dream.MarkerMatch{Deviations: c.deviations, Threshold: 3, Strength: c.strength, Relevance: c.relevance}),
			1e-9, "%+v", c)
	}
}

// A cosine that is near in one space is far in another.
func TestASpaceIsCalibratedByUnrelatedMemories(t *testing.T) {
	t.Parallel()
	var places [][]float32
	for i := range 12 {
		place := make([]float32, 12)
		place[i] = 1
		places = append(places, place)
	}
	require.False(t, hypnagogia.Calibrate(places[:9]).Calibrated())
	c := hypnagogia.Calibrate(places)
	require.Equal(t, hypnagogia.Calibration{Pairs: 66}, c)
	for _, given := range []struct {
		space      hypnagogia.Calibration
		deviations float64
		near       float64
	}{
		{c, 2, .05},
		{hypnagogia.Calibration{Mean: .1459, SD: .0867, Pairs: 190}, 2, .3193}, // all-MiniLM-L6-v2, as measured
		{hypnagogia.Calibration{Mean: .7858, SD: .0248, Pairs: 190}, 2, .8358}, // gte-small
		{hypnagogia.Calibration{Mean: .7858, SD: .0248, Pairs: 190}, 3, .8602},
		// at most the cosine of an echo
		{hypnagogia.Calibration{Mean: .8, SD: .2, Pairs: 190}, 3, .98},
		{hypnagogia.Calibration{Mean: .93, SD: .01, Pairs: 190}, 2, .98}, // with unrelated texts at .93
		{hypnagogia.Calibration{Mean: .98, SD: .01, Pairs: 190}, 2, .998},
		// a zero vector is near nothing
		{hypnagogia.Calibration{Mean: -.09, SD: .01, Pairs: 45}, 2, .05},
	} {
		near, ok := given.space.Near(given.deviations)
		require.True(t, ok)
		require.InDelta(t, given.near, near, 1e-9)
	}
	// without vectors, and with identical ones
	for _, blind := range []hypnagogia.Calibration{{}, {Mean: 1, Pairs: 45}} {
		_, ok := blind.Near(2)
		require.False(t, ok)
	}
	require.Zero(t, hypnagogia.Cosine([]float32{0, 0}, []float32{1, 0}))
	require.Nil(t, hypnagogia.MeanVector())
	require.Equal(t, []float32{1, 1}, hypnagogia.MeanVector([]float32{0, 2}, []float32{2, 0}))
}
