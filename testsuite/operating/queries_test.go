package operating

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"
)

// parsed reads a scrape with Prometheus' own parser.
func parsed(t *testing.T, text string) (list []sample) {
	t.Helper()
	p := textparse.NewPromParser([]byte(text), labels.NewSymbolTable(), false)
	for {
		kind, err := p.Next()
		if errors.Is(err, io.EOF) {
			return list
		}
		require.NoError(t, err)
		if kind == textparse.EntrySeries {
			var found labels.Labels
			p.Labels(&found)
			list = append(list, found.Map())
		}
	}
}

// query is an expression and where it stands.
type query struct{ where, expr string }

// queries are those of the dashboard's panels and of the alerts.
func queries(t *testing.T) (list []query) {
	t.Helper()
	body, err := os.ReadFile(root + "/docs/dashboards/oneiros.json")
	require.NoError(t, err)
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal(body, &board))
	for _, panel := range board.Panels {
		for _, target := range panel.Targets {
			list = append(list, query{"panel " + panel.Title, strings.ReplaceAll(target.Expr, "$__rate_interval",
				"5m")})
		}
	}
	require.Greater(t, len(list), 20)
	for _, r := range rules(t) {
		list = append(list, query{"alert " + r.Alert, r.Expr})
	}
	return list
}

// faults says what an expression asks for that no series has: metrics, labels, and values that a label never has.
func (q query) faults(series []sample) (faults []string) {
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(q.expr)
	if err != nil {
		return []string{err.Error()}
	}
	have := map[string]bool{} // the labels of all metrics that the expression names
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		s, ok := n.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		found := named(series, s.Name)
		if len(found) == 0 {
			faults = append(faults, "there is no metric "+s.Name)
		}
		for _, one := range found {
			for label := range one {
				have[label] = true
			}
		}
		for _, m := range s.LabelMatchers {
			faults = append(faults, unmatched(found, m)...)
		}
		return nil
	})
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		if a, ok := n.(*parser.AggregateExpr); ok {
			for _, label := range a.Grouping {
				if !have[label] {
					faults = append(faults, "no metric of it has the label "+label)
				}
			}
		}
		return nil
	})
	return faults
}

func named(series []sample, name string) (found []sample) {
	for _, s := range series {
		if s["__name__"] == name {
			found = append(found, s)
		}
	}
	return found
}

// unmatched says which values of a matcher no series has. A matcher that only leaves series out needs the label alone.
func unmatched(found []sample, m *labels.Matcher) (faults []string) {
	values := map[string]bool{}
	for _, s := range found {
		if value, ok := s[m.Name]; ok {
			values[value] = true
		}
	}
	if len(found) > 0 && len(values) == 0 {
		return []string{fmt.Sprintf("no series has the label %s", m.Name)}
	}
	expected := m.SetMatches()
	if m.Type == labels.MatchEqual {
		expected = []string{m.Value}
	}
	for _, value := range expected {
		if len(found) > 0 && m.Type != labels.MatchNotRegexp && m.Type != labels.MatchNotEqual && !values[value] {
			faults = append(faults, fmt.Sprintf("no series has %s=%q", m.Name, value))
		}
	}
	return faults
}

func TestAQueryForWhatIsNotThereIsFound(t *testing.T) {
	t.Parallel()
	series := parsed(t, "# TYPE a_total counter\na_total{end=\"answered\"} 1\nb 2\n")
	for expr, want := range map[string][]string{
		`sum by (end) (rate(a_total{end="answered"}[5m])) / b`: nil,
		`a_total{end!="dropped"}`:                              nil,
		`rate(c_total[5m])`:                                    {"there is no metric c_total"},
		`a_total{outcome="answered"}`:                          {"no series has the label outcome"},
		`a_total{end="broken"}`:                                {`no series has end="broken"`},
		`a_total{end=~"answered|failed"}`:                      {`no series has end="failed"`},
		`sum by (path) (a_total)`:                              {"no metric of it has the label path"},
	} {
		require.Equal(t, want, query{"test", expr}.faults(series), expr)
	}
	require.NotEmpty(t, query{"test", "sum by (a"}.faults(series))
}

