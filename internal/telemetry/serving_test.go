package telemetry_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/telemetry"
)

func TestTheServersMetricsCountItsResponses(t *testing.T) {
	t.Parallel()
	m := setup(t).meter(telemetry.Options{})
	m.Request("/v1/models", 200, 2*time.Millisecond, 40)
	m.Request("/v1/models", 401, time.Millisecond, 60)
	m.Request("", 404, time.Millisecond, 10)
	m.TurnBegins("/chat/completions")(telemetry.Turn{Chat: true, Status: 200, First: 3 * time.Millisecond, Woke: true})
	m.TurnBegins("/chat/completions")(telemetry.Turn{
		Chat:    true,
		Status:  200,
		First:   time.Millisecond,
		Skipped: "budget",
		Broken:  true,
		Late:    true,
	})
	m.TurnBegins("/chat/completions")(telemetry.Turn{Chat: true, Status: 429, Skipped: "a word nobody knows"})
	m.TurnBegins("/chat/completions")(telemetry.Turn{Chat: true, Status: 200, WordsOnly: "budget"})
	m.TurnBegins("/chat/completions")(telemetry.Turn{Chat: true, Status: 200, WordsOnly: "space", Skipped: "nothing"})
	m.TurnBegins("/embeddings")(telemetry.Turn{Dropped: true})
	m.TurnBegins("/chat/completions")
	text := scrape(t, m)
	for _, line := range []string{
		`oneiros_http_requests_total{route="/v1/models",status="200"} 1`,
		`oneiros_http_requests_total{route="/v1/models",status="401"} 1`,
		`oneiros_http_requests_total{route="other",status="404"} 1`,
		`oneiros_http_response_bytes_total{route="/v1/models"} 100`,
		`oneiros_turns_total{end="answered",path="chat"} 3`, `oneiros_turns_total{end="broken",path="chat"} 1`,
		`oneiros_turns_total{end="refused",path="chat"} 1`,
		`oneiros_turns_total{end="dropped",path="embeddings"} 1`, `oneiros_recalls_total{recall="recalled"} 1`,
		`oneiros_recalls_total{recall="budget"} 1`,
		`oneiros_recalls_total{recall="words"} 1`, `oneiros_recalls_total{recall="nothing"} 1`,
		`oneiros_recalls_words_only_total{why="budget"} 1`, `oneiros_recalls_words_only_total{why="space"} 1`,
		`oneiros_recalls_words_only_total{why="failed"} 0`,
		`oneiros_recalls_total{recall="other"} 1`, `oneiros_upstream_errors_total{kind="429"} 1`,
		`oneiros_upstream_errors_total{kind="broken"} 1`,
		`oneiros_turns_under_way{path="chat"} 1`, `oneiros_turns_woke_total 1`, `oneiros_turns_degraded_total 1`,
		`oneiros_turn_first_byte_seconds_bucket{path="chat",le="0.004"} 2`,
	} {
		require.Contains(t, text, line+"\n")
	}
}

const dashboard = "../../docs/dashboards/oneiros.json"

var figure = regexp.MustCompile(`\b(?:oneiros|go|process|temporal)_[a-z_]+`)

func TestTheDashboardUsesExistingMetricsOnly(t *testing.T) {
	t.Parallel()
	m := setup(t).meter(telemetry.Options{Server: func(context.Context) (memory.Condition, error) {
		return memory.Condition{}, nil
	}})
	m.Swept(memory.SweepState{}, time.Hour)
	values := map[string]bool{}
	for _, list := range [][]telemetry.Figure{m.Figures(), m.ServingFigures()} {
		for _, f := range list {
			values[f.Name] = true
			for _, part := range []string{"_bucket", "_sum", "_count"} {
				values[f.Name+part] = true
			}
		}
	}
	answer := httptest.NewRecorder()
	m.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for line := range strings.Lines(answer.Body.String()) {
		if name, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, _, _ = strings.Cut(name, " ")
			values[name] = true
		}
	}
	body, err := os.ReadFile(dashboard)
	require.NoError(t, err)
	var board struct {
		Title  string
		UID    string
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal(body, &board))
	require.NotEmpty(t, board.UID)
	requests := 0
	for _, panel := range board.Panels {
		require.NotEmpty(t, panel.Title)
		for _, target := range panel.Targets {
			names := figure.FindAllString(target.Expr, -1)
			require.NotEmpty(t, names, "%s: %s", panel.Title, target.Expr)
			for _, name := range names { // testsuite/operating looks for those of Temporal's SDK
				require.True(t, values[name] || strings.HasPrefix(name, "temporal_"),
					"panel %s uses the metric %s, which does not exist", panel.Title, name)
				requests++
			}
		}
	}
	require.Greater(t, requests, 20)
}

func TestTheHandbookListsTheServersMetrics(t *testing.T) {
	t.Parallel()
	const page, head = "../../docs/serving.md", "| figure | labels | what it counts |\n|---|---|---|\n"
	requireRows(t, page, head, setup(t).meter(telemetry.Options{}).ServingFigures())
}
