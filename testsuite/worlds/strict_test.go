package worlds_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/prediction"
	"github.com/seed-56a03226/oneiros/testsuite/worlds"
)

// strictly judges by the preset strict. Three outcomes decide each claim, so that all true ones with three count.
var strictly = judging{worlds.PlayStrict, prediction.Attempts}

// The preset strict is published beside the default and not bounded. Three confirmations let more claims pass that know
// nothing, and fewer that hold.
func TestTheStrictPresetIsPublishedBesideTheDefault(t *testing.T) {
	t.Parallel()
	n, accuracies := few, fewAccuracies
	if full {
		n, accuracies = many, manyAccuracies
	}
	var table strings.Builder
	table.WriteString("| claims that are rules | preset | claims that know nothing | of these passed | mean share of false ones " +
		"among those that passed | true ones that passed within 20 outcomes | outcomes until then, median | " +
		"retired once the rule stopped | after outcomes | retired while they held |\n" +
		"|---|---|---|---|---|---|---|---|---|---|\n")
	for _, accuracy := range accuracies {
		measured, strict := playDefault(frozen, n, accuracy), play(frozen, n, accuracy, strictly)
		fmt.Fprintf(&table, "| %.0f %% | `measured` | %s |\n", 100*accuracy, measured.cells())
		fmt.Fprintf(&table, "| %.0f %% | `strict` | %s |\n", 100*accuracy, strict.cells())
		t.Logf("accuracy %v: claims that know nothing come true in %.1f %% of %d outcomes; by default %d true ones were "+
			"dropped before their twentieth outcome", accuracy, 100*share(strict.hits, strict.tries), strict.tries,
			measured.early)
		require.Greater(t, share(strict.falsely, strict.nulls), share(measured.falsely, measured.nulls))
		if accuracy < powerful {
			continue
		}
		require.Less(t, share(strict.soon, strict.able), share(measured.soon, measured.able))
		require.Equal(t, prediction.Attempts, median(strict.until))
		require.Greater(t, median(measured.until), prediction.Attempts)
	}
	t.Logf("%d worlds a row:\n%s", n, table.String())
	if os.Getenv("UPDATE") == "table" {
		writeTable(t, table.String())
	}
}

// cells are the figures of one row.
func (f *figures) cells() string {
	power, until := "-", "-"
	if f.able > 0 {
		power, until = fmt.Sprintf("%.0f %% of %d", 100*share(f.soon, f.able), f.able), fmt.Sprint(median(f.until))
	}
	stopped, after := "-", "-"
	if f.drifted > 0 {
		stopped = fmt.Sprintf("%d of %d", f.retired, f.drifted)
		after = fmt.Sprintf("%.1f", share(f.delay, f.retired))
	}
	return strings.Join([]string{
		fmt.Sprint(f.nulls),
		fmt.Sprintf("%d, %.2f %%", f.falsely, 100*share(f.falsely, f.nulls)),
		fmt.Sprintf("%.1f %%", 100*f.proportion/float64(f.worlds)),
		power, until, stopped, after,
		fmt.Sprintf("%d in %d outcomes", f.lost, f.kept),
	}, " | ")
}

func median(values []int) int {
	if len(values) == 0 {
		return 0
	}
	values = slices.Sorted(slices.Values(values))
	return values[len(values)/2]
}

// writeTable puts the table between its marks in the page of measurements.
func writeTable(t *testing.T, table string) {
	t.Helper()
	page := filepath.Join("..", "..", "docs", "measurements", "gate.md")
	data, err := os.ReadFile(page)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(data), "<!-- presets -->\n")
	require.True(t, found)
	_, after, found := strings.Cut(rest, "<!-- end -->\n")
	require.True(t, found)
	whole := before + "<!-- presets -->\n" + table + "<!-- end -->\n" + after
	require.NoError(t, os.WriteFile(page, []byte(whole), 0o644))
}
