package hypnagogia_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

func ptr[T any](v T) *T { return &v }

var (
	harbour = []string{
		"The lamp at the point was lit at nine and went out before the ferry came.",
		"Nobody had the key to the boathouse, so we waited in the rain.",
		"Mina sang the old harbour song while she mended the net.",
		"The tide was late and the fog came in with it, and the bell rang twice.",
		"I found a letter from my grandfather in the tin with the buttons.",
		"She said that it would have been better if they had never built the pier at all.",
	}
	english = hypnagogia.LanguageOf(harbour)
)

// The same rules apply to measured values and to a judge's scores.
func TestAVerdictFromItsParts(t *testing.T) {
	t.Parallel()
	const (
		loop = "the pool the pool the pool the pool the pool"
		soup = "plugins MediterOut Highheimer os est firRate cfs fired incred quiet cos mo ear Donald LookSub Die Hag fame Plastic Vaja inca vers press tyls"
	)
	usual := hypnagogia.Near{Playbook: .3, Memory: .55, Source: .5}
	generous := &dream.Scores{Novelty: .9, Relevance: .8, Coherence: .9}
	fired := &dream.MarkerMatch{
		Marker:     "m",
		Deviations: 4.5,
		Threshold:  3,
		Strength:   .8,
		Valence:    dream.CameOutBadly,
		Count:      2,
	}
	for _, c := range []struct {
		name                string
		text                string
		near                hypnagogia.Near
		scores              *dream.Scores
		ear                 hypnagogia.Evidence
		novelty, rel, coher float64
		composite           float64
		fault               string
	}{
		{"measured", plain, usual, nil, hypnagogia.Evidence{Language: english}, .388889, 1, 1, .623610, ""},
		{"judged", plain, usual, generous, hypnagogia.Evidence{Language: english}, .9, .8, .9, .868754, ""},
		{
			"a loop, whatever the judge says", loop, usual, generous,
			hypnagogia.Evidence{},
			0, .8, 0, 0,
			"it cannot be understood",
		},
		{
			"garbled text far from everything, in a known language", soup,
			hypnagogia.Near{Memory: .1, Source: .1, PlaybookEmpty: true},
			nil,
			hypnagogia.Evidence{Language: english},
			0,
			.36, 0, 0, "it cannot be understood",
		},
		{
			"the same in an unknown language", soup,
			hypnagogia.Near{Memory: .1, Source: .1, PlaybookEmpty: true},
			nil,
			hypnagogia.Evidence{},
			.888889, .36, 1, .693928, "",
		},
		{
			"and judged generously", soup,
			hypnagogia.Near{Memory: .1, Source: .1, PlaybookEmpty: true},
			generous,
			hypnagogia.Evidence{Language: english},
			0, .8, 0, 0, "it cannot be understood",
		},
		{
			"unlikely by its own model", plain, usual, nil,
			hypnagogia.Evidence{LogProb: ptr(-9.5)},
			0, 1, 0, 0,
			"it cannot be understood",
		},
		{"likely enough", plain, usual, nil, hypnagogia.Evidence{LogProb: ptr(-1.2)}, .388889, 1, 1, .623610, ""},
		{
			"parts no nearer than unrelated ones halve it", plain, usual, nil,
			hypnagogia.Evidence{Meaning: &dream.Meaning{Share: .5}},
			.388889, 1, .5, .542883, "",
		},
		{
			"a quarter understood, half the novelty", plain, usual, nil,
			hypnagogia.Evidence{Meaning: &dream.Meaning{Share: .25}},
			.194444, 1, .25, .334184, "it cannot be understood",
		},
		{
			"an echo that the judge scores as new", plain,
			hypnagogia.Near{Memory: .98, Source: .5, PlaybookEmpty: true},
			generous,
			hypnagogia.Evidence{},
			.04, .8, .9, .183149, "it says nothing new",
		},
		{
			"unrelated texts at .8 are no echo", plain,
			hypnagogia.Near{Memory: .92, Source: .9, PlaybookEmpty: true},
			nil,
			hypnagogia.Evidence{Space: hypnagogia.Calibration{Mean: .8, SD: .03, Pairs: 45}},
			.333333, .946746, 1, .567949, "",
		},
		{
			"a marker adds to relevance", plain,
			hypnagogia.Near{Memory: .2, Source: .1, PlaybookEmpty: true},
			nil,
			hypnagogia.Evidence{Marker: fired},
			.777778, .456, 1, .696815, "",
		},
		{
			"half as much to what is understood by half", plain,
			hypnagogia.Near{Memory: .2, Source: .1, PlaybookEmpty: true},
			nil,
			hypnagogia.Evidence{Marker: fired, Meaning: &dream.Meaning{Share: .25}},
			.388889, .408, .25, 0.361159, "it cannot be understood",
		},
		{
			"and nothing to a copy", plain,
			hypnagogia.Near{Memory: .2, Source: .1, PlaybookEmpty: true},
			nil,
			hypnagogia.Evidence{Marker: fired, Memory: hypnagogia.MemoryTextsOf([][]string{{plain}})},
			0, .36, 1, 0, "it repeats a memory",
		},
		{"bias multiplies the whole", plain, usual, nil, hypnagogia.Evidence{Bias: .8}, .388889, 1, 1, .498888, ""},
		{
			"and never beyond one", plain, usual, &dream.Scores{Novelty: 1, Relevance: 1, Coherence: 1},
			hypnagogia.Evidence{Bias: 1.25},
			1, 1, 1, 1, "",
		},
	} {
		v := hypnagogia.Weigh(c.text, c.near, c.scores, c.ear)
		require.InDelta(t, c.novelty, v.Novelty, 1e-6, c.name)
		require.InDelta(t, c.rel, v.Relevance, 1e-6, c.name)
		require.InDelta(t, c.coher, v.Coherence, 1e-6, c.name)
		require.InDelta(t, c.composite, v.Composite, 1e-6, c.name)
		require.Equal(t, hypnagogia.Distance(c.near.Memory), v.DistanceMemory,
			"%s: stored distances are not calibrated", c.name)
		require.Equal(t, c.scores, v.Parts.Judged, c.name)
		require.InDelta(t, hypnagogia.Composite(v.Novelty, v.Relevance, v.Coherence), v.Parts.Whole, 1e-12, c.name)
		if c.fault != "" {
			require.Equal(t, c.fault, hypnagogia.Fault(v), c.name)
		}
	}
}

func TestAVerdictStaysWithinItsBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		share := rapid.Float64Range(-.5, 1.5)
		near := hypnagogia.Near{
			Playbook: share.Draw(r, "playbook"), Memory: share.Draw(r, "memory"),
			Source: share.Draw(r, "source"), Theme: share.Draw(r, "theme"),
		}
		evidence := hypnagogia.Evidence{
			Bias:  rapid.Float64Range(.8, 1.25).Draw(r, "bias"),
			Space: hypnagogia.Calibration{Mean: share.Draw(r, "mean"), Pairs: 45},
		}
		if rapid.Bool().Draw(r, "fires") {
			evidence.Marker = &dream.MarkerMatch{
				Cosine: share.Draw(r, "cosine"), Threshold: share.Draw(r, "threshold"),
				Strength: share.Draw(r, "strength"),
			}
		}
		var answer *dream.Scores
		if rapid.Bool().Draw(r, "judged") {
			answer = &dream.Scores{
				Novelty: share.Draw(r, "novelty"), Relevance: share.Draw(r, "relevance"),
				Coherence: share.Draw(r, "coherence"),
			}
		}
		v := hypnagogia.Weigh(rapid.String().Draw(r, "text"), near, answer, evidence)
		for _, x := range []float64{
			v.Novelty, v.Relevance, v.Coherence, v.Composite, v.DistanceMemory,
			v.DistancePlaybook, v.Parts.Whole,
		} {
			require.True(r, x >= 0 && x <= 1, "%v", v)
		}
		if v.Parts.Marker != nil {
			require.LessOrEqual(r, v.Parts.Marker.Boost, hypnagogia.MostBoost)
		}
	})
}

