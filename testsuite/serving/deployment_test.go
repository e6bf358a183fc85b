package serving_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/testsuite/program"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/serving/talker"
)

const root = "../.."

func TestMain(m *testing.M) {
	if upstream := os.Getenv(reading); upstream != "" {
		panic(runReader(upstream))
	}
	if upstream := os.Getenv(barely); upstream != "" {
		panic(runCopier(upstream))
	}
	os.Exit(program.Main(m))
}

// output collects what a process writes, for reading while it runs.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (h *output) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.Write(p)
}

func (h *output) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

// deployment is a machine of its own on which `oneiros up` runs, with one model that talks and one that dreams.
type deployment struct {
	testing.TB
	dir      string
	env      []string
	talker   *talker.Talker
	dreamer  *provider.Server
	paid     string // more providers of oneiros.yaml
	settings string // of oneiros.yaml, without the providers
	native   bool   // the model that talks is known to speak every wire
	up       *exec.Cmd
	out, err output
	base     string // of the server, with /v1
	temporal string // its address
}

// build makes the machine; only the two models run on it yet.
func build(t testing.TB, talk talker.Options, asleep provider.Options, settings string) *deployment {
	t.Helper()
	if testing.Short() {
		t.Skip("starts real servers")
	}
	var err error
	server := os.Getenv("ONEIROS_TEMPORALD")
	if server == "" {
		server, err = filepath.Abs(filepath.Join(root, "bin", "temporald"))
		require.NoError(t, err)
	}
	require.FileExists(t, server, "make build builds it")
	h := &deployment{TB: t, dir: t.TempDir(), settings: settings}
	h.env = []string{"HOME=" + h.dir, "PATH=" + os.Getenv("PATH"), "ONEIROS_TEMPORALD=" + server}
	if folder := os.Getenv(program.ProfileVariable); folder != "" {
		h.env = append(h.env, program.ProfileVariable+"="+folder)
	}
	require.NoError(t, os.Symlink(program.Oneiros(t), filepath.Join(h.dir, "oneiros")))
	h.talker, err = talker.Start(talk)
	require.NoError(t, err)
	t.Cleanup(h.talker.Close)
	h.dreamer, err = provider.Start(asleep)
	require.NoError(t, err)
	t.Cleanup(h.dreamer.Close)
	h.write()
	return h
}

// wires are those that the configuration names of the model that talks.
func (h *deployment) wires() string {
	if h.native {
		return "[chat, responses, messages]"
	}
	return "[chat]"
}

// write writes the configuration.
func (h *deployment) write() {
	h.Helper()
	text := fmt.Sprintf(`providers:
  talk:
    profile: generic
    base_url: %s
    local: true
    wires: %s
    models: [{name: talker, context: 100000}]
  night:
    profile: generic
    base_url: %s
    models:
      - {name: script, price: {in: "0.15", cached_in: "0.075", out: "0.60"}, context: 32000, json: json_schema}
%sroles: {generator: night/script, observer: night/script, replay: night/script, imagination: night/script, integration: night/script}
feed: {listen: ""}
%s
`, h.talker.URL, h.wires(), h.dreamer.URL, h.paid, h.settings)
	require.NoError(h, os.WriteFile(filepath.Join(h.dir, "oneiros.yaml"), []byte(text), 0o600))
}

func (h *deployment) command(args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(h.dir, "oneiros"), args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = h.dir, h.env, 10*time.Second
	return cmd
}

// must runs one command to its end.
func (h *deployment) must(args ...string) string {
	h.Helper()
	var out, beside bytes.Buffer
	cmd := h.command(args...)
	cmd.Stdout, cmd.Stderr = &out, &beside
	require.NoError(h, cmd.Run(), "%v: %s", args, beside.String())
	return out.String()
}

// begin starts `oneiros up` and waits until clients are answered.
func (h *deployment) begin(command ...string) *deployment {
	h.Helper()
	h.up = h.command(append([]string{"--json"}, command...)...)
	h.up.Stdout, h.up.Stderr = &h.out, &h.err
	require.NoError(h, h.up.Start())
	h.Cleanup(func() { h.end() })
	var result struct {
		Places []struct{ Name, Where string }
	}
	require.Eventually(h, func() bool { return json.Unmarshal([]byte(h.out.String()), &result) == nil },
		2*time.Minute, 20*time.Millisecond, "%s", &h.err)
	for _, p := range result.Places {
		switch p.Name {
		case "serve":
			h.base, _, _ = strings.Cut(p.Where, " ")
		case "temporal":
			h.temporal, _, _ = strings.Cut(p.Where, " ")
		}
	}
	require.True(h, strings.HasPrefix(h.base, "http"), "%s%s", &h.out, &h.err)
	return h
}

// end stops it as a supervisor would, once.
func (h *deployment) end() {
	h.Helper()
	if h.up == nil {
		return
	}
	up := h.up
	h.up = nil
	require.NoError(h, up.Process.Signal(os.Interrupt))
	require.NoError(h, up.Wait(), "%s", &h.err)
}

// ask sends one request and reads its answer to the end.
func (h *deployment) ask(method, path, body string, header ...string) (int, http.Header, string) {
	h.Helper()
	r, err := http.NewRequestWithContext(h.Context(), method, strings.TrimSuffix(h.base, "/v1")+path,
		strings.NewReader(body))
	require.NoError(h, err)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	require.NoError(h, err)
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	require.NoError(h, err)
	return res.StatusCode, res.Header, string(answer)
}

// status is what the server reports about an agent.
func (h *deployment) status(agent string) (s struct {
	State  string
	Leases int
	Dreams int
	Dream  string
},
) {
	h.Helper()
	code, _, body := h.ask(http.MethodGet, "/v1/agents/"+agent+"/status", "")
	require.Equal(h, http.StatusOK, code, body)
	require.NoError(h, json.Unmarshal([]byte(body), &s))
	return s
}

// quick are short settings of agents: a client that has left is forgotten within a second or two, and an interrupted
// dream resumes.
const quick = `serve: {listen: "127.0.0.1:0", model: talk/talker, rate: 0}
consent: {auto_paid: true}
agent: {client_timeout: 1s, wake_lock: 1s, resume_after: 1s, jitter: 0s}`

// dreams begins a dream that has everything.
func (h *deployment) dreams(agent string) {
	h.Helper()
	status, _, body := h.ask(http.MethodPost, "/v1/dreams", `{"agent":"`+agent+`","tier":"hardened"}`)
	require.Equal(h, 2, status/100, body)
}

// diary is the sample diary of the handbook.
func diary(t testing.TB) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(root, "docs", "examples", "diary.md"))
	require.NoError(t, err)
	return path
}
