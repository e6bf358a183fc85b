package telemetry_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/telemetry"
)

func TestTheHandbookListsTheMetrics(t *testing.T) {
	t.Parallel()
	const page, head = "../../docs/events.md", "| figure | labels | what it counts |\n|---|---|---|\n"
	requireRows(t, page, head, setup(t).meter(telemetry.Options{}).Figures())
}

// requireRows compares a page's table, which begins with head, with the metrics; with -update it writes the table.
func requireRows(t *testing.T, page, head string, figures []telemetry.Figure) {
	t.Helper()
	var rows strings.Builder
	for _, f := range figures {
		labels := "-"
		if len(f.Labels) > 0 {
			labels = "`" + strings.Join(f.Labels, "`, `") + "`"
		}
		fmt.Fprintf(&rows, "| `%s` | %s | %s |\n", f.Name, labels, strings.TrimSuffix(f.Help, "."))
	}
	body, err := os.ReadFile(page)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(body), head)
	require.True(t, found)
	shown, after := "", rest
	for strings.HasPrefix(after, "|") {
		row, more, _ := strings.Cut(after, "\n")
		shown, after = shown+row+"\n", more
	}
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(before+head+rows.String()+after), 0o644))
		return
	}
	require.Equal(t, rows.String(), shown, "run go test ./internal/telemetry -update")
}