// A language is known when a quarter of the memory is function words of a listed language, or of its own.
func TestALanguageIsKnownOnlyIfTheMemoryUsesIt(t *testing.T) {
	t.Parallel()
	require.True(t, english.Recognised)
	require.False(t, hypnagogia.LanguageOf(nil).Recognised)
	require.False(t, hypnagogia.LanguageOf(harbour[:2]).Recognised, "too few words")
	german := []string{
		"Die Stadt schläft, aber der Markt träumt weiter, und das ist vielleicht ein Zeichen für uns.",
		"Ich habe den Schlüssel nicht gefunden, weil es dunkel war und wir keine Lampe hatten.",
		"Sie sagte, dass es noch regnen wird, und dann ging sie mit dem Hund an den Fluss.",
		"Als wir nach Hause kamen, war das Feuer aus und die Tür stand offen wie im Traum.",
	}
	require.True(t, hypnagogia.LanguageOf(german).Recognised)
	codes := make([]string, 40)
	for i := range codes {
		codes[i] = "lantern harbour orchard ledger compass staircase winter mirror bridges signals"
	}
	require.False(t, hypnagogia.LanguageOf(codes).Recognised, "a text without function words is no language")

	// An unlisted language is known by its own function words, once there is enough text.
	finnish := []string{
		"Kun tulin kotiin niin ovi oli auki ja valo oli päällä", "Hän sanoi että se ei ole totta ja niin me lähdimme",
		"Minä en tiedä miksi se on niin ja hän ei kerro",
		"Vene oli rannassa ja me odotimme kun satoi", "Se oli hyvä yö ja kuu oli niin kirkas että me näimme tien",
		"Ei ole muuta kuin tämä talo ja tämä järvi ja se on hyvä",
	}
	var long []string
	for range 8 {
		long = append(long, finnish...)
	}
	language := hypnagogia.LanguageOf(long)
	require.True(t, language.Recognised)
	const thought = "Järvi oli tyyni ja vene ei liikkunut, kun hän sanoi että se on hyvä ja niin oli, ja me olimme hiljaa ja kuu oli tiellä."
	require.Greater(t, hypnagogia.SurfaceOf(thought, language).Spoken, .9)
	require.Less(t, hypnagogia.SurfaceOf(thought, english).Spoken, .5,
		"which is why the memory must use the language first")
}

// Natural speech of any listed language keeps the value of the four shares; short texts are checked only in part.
func TestNaturalSpeechOfListedLanguages(t *testing.T) {
	t.Parallel()
	for _, text := range spoken {
		s := hypnagogia.SurfaceOf(text, english)
		require.InDelta(t, hypnagogia.Surface(text), s.Wordlike*s.Fresh*s.Bearable*s.Joined, 1e-12, text)
		if text != spoken[7] { // Chinese is written without spaces
			require.Greater(t, s.Spoken, .7, text)
		}
	}
	require.Greater(t, hypnagogia.SurfaceOf("Salt.", english).Spoken, .9)
	require.Zero(t, hypnagogia.SurfaceOf(" ", english).Whole)
}

func TestNeighbours(t *testing.T) {
	t.Parallel()
	require.Empty(t, hypnagogia.Neighbours("The key lit the tide."))
	two := hypnagogia.Neighbours(
		"The lamp was lit at nine by the keeper. Salt. Nobody had the key to the boathouse that night.")
	require.Equal(t,
		[]string{"The lamp was lit at nine by the keeper.", "Salt. Nobody had the key to the boathouse that night."},
		two)
	long := "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
	require.Equal(t,
		[]string{
			"one two three four five six seven eight",
			"nine ten eleven twelve thirteen fourteen fifteen sixteen",
		}, hypnagogia.Neighbours(long))
	require.Len(t, hypnagogia.Neighbours(long+". "+long+". "+long+". "+long+". "+long+". "+long+"."), 4)
}

func TestMeaningIsComparedWithUnrelatedMemories(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cosines []float64
		between float64
		share   float64
	}{
		{nil, .1, 1},
		{[]float64{.1}, .1, .5},
		{[]float64{-.4, .2}, .1, .5},
		{[]float64{.235}, .1, .75},
		{[]float64{.3, .44}, .1, 1},
		{[]float64{.8}, .8, .5},
		{[]float64{.86}, .8, 1},
		{[]float64{1}, 1, .5},
	} {
		require.InDelta(t, c.share, hypnagogia.MeaningOf(c.cosines, c.between).Share, 1e-9, "%v", c)
	}
}