// A deployment as the compose file has it lives a little: agents dream, somebody talks, the provider refuses some calls,
// and Temporal goes away. What its two processes then show to Prometheus has everything that the dashboard and the alerts ask for.
func TestTheDashboardAndTheAlertsAskForWhatADeploymentShows(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for name, address := range map[string]string{"worker": r.worker, "server": r.server} {
		r.until(func() bool {
			status, _ := r.get("http://" + address + "/readyz")
			return status == http.StatusOK
		}, name+" is not ready")
		status, _ := r.get("http://" + address + "/healthz")
		require.Equal(t, http.StatusOK, status, name)
	}
	_, key, found := strings.Cut(r.oneiros("keys", "add", "first", "--role", "owner"), "oneiros_")
	require.True(t, found)
	secret := "oneiros_" + strings.Fields(key)[0]
	for _, agent := range []string{"iris", "echo"} {
		r.oneiros("agents", "add", agent)
		r.oneiros("memory", "import", "--no-vectors", "--agent", agent, mustAbs(t, root+"/docs/examples/diary.md"))
		r.oneiros("dream", "--agent", agent, "--yes")
	}
	r.until(func() bool {
		return r.talk(secret, "echo", "Hello.") == http.StatusOK
	}, "the server does not take the key")
	require.Contains(t, r.oneiros("doctor"), "redis", "what the chart's test pod runs finds nothing wrong")
	refused := false
	for i := 0; !refused && i < 200; i++ {
		refused = r.talk(secret, "echo", fmt.Sprint("What happened on day ", i, "?")) == http.StatusTooManyRequests
	}
	require.True(t, refused, "the provider refuses no call")
	wanted := queries(t)
	bridge, err := os.ReadFile(root + "/internal/telemetry/testdata/outward.prom") // it bridges no homeserver
	require.NoError(t, err)
	bridged := slices.DeleteFunc(parsed(t, string(bridge)), func(s sample) bool {
		return !strings.HasPrefix(s["__name__"], "oneiros_matrix_")
	})
	var texts, faults []string
	for again := time.NewTicker(time.Second); ; <-again.C {
		workerText, ofWorker := r.scrape(r.worker, "worker")
		serverText, ofServer := r.scrape(r.server, "server")
		texts, faults = []string{workerText, serverText}, nil
		for _, q := range wanted {
			for _, fault := range q.faults(slices.Concat(ofWorker, ofServer, bridged)) {
				faults = append(faults, fmt.Sprintf("%s: %s: %s", q.where, fault, q.expr))
			}
		}
		deadline, _ := r.ctx.Deadline()
		if done := len(faults) == 0 && ended.MatchString(workerText); done || time.Until(deadline) < patience/4 {
			break
		}
		if ended.MatchString(workerText) { // what the SDK shows of failures is there from the first one on
			r.endTemporal()
			r.talk(secret, "iris", "Are you awake?")
		}
	}
	require.Empty(t, faults, r.oneiros("dreams", "list", "--all"))
	require.Regexp(t, ended, texts[0])
	promtool := tool(t, "promtool")
	for _, text := range texts {
		require.Empty(t, unclean(t, promtool, text))
	}
}

// ended is the figure of dreams that ended for good.
var ended = regexp.MustCompile(`(?m)^oneiros_dreams_total\{outcome="\w+"\} [1-9]`)

// unclean is what promtool finds wrong with our own metrics; those of Temporal's SDK have no help text.
func unclean(t *testing.T, promtool, text string) (faults []string) {
	t.Helper()
	cmd := exec.Command(promtool, "check", "metrics")
	cmd.Stdin = strings.NewReader(text)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	require.True(t, err == nil || errors.As(err, &exit) && exit.ExitCode() == 3, "%v: %s", err, out)
	for line := range strings.Lines(string(out)) {
		if !strings.HasPrefix(line, "temporal_") || !strings.HasSuffix(line, " no help text\n") {
			faults = append(faults, line)
		}
	}
	return faults
}

func TestAnUncleanMetricIsFound(t *testing.T) {
	t.Parallel()
	promtool := tool(t, "promtool")
	require.NotEmpty(t, unclean(t, promtool, "# TYPE oneiros_turns counter\noneiros_turns 1\n"))
	require.Empty(t, unclean(t, promtool,
		"# HELP oneiros_turns_total Turns.\n# TYPE oneiros_turns_total counter\noneiros_turns_total 1\n"))
}
