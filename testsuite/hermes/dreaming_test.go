package hermes_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/testsuite/hermes"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
)

// night are settings with a model that dreams slowly, and with clients that are forgotten within a second or two.
const night = `consent: {auto_paid: true}
agent: {client_timeout: 1s, wake_lock: 1s, resume_after: 1s, jitter: 0s}
roles: {generator: night/script, observer: night/script, replay: night/script, imagination: night/script, integration: night/script}`

// Hermes wakes an agent in the middle of a dream, which answers at once; and lets it dream again.
func TestHermesWakesADreamingAgentAndWatchesItDream(t *testing.T) {
	t.Parallel()
	dreamer, err := provider.Start(provider.Options{Each: 3 * time.Millisecond, AtLeast: 40})
	require.NoError(t, err)
	t.Cleanup(dreamer.Close)
	model := fmt.Sprintf(`%s
  night:
    profile: generic
    base_url: %s
    models:
      - {name: script, price: {in: "0.15", cached_in: "0.075", out: "0.60"}, context: 32000, json: json_schema}`, free, dreamer.URL)
	m := buildWith(t, map[string][]hermes.Step{"Task after": {says("We went on.")}}, model, night, "up")
	diary, err := filepath.Abs(filepath.Join("..", "..", "docs", "examples", "diary.md"))
	require.NoError(t, err)
	m.must("memory", "import", "--agent", "iris", diary)
	res, err := http.Post(m.base+"/v1/dreams", "application/json", strings.NewReader(`{"agent":"iris","tier":"hardened"}`))
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, 2, res.StatusCode/100)
	m.eventually("it dreams", func() bool { return m.status().State == "dreaming" })

	term := m.open(t, 100, 40, m.apart(), "--workspace", m.folder(m.agent))
	term.shows("iris  awake")
	m.eventually("it is awake", func() bool { return m.status().State == "awake" })
	term.says("/dream")
	term.shows("interrupted; it may go on")
	term.press("Escape")
	term.shows("> Say something")
	term.says("Task after")
	term.shows("We went on.")
	require.Equal(t, "awake", m.status().State)

	term.says("/dream now")
	term.shows("let go, so that it can dream", "· dreaming")
	term.shows("· complete")
	term.press("Escape")
	term.shows("> Say something")
	term.says("Task after")
	term.shows("iris  awake")
	m.eventually("it is awake again", func() bool { return m.status().State == "awake" })
}
