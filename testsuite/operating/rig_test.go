package operating

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// patience bounds every wait of the rig; nothing is measured by it.
const patience = 90 * time.Second

// rig is what the compose file runs, as processes of this machine: Redis, Temporal, a worker and a server, with a
// provider of models beside them.
type rig struct {
	*testing.T
	ctx     context.Context
	dir     string
	program string
	env     []string
	worker  string // address of its metrics and probes
	server  string
	clients string // address of the server for clients

	endTemporal func()
}

// newRig starts the processes with the commands and settings of the compose file. Only addresses differ.
func newRig(t *testing.T) *rig {
	t.Helper()
	if testing.Short() {
		t.Skip("starts real servers; run without -short")
	}
	redis, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skipf("there is no redis-server: make redis installs it where apt-get can be used")
	}
	temporald := mustAbs(t, root+"/bin/temporald")
	require.FileExists(t, temporald, "make build builds it")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	r := &rig{T: t, ctx: ctx, dir: t.TempDir()}
	r.worker, r.server, r.clients = free(t), free(t), free(t)
	r.program = built(t, "./cmd/oneiros")
	provider := built(t, "./testsuite/provider/cmd")
	project, err := compose(ctx, composeFile)
	require.NoError(t, err)

	store, temporal := free(t), free(t)
	command := project.Services["redis"].Command
	require.Equal(t, "redis-server", command[0])
	_, port, err := net.SplitHostPort(store)
	require.NoError(t, err)
	r.begin(redis, nil, append(slices.Clone(command[1:]), "--port", port, "--bind", "127.0.0.1", "--dir",
		r.folder("redis"))...)
	_, port, err = net.SplitHostPort(temporal)
	require.NoError(t, err)
	args := strings.NewReplacer("/var/lib/oneiros", r.folder("temporal"), "0.0.0.0", "127.0.0.1", "7233", port)
	line, end := r.begin(temporald, nil, replaced(project.Services["temporal"].Command, args)...)
	r.firstLine(line)
	r.endTemporal = end
	line, _ = r.begin(provider, nil, "-first", "1ms", "-each", "100us", "-faulty", "0.1", "-faults", "429")
	url := r.firstLine(line)

	require.NoError(t, os.WriteFile(filepath.Join(r.dir, "oneiros.yaml"), fmt.Appendf(nil, settings, url), 0o600))
	here := strings.NewReplacer("redis:6379", store, "temporal:7233", temporal)
	for name, value := range project.Services["worker"].Environment {
		r.env = append(r.env, name+"="+here.Replace(*value))
	}
	slices.Sort(r.env)
	r.env = append(r.env, "HOME="+r.dir, "ONEIROS_CONFIG="+filepath.Join(r.dir, "oneiros.yaml"))
	r.dialed(store)
	r.begin(r.program, r.own(r.worker, free(t)), project.Services["worker"].Command...)
	r.begin(r.program, r.own(r.server, r.clients), project.Services["server"].Command...)
	return r
}

// settings are those that the compose file leaves to a file: a model that costs, and a cache that is too small.
const settings = `
providers:
  house:
    profile: generic
    base_url: %s
    models:
      - {name: script, price: {in: "0.15", out: "0.60"}}
roles: {generator: house/script}
serve: {model: house/script}
money: {fleet_day: "50"}
worker: {cache: 2}
feed: {listen: ""}
`

// free finds a port that nobody listens at, below those that a system gives to servers that ask for any: a program that
// begins later does not get it.
func free(t *testing.T) string {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 20_000+rand.IntN(12_000)))
		if err != nil {
			continue
		}
		require.NoError(t, l.Close())
		return l.Addr().String()
	}
	t.Fatal("no port is free")
	return ""
}

func replaced(list []string, by *strings.Replacer) (result []string) {
	for _, s := range list {
		result = append(result, by.Replace(s))
	}
	return result
}

func (r *rig) folder(name string) string {
	r.Helper()
	path := filepath.Join(r.dir, name)
	require.NoError(r, os.MkdirAll(path, 0o700))
	return path
}

// programs are what built has built, by path.
var programs struct {
	sync.Mutex
	files map[string]string
}

// built is a program of the product, built once in the product's own module.
func built(t *testing.T, path string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds programs; run without -short")
	}
	programs.Lock()
	defer programs.Unlock()
	if file := programs.files[path]; file != "" {
		return file
	}
	file := filepath.Join(folder, strings.ReplaceAll(strings.Trim(path, "./"), "/", "-"))
	cmd := exec.Command("go", "build", "-buildvcs=false", "-o", file, path)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	programs.files[path] = file
	return file
}

