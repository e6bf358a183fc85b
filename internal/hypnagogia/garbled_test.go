package hypnagogia_test

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

// judgedText is a text of a real small model with its measured values.
type judgedText struct {
	Part, Kind, Text string
	LogProb          float64 `json:"mean_logprob"`
	Cosines          map[string]struct {
		Memory, Source float64
		Neighbours     []float64
	}
}

// readTexts reads the file's header and texts: garbled ones at temperature 1.6 without min-p, coherent ones at 1.0 with
// min-p 0.1.
func readTexts(t *testing.T) (language hypnagogia.Language, spaces map[string]hypnagogia.Calibration, texts []judgedText) {
	t.Helper()
	file, err := os.Open("testdata/soup.jsonl")
	require.NoError(t, err)
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	require.True(t, lines.Scan())
	var head struct {
		Memories map[string][]string
		Spaces   map[string]hypnagogia.Calibration
	}
	require.NoError(t, json.Unmarshal(lines.Bytes(), &head))
	var memories []string
	for _, set := range head.Memories {
		memories = append(memories, set...)
	}
	for lines.Scan() {
		var one judgedText
		require.NoError(t, json.Unmarshal(lines.Bytes(), &one))
		texts = append(texts, one)
	}
	return hypnagogia.LanguageOf(memories), head.Spaces, texts
}

// auc is the share of pairs in which the second is above the first, ties half.
func auc(soup, coherent []float64) float64 {
	wins := 0.0
	for _, s := range soup {
		for _, c := range coherent {
			switch {
			case c > s:
				wins++
			case c == s:
				wins += .5
			}
		}
	}
	return wins / float64(len(soup)*len(coherent))
}

func kept(composites []float64) float64 {
	n := 0
	for _, c := range composites {
		if hypnagogia.Keep(c, .10) {
			n++
		}
	}
	return float64(n) / float64(len(composites))
}

// Garbled text of a real model is farther from every memory than its coherent text, and its pieces look like words:
// by distance it wins, and the first four shares of the surface do not notice it. With the fifth it loses, with any
// embedder.
func TestGarbledTextScoresLow(t *testing.T) {
	t.Parallel()
	language, spaces, texts := readTexts(t)
	require.True(t, language.Recognised)
	for embedder, space := range spaces {
		for _, parts := range [][]string{{"tuned"}, {"seen", "unseen"}, {"unseen"}} {
			column := func(kind string, value func(judgedText) float64) []float64 {
				var out []float64
				for _, s := range texts {
					if s.Kind == kind && slices.Contains(parts, s.Part) {
						out = append(out, value(s))
					}
				}
				return out
			}
			near := func(s judgedText) hypnagogia.Near {
				return hypnagogia.Near{
					PlaybookEmpty: true, Memory: s.Cosines[embedder].Memory,
					Source: s.Cosines[embedder].Source,
				}
			}
			weigh := func(s judgedText) float64 {
				meaning := hypnagogia.MeaningOf(s.Cosines[embedder].Neighbours, space.Mean)
				return hypnagogia.Weigh(s.Text, near(s), nil,
					hypnagogia.Evidence{Language: language, Space: space, Meaning: &meaning}).Composite
			}
			blind := func(s judgedText) float64 {
				return hypnagogia.Weigh(s.Text, near(s), nil, hypnagogia.Evidence{Language: language, Space: space}).Composite
			}
			before := func(s judgedText) float64 { return hypnagogia.Judge(s.Text, near(s)).Composite }
			figures := map[string]float64{}
			for name, value := range map[string]func(judgedText) float64{
				"distance": func(s judgedText) float64 { return hypnagogia.Distance(s.Cosines[embedder].Memory) },
				"surface":  func(s judgedText) float64 { return hypnagogia.Surface(s.Text) },
				"spoken":   func(s judgedText) float64 { return hypnagogia.SurfaceOf(s.Text, language).Whole },
				"meaning": func(s judgedText) float64 {
					return hypnagogia.MeaningOf(s.Cosines[embedder].Neighbours, space.Mean).Cosine
				},
				"logprob": func(s judgedText) float64 { return s.LogProb },
				"before":  before, "blind": blind, "composite": weigh,
			} {
				figures[name] = auc(column("soup", value), column("coherent", value))
			}
			soups := len(column("soup", weigh))
			t.Logf(
				"%s, %v, %d of each: AUC distance %.2f, surface %.2f, spoken %.2f, meaning %.2f, log-probability %.2f, composite before %.2f, without meaning %.2f, now %.2f; "+
					"above the floor: soup %.0f %% before, %.0f %% now; coherent %.0f %% before, %.0f %% now", embedder,
				parts, soups,
				figures["distance"], figures["surface"], figures["spoken"], figures["meaning"], figures["logprob"],
				figures["before"], figures["blind"], figures["composite"],
				100*kept(column("soup", before)), 100*kept(column("soup", weigh)),
				100*kept(column("coherent", before)), 100*kept(column("coherent", weigh)))
			require.Less(t, figures["distance"], .15, "garbled text is the farthest away")
			require.Less(t, figures["before"], .4, "and scored higher before")
			require.Greater(t, figures["spoken"], .95)
			require.Greater(t, figures["blind"], .9)
			require.Greater(t, figures["composite"], .9)
			require.Less(t, kept(column("soup", weigh)), .06)
			require.Greater(t, kept(column("coherent", weigh)), .8)
		}
	}
}
