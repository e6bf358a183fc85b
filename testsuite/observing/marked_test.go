package observing_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/testsuite/observing"
)

// feelings are what texts of each kind do to the markers of a memory.
type feelings map[observing.Kind][]observing.Feeling

// draws is how often the strong episodes are divided into those that teach markers and those that are left out.
const draws = 5

// strongOf are moments of a set in a random order, of which one half teaches markers. Those of a diary teach because
// of what they are; of a dialogue, which has no outcomes, any are taken and said to be strong.
func strongOf(s set, dice *rand.Rand) []*dream.Episode {
	if !s.dialogue {
		return observing.Strong(s.episodes, dice)
	}
	drawn := slices.Clone(s.episodes)
	dice.Shuffle(len(drawn), func(i, j int) { drawn[i], drawn[j] = drawn[j], drawn[i] })
	drawn = drawn[:ofEach]
	for _, e := range drawn {
		e.Affect, e.Outcome = mood.PAD{Pleasure: .7, Arousal: .5}, e.Content
	}
	return drawn
}

// rewordedOf reads what memories of a set say, in other words, by their ids.
func rewordedOf(t *testing.T, s set) map[string]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "reworded-"+s.name+".jsonl"))
	require.NoError(t, err)
	all := map[string]string{}
	for lines := json.NewDecoder(bytes.NewReader(data)); lines.More(); {
		var line struct{ Source, Text string }
		require.NoError(t, lines.Decode(&line))
		all[line.Source] = line.Text
	}
	return all
}

// felt learns markers from one half of the strong episodes of a set, and measures texts of both halves and of neither.
func felt(t *testing.T, s set, e embedder, made observing.Made) (feelings, int) {
	t.Helper()
	memory, err := observing.Place(t.Context(), e.model, e.name, e.lexical, s.episodes)
	require.NoError(t, err)
	var reworded map[string]string
	if made == observing.InOther {
		reworded = rewordedOf(t, s)
	}
	all, count := feelings{}, 0
	for draw := range uint64(draws) {
		dice := rand.New(rand.NewPCG(draw, 21))
		strong := strongOf(s, dice)
		learned, leftOut := strong[:len(strong)/2], strong[len(strong)/2:]
		markers := memory.Learn(learned)
		count += markers.Count()
		for _, l := range observing.MakeMarked(s.episodes, learned, leftOut, made, reworded, ofEach, dice) {
			f, err := markers.Of(l)
			require.NoError(t, err)
			all[l.Kind] = append(all[l.Kind], f)
		}
	}
	return all, count / draws
}

// auc is how well a figure tells the texts of a kind from those of another.
func (f feelings) auc(kind, from observing.Kind, figure func(observing.Feeling) float64) float64 {
	values := func(kind observing.Kind) []float64 {
		var all []float64
		for _, each := range f[kind] {
			all = append(all, figure(each))
		}
		return all
	}
	return observing.AUC(values(kind), values(from))
}

func (f feelings) share(kind observing.Kind, is func(observing.Feeling) bool) float64 {
	n := 0
	for _, each := range f[kind] {
		if is(each) {
			n++
		}
	}
	return float64(n) / float64(len(f[kind]))
}

func near(f observing.Feeling) float64      { return f.Near }
func worth(f observing.Feeling) float64     { return f.Worth }
func relevance(f observing.Feeling) float64 { return f.Relevance }
func without(f observing.Feeling) float64   { return f.Without }
func fired(f observing.Feeling) bool        { return f.Fired }
func own(f observing.Feeling) bool          { return f.Own }

// A somatic marker tells texts about the moments that taught it from texts about others, from copies of these moments
// and from their words in random order. For texts of strong moments that taught nothing it fires about as often as for
// ordinary ones: that is the control.
func TestMarkersFireForWhatTaughtThem(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	table.WriteString("| texts | embedder | made of | markers | AUC against ordinary: marked | unlearned | " +
		"AUC of marked against junk: copied | shuffled | fires: marked | of these its own | unlearned | ordinary | " +
		"AUC of relevance: with markers | without |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, s := range sets(t) {
		for _, e := range embedders(t) {
			for _, made := range []observing.Made{observing.OfTwo, observing.OfOne, observing.InOther} {
				if s.dialogue && made == observing.InOther {
					continue
				}
				f, n := felt(t, s, e, made)
				fmt.Fprintf(&table, "| %s | %s | %s | %d | %s |\n", s.called(), e.called, made, n, f.cells(made))
				name := strings.Join([]string{s.name, e.name, string(made)}, ", ")
				marked, least := f.auc(observing.Marked, observing.Ordinary, near), .9
				if made == observing.InOther {
					least = .75
				} else if made == observing.OfTwo {
					require.Greater(t, f.auc(observing.Marked, observing.Copied, worth), .9, name)
					require.Greater(t, f.auc(observing.Marked, observing.Shuffled, worth), .9, name)
				}
				require.Greater(t, marked, least, name)
				require.Less(t, f.auc(observing.Unlearned, observing.Ordinary, near), .65, name+": the control")
				require.Greater(t, f.share(observing.Marked, fired), f.share(observing.Ordinary, fired)+.2, name)
			}
		}
	}
	t.Logf("%d texts of each kind:\n%s", draws*ofEach, table.String())
	if os.Getenv("UPDATE") == "table" {
		writeTable(t, "marked", table.String())
	}
}

func (f feelings) cells(made observing.Made) string {
	percent := func(v float64) string { return fmt.Sprintf("%.0f %%", 100*v) }
	firedOf := f.share(observing.Marked, fired)
	against := func(junk observing.Kind) string {
		if made == observing.OfOne { // which are copies themselves
			return "–"
		}
		return hundredths(f.auc(observing.Marked, junk, worth))
	}
	return strings.Join([]string{
		hundredths(f.auc(observing.Marked, observing.Ordinary, near)),
		hundredths(f.auc(observing.Unlearned, observing.Ordinary, near)),
		against(observing.Copied),
		against(observing.Shuffled),
		percent(firedOf),
		percent(f.share(observing.Marked, own) / max(firedOf, 1e-9)),
		percent(f.share(observing.Unlearned, fired)),
		percent(f.share(observing.Ordinary, fired)),
		hundredths(f.auc(observing.Marked, observing.Ordinary, relevance)),
		hundredths(f.auc(observing.Marked, observing.Ordinary, without)),
	}, " | ")
}

func hundredths(v float64) string { return strings.TrimPrefix(fmt.Sprintf("%.2f", v), "0") }
