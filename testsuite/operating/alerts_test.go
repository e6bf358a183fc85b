package operating

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
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

// rule is an alert as its file has it.
type rule struct {
	Alert, Expr string
	Labels      map[string]string
	Annotations map[string]string
}

func rules(t *testing.T) (list []rule) {
	t.Helper()
	body, err := os.ReadFile(alerts)
	require.NoError(t, err)
	var file struct{ Groups []struct{ Rules []rule } }
	require.NoError(t, yaml.Unmarshal(body, &file))
	for _, g := range file.Groups {
		list = append(list, g.Rules...)
	}
	require.Greater(t, len(list), 30)
	return list
}

const alertTests = "testdata/alerts.test.yaml"

func TestEachAlertFiresWhenItMustAndOnlyThen(t *testing.T) {
	t.Parallel()
	out, err := run(t, tool(t, "promtool"), "test", "rules", alertTests)
	require.NoError(t, err, out)
}

func TestEachAlertHasTestsALevelAndARunbook(t *testing.T) {
	t.Parallel()
	body, err := os.ReadFile(alertTests)
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, r := range rules(t) {
		require.Regexp(t, `^Oneiros[A-Z]\w+$`, r.Alert)
		require.False(t, seen[r.Alert], r.Alert)
		seen[r.Alert] = true
		require.Contains(t, []string{"critical", "warning", "info"}, r.Labels["severity"], r.Alert)
		require.NotEmpty(t, r.Annotations["summary"], r.Alert)
		require.Regexp(t, `^docs/operations\.md#[a-z-]+$`, r.Annotations["runbook"], r.Alert)
		require.Contains(t, string(body), "name: "+r.Alert+" fires\n")
		require.Contains(t, string(body), "name: "+r.Alert+" is quiet\n")
	}
}
