package derive

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
)

func TestSentencesEndWhereTheyEnd(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]string{
		"One. Two! Three? Four":                    {"One.", "Two!", "Three?", "Four"},
		"Dr. Marsh paid 3.50 to J. Pell. He left.": {"Dr. Marsh paid 3.50 to J. Pell.", "He left."},
		"He said \"Go.\" Then he went…":            {"He said \"Go.\"", "Then he went…"},
		"- a list\n- of things":                    {"- a list", "- of things"},
		"Wait... what?!":                           {"Wait...", "what?!"},
		"See example.org/a.b for more":             {"See example.org/a.b for more"},
		"終わり。始まり。":                                 {"終わり。", "始まり。"},
		"...":                                      nil,
		"":                                         nil,
	} {
		require.Equal(t, want, Sentences(in), in)
	}
}

func TestClippingKeepsWholeWordsAndMarksTheCut(t *testing.T) {
	t.Parallel()
	require.Equal(t, "short", Clip("short", 5))
	require.Equal(t, "the quick…", Clip("the quick brown fox", 13))
	require.Equal(t, "äöüä…", Clip("äöüäöüäöü", 5))
}

func TestCourtesiesGiveWayToSubstance(t *testing.T) {
	t.Parallel()
	require.Equal(t, "The kiln cracked overnight.", passage("Wow, hey! Thanks. The kiln cracked overnight.", 100))
	require.Equal(t, "Thanks!", passage("Thanks!", 100))
	require.Equal(t, "The kiln cracked and the glaze ran down.",
		gist("Oh no. Really? The kiln cracked and the glaze ran down. Why?", 100))
}

func TestFeelingIsReadOffWords(t *testing.T) {
	t.Parallel()
	read := func(s string) mood.PAD { return affectOf(words(s, nil), exclamations([]Turn{{Text: s}})) }
	require.Equal(t, mood.PAD{}, read("The table stands by the wall."))
	require.Equal(t, mood.PAD{}, read(""))
	require.Positive(t, read("I am so happy and grateful today").Pleasure)
	require.Negative(t, read("I was terrified of the storm").Pleasure)
	require.Positive(t, read("I was terrified of the storm").Arousal)
	require.Negative(t, read("I was not happy").Pleasure)
	require.Negative(t, read("I wasn’t happy").Pleasure)
	require.Positive(t, read("No. I am happy").Pleasure, "a new sentence is not negated by the last")
	require.Greater(t, read("I am very happy").Pleasure, read("I am happy").Pleasure)
	require.Greater(t, read("I am happy!!!").Arousal, read("I am happy").Arousal)
	require.GreaterOrEqual(t, len(feelings), 300)
	for _, place := range feelings {
		require.NoError(t, place.Validate())
	}
}

func TestTheUpperTenthIsSalient(t *testing.T) {
	t.Parallel()
	all := make([]Marks, 100)
	for i := range all {
		all[i] = Marks{salience: float32(i), surprise: float32(i%10) / 9}
	}
	r := NewRanks(all)
	salient := 0
	for _, m := range all {
		d := Draft{}
		r.Settle(&d, m)
		require.True(t, d.Episode.Salience >= 0 && d.Episode.Salience <= 1)
		require.True(t, d.Episode.Surprise >= 0 && d.Episode.Surprise <= 1)
		if d.Episode.Salience >= .7 {
			salient++
		}
	}
	require.Equal(t, 10, salient)
	own := Draft{Salient: true, Episode: dream.Episode{Salience: .33}}
	r.Settle(&own, all[99])
	require.Equal(t, .33, own.Episode.Salience, "what the source states stays")
}

func TestTextWithNewWordsSurprises(t *testing.T) {
	t.Parallel()
	g := NewGauge()
	say := func(s string) float32 { return g.Measure(&Draft{Episode: dream.Episode{Content: s}}).surprise }
	for range 20 {
		say("The miller grinds barley beside the weir.")
	}
	require.Greater(t, say("Volcanic glass arrived from Iceland."), say("The miller grinds barley beside the weir."))
}

// Surprise is no rank: a life without news has little of it throughout, however its days differ by their dates, and one
// full of news has much.
func TestADullLifeSurprisesLittle(t *testing.T) {
	t.Parallel()
	mean := func(texts []string) float64 {
		g, sum := NewGauge(), 0.0
		for i, text := range texts {
			m := g.Measure(&Draft{Episode: dream.Episode{Content: text}})
			if i >= len(texts)-50 {
				sum += m.Surprise() / 50
			}
		}
		return sum
	}
	var dull, rich []string
	for i := range 60 {
		dull = append(dull, fmt.Sprintf("On 2026-05-%02d dinner was soup again.", i%30+1))
		news := fmt.Sprintf("%c%c", 'a'+i/26, 'a'+i%26)
		rich = append(rich, fmt.Sprintf("Nobody expected the %sko, the %slum and the %sran by the weir.", news, news, news))
	}
	require.Less(t, mean(dull), .1)
	require.Less(t, mean(slices.Concat(rich, dull)), .2, "whatever came before it")
	require.Greater(t, mean(rich), .4)

	// What is remembered already is the past of what comes.
	g := NewGauge()
	var existing []*dream.Episode
	for _, text := range dull {
		existing = append(existing, &dream.Episode{Content: text})
	}
	g.Recall(existing)
	require.Less(t, g.Measure(&Draft{Episode: dream.Episode{Content: dull[0]}}).Surprise(), .1)
}
