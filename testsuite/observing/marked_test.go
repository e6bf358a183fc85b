package observing_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/testsuite/observing"
)

// feelings are what texts of each kind do to the markers of a memory.
type feelings map[observing.Kind][]observing.Feeling

// draws is how often the strong episodes are divided into those that teach markers and those that are left out.
const draws = 5

// felt learns markers from one half of the strong episodes of a set, and measures texts of both halves and of neither.
func felt(t *testing.T, s set, e embedder, alone bool) (feelings, int) {
	t.Helper()
	memory, err := observing.Place(t.Context(), e.model, e.name, e.lexical, s.episodes)
	require.NoError(t, err)
	all, count := feelings{}, 0
	for draw := range uint64(draws) {
		dice := rand.New(rand.NewPCG(draw, 21))
		strong := observing.Strong(s.episodes, dice)
		learned, leftOut := strong[:len(strong)/2], strong[len(strong)/2:]
		markers := memory.Learn(learned)
		count += markers.Count()
		for _, l := range observing.MakeMarked(s.episodes, learned, leftOut, alone, ofEach, dice) {
			f, err := markers.Of(l)
			require.NoError(t, err)
			all[l.Kind] = append(all[l.Kind], f)
		}
	}
	return all, count / draws
}

// auc is how well a figure tells the texts of a kind from ordinary ones.
func (f feelings) auc(kind observing.Kind, figure func(observing.Feeling) float64) float64 {
	values := func(kind observing.Kind) []float64 {
		var all []float64
		for _, each := range f[kind] {
			all = append(all, figure(each))
		}
		return all
	}
	return observing.AUC(values(kind), values(observing.Ordinary))
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

func nearest(f observing.Feeling) float64   { return f.Nearest }
func relevance(f observing.Feeling) float64 { return f.Relevance }
func without(f observing.Feeling) float64   { return f.Without }
func fired(f observing.Feeling) bool        { return f.Fired }
func own(f observing.Feeling) bool          { return f.Own }

// Somatic markers are near to texts that are made of the memories that taught them, and fire for them more often than
// for texts of ordinary memories. For texts of strong moments that taught nothing they fire about as often as for
// ordinary ones: that is the control.
func TestMarkersFireForWhatTaughtThem(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	table.WriteString("| texts | embedder | made of | markers | AUC of the nearest marker: marked | unlearned | fires: marked | " +
		"of these its own | unlearned | ordinary | AUC of relevance: with markers | without |\n" +
		"|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, s := range sets(t)[:2] {
		for _, e := range embedders(t) {
			for _, alone := range []bool{false, true} {
				f, n := felt(t, s, e, alone)
				made := map[bool]string{false: "two memories", true: "one sentence"}[alone]
				fmt.Fprintf(&table, "| %s | %s | %s | %d | %s |\n", s.name, e.called, made, n, f.cells())
				name := strings.Join([]string{s.name, e.name, made}, ", ")
				marked, unlearned := f.auc(observing.Marked, nearest), f.auc(observing.Unlearned, nearest)
				require.Greater(t, marked, .55, name)
				require.Less(t, unlearned, .6, name+": the control")
				require.Greater(t, f.share(observing.Marked, fired), f.share(observing.Ordinary, fired)+.05, name)
				require.GreaterOrEqual(t, f.auc(observing.Marked, relevance), f.auc(observing.Marked, without), name)
			}
		}
	}
	t.Logf("%d texts of each kind:\n%s", draws*ofEach, table.String())
	if os.Getenv("UPDATE") == "table" {
		writeTable(t, "marked", table.String())
	}
}

func (f feelings) cells() string {
	percent := func(v float64) string { return fmt.Sprintf("%.0f %%", 100*v) }
	firedOf := f.share(observing.Marked, fired)
	return strings.Join([]string{
		hundredths(f.auc(observing.Marked, nearest)),
		hundredths(f.auc(observing.Unlearned, nearest)),
		percent(firedOf),
		percent(f.share(observing.Marked, own) / max(firedOf, 1e-9)),
		percent(f.share(observing.Unlearned, fired)),
		percent(f.share(observing.Ordinary, fired)),
		hundredths(f.auc(observing.Marked, relevance)),
		hundredths(f.auc(observing.Marked, without)),
	}, " | ")
}

func hundredths(v float64) string { return strings.TrimPrefix(fmt.Sprintf("%.2f", v), "0") }
