package operating

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	alerts      = root + "/docs/dashboards/alerts.yaml"
	chartAlerts = chart + "/files/alerts.yaml"
)

func TestTheChartHasTheAlerts(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile(alerts)
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.WriteFile(chartAlerts, want, 0o644))
	}
	got, err := os.ReadFile(chartAlerts)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "run go -C testsuite/operating test -run Chart -update .")
}

func TestPrometheusTakesTheAlerts(t *testing.T) {
	t.Parallel()
	out, err := run(t, tool(t, "promtool"), "check", "rules", "--lint=all", "--lint-fatal", alerts)
	require.NoError(t, err, out)
}