// folder holds the programs while the tests run.
var folder string

func TestMain(m *testing.M) { os.Exit(tested(m)) }

func tested(m *testing.M) int {
	dir, err := os.MkdirTemp("", "oneiros-operating-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, "make a folder for programs:", err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	folder, programs.files = dir, map[string]string{}
	return m.Run()
}

// own is the environment of a process with addresses of its own. All have the data folder, as in the compose file.
func (r *rig) own(metrics, clients string) []string {
	env := slices.DeleteFunc(slices.Clone(r.env), func(line string) bool {
		return strings.HasPrefix(line, "ONEIROS_METRICS_LISTEN=") || strings.HasPrefix(line, "ONEIROS_SERVE_LISTEN=")
	})
	return append(env, "ONEIROS_METRICS_LISTEN="+metrics, "ONEIROS_SERVE_LISTEN="+clients,
		"ONEIROS_DATA_DIR="+r.folder("data"))
}

// begin starts a process that ends with the test, and returns its output and what ends it sooner.
func (r *rig) begin(program string, env []string, args ...string) (io.Reader, func()) {
	r.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = env
	var log bytes.Buffer
	cmd.Stderr = &log
	output, err := cmd.StdoutPipe()
	require.NoError(r, err)
	require.NoError(r, cmd.Start())
	end := sync.OnceFunc(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		late := time.AfterFunc(5*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		late.Stop()
	})
	r.Cleanup(func() {
		end()
		if r.Failed() {
			r.Logf("%s %v:\n%s", filepath.Base(program), args, &log)
		}
	})
	return output, end
}

// firstLine waits for the line that says that a process is ready.
func (r *rig) firstLine(output io.Reader) string {
	r.Helper()
	line, err := bufio.NewReader(output).ReadString('\n')
	require.NoError(r, err)
	return strings.TrimSpace(line)
}

// until waits for something to be so.
func (r *rig) until(is func() bool, what string) {
	r.Helper()
	require.Eventually(r, is, patience, 20*time.Millisecond, what)
}

func (r *rig) dialed(address string) {
	r.Helper()
	r.until(func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	}, address)
}

// get asks an address, and returns status 0 where nobody answers.
func (r *rig) get(url string) (status int, body string) {
	r.Helper()
	answer, err := http.Get(url)
	if err != nil {
		return 0, ""
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	require.NoError(r, err)
	return answer.StatusCode, string(text)
}

// oneiros runs a command.
func (r *rig) oneiros(args ...string) string {
	r.Helper()
	cmd := exec.CommandContext(r.ctx, r.program, args...)
	cmd.Env = r.own("", "127.0.0.1:0")
	out, err := cmd.Output()
	require.NoError(r, err, "%v: %s", args, out)
	return string(out)
}

// talk says something to an agent and returns the status of the answer.
func (r *rig) talk(secret, agent, text string) int {
	r.Helper()
	body, err := json.Marshal(map[string]any{
		"model": agent, "messages": []any{map[string]string{"role": "user", "content": text}},
	})
	require.NoError(r, err)
	q, err := http.NewRequestWithContext(r.ctx, http.MethodPost, "http://"+r.clients+"/v1/chat/completions", bytes.NewReader(body))
	require.NoError(r, err)
	q.Header.Set("Authorization", "Bearer "+secret)
	answer, err := http.DefaultClient.Do(q)
	require.NoError(r, err)
	defer func() { _ = answer.Body.Close() }()
	_, err = io.Copy(io.Discard, answer.Body)
	require.NoError(r, err)
	return answer.StatusCode
}

// sample is the labels of a series, with its name.
type sample map[string]string

// scrape reads the metrics of a process as Prometheus does, with the labels that scraping adds.
func (r *rig) scrape(address, component string) (text string, list []sample) {
	r.Helper()
	status, text := r.get("http://" + address + "/metrics")
	require.Equal(r, http.StatusOK, status)
	for _, s := range parsed(r.T, text) {
		maps.Copy(s, sample{"job": "oneiros", "instance": address, "component": component})
		list = append(list, s)
	}
	return text, append(list, sample{"__name__": "up", "job": "oneiros", "instance": address})
}
