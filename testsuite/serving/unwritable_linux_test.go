package serving_test

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
	"github.com/seed-56a03226/oneiros/testsuite/serving/talker"
)

const chatting = `{"model":"iris","messages":[{"role":"user","content":"My boat is called Zephyrine."}]}`

// TestAFullRedisIsToldToEveryClientAndStillRead fills the memory of the Redis server under a running deployment.
func TestAFullRedisIsToldToEveryClientAndStillRead(t *testing.T) {
	t.Parallel()
	store := redis.Start(t)
	h := prepared(t, "\nstore: {url: \""+store.URL+"\"}\n")
	limit := func(bytes string) {
		require.NoError(t, store.Dial(t).ConfigSet(t.Context(), "maxmemory", bytes).Err())
	}
	limit("100kb")
	h.refusesWrites("full", store.Address)
	h.findsRedisWrong("% of its memory is used")
	limit("0")
	h.recovers()
}

// TestAReplicaIsServedAndTakenIntoUseWhenItIsPromoted starts `oneiros up`, `oneiros serve` and `oneiros worker` on a
// replica, as a failover may leave it to them, and then promotes it.
func TestAReplicaIsServedAndTakenIntoUseWhenItIsPromoted(t *testing.T) {
	t.Parallel()
	primary := redis.Start(t, redis.Config("repl-diskless-sync-delay", "0"))
	h := build(t, talker.Options{}, provider.Options{}, quick+"\nstore: {url: \""+primary.URL+"\"}\n")
	h.must("agents", "add", "iris", "--persona", "a quiet research companion")
	h.must("memory", "import", "--agent", "iris", diary(t))
	replica := redis.Start(t, redis.ReplicaOf(primary))
	c := replica.Dial(t)
	require.Eventually(t, func() bool {
		return strings.Contains(c.Info(t.Context(), "replication").Val(), "master_link_status:up")
	}, time.Minute, 10*time.Millisecond)
	h.settings = quick + "\nstore: {url: \"" + replica.URL + "\"}\n"
	h.write()
	h.begin("up")
	serve := h.beside(h.settings)
	var beside output
	worker := serve.command("worker")
	worker.Stderr = &beside
	require.NoError(t, worker.Start())
	for _, said := range []*output{&h.err, &serve.err, &beside} {
		require.Eventually(t, func() bool {
			return strings.Contains(said.String(), "is a replica, and takes no writes until it is promoted")
		}, time.Minute, 20*time.Millisecond, "%s", said)
	}
	h.refusesWrites("read-only", replica.Address)
	h.findsRedisWrong("it is a replica, and takes no writes until it is promoted")
	require.NoError(t, c.Do(t.Context(), "REPLICAOF", "NO", "ONE").Err())
	status, _, body := http.StatusOK, http.Header{}, ""
	require.Eventually(t, func() bool {
		status, _, body = serve.ask(http.MethodPost, "/v1/chat/completions", chatting)
		return status == http.StatusOK
	}, 30*time.Second, 50*time.Millisecond, "%s", body)
	require.NoError(t, worker.Process.Signal(os.Interrupt))
	require.NoError(t, worker.Wait(), "%s", &beside)
	serve.end()
	h.recovers()
}

// TestAFullDiskIsToldToEveryClientAndStillRead fills the disk of the SQLite file under a running deployment.
func TestAFullDiskIsToldToEveryClientAndStillRead(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts real servers")
	}
	dir := t.TempDir()
	err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=24m")
	if err != nil {
		t.Skipf("a small disk needs the right to mount one: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	h := prepared(t, "\nstore: {path: \""+filepath.Join(dir, "oneiros.db")+"\"}\n")
	filler := filepath.Join(dir, "filler")
	f, err := os.Create(filler)
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	full := func() bool { // the log of earlier writes is used again until it is full
		for size := 1 << 20; size > 0; size /= 2 {
			for err = nil; err == nil; {
				_, err = f.Write(bytes.Repeat([]byte{1}, size))
			}
		}
		status, _, _ := h.ask(http.MethodGet, "/readyz", "")
		return status == http.StatusServiceUnavailable
	}
	require.Eventually(t, full, 2*time.Minute, 50*time.Millisecond)
	h.refusesWrites("full", dir)
	require.NoError(t, os.Truncate(filler, 0))
	h.recovers()
}

// prepared runs a deployment with one agent that has memories.
func prepared(t *testing.T, store string) *deployment {
	t.Helper()
	h := build(t, talker.Options{}, provider.Options{}, quick+store)
	h.must("agents", "add", "iris", "--persona", "a quiet research companion")
	h.must("memory", "import", "--agent", "iris", diary(t))
	return h.begin("up")
}

// refusesWrites fails unless every API says plainly that the store takes no writes, and what is kept can be read.
func (h *deployment) refusesWrites(why, secret string) {
	h.Helper()
	require.Eventually(h, func() bool {
		status, _, body := h.ask(http.MethodGet, "/readyz", "")
		return status == http.StatusServiceUnavailable &&
			strings.Contains(body, `"store":"takes no writes: `+why+`"`) && !strings.Contains(body, secret)
	}, 30*time.Second, 50*time.Millisecond)
	for _, request := range []struct{ path, body string }{
		{"/v1/chat/completions", chatting},
		{"/v1/dreams", `{"agent":"iris"}`},
		{"/v1/rooms", `{"id":"hall","title":"The hall"}`},
		{"/v1/agents/iris/session", `{"ttl":60}`},
	} {
		status, header, body := h.ask(http.MethodPost, request.path, request.body)
		require.Equal(h, http.StatusServiceUnavailable, status, "%s: %s", request.path, body)
		require.NotEmpty(h, header.Get("Retry-After"), request.path)
		require.Contains(h, body, `"code":"store_unwritable"`, request.path)
		require.Contains(h, body, "takes no writes now ("+why+")", request.path)
		require.NotContains(h, body, secret, request.path)
	}
	status, _, body := h.ask(http.MethodPost, "/v1/rooms", `{"id":"hall"}`, "Idempotency-Key", "once")
	require.Equal(h, http.StatusServiceUnavailable, status, body)
	require.Contains(h, body, `"code":"store_unwritable"`)

	session, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(h.Context(),
		&mcp.StreamableClientTransport{Endpoint: strings.TrimSuffix(h.base, "/v1") + "/mcp"}, nil)
	require.NoError(h, err)
	defer func() { _ = session.Close() }()
	answer, err := session.CallTool(h.Context(), &mcp.CallToolParams{
		Name: "store_memory", Arguments: map[string]any{"agent": "iris", "content": "The boat is blue."},
	})
	require.NoError(h, err)
	require.True(h, answer.IsError)
	text := answer.Content[0].(*mcp.TextContent).Text
	require.Contains(h, text, "takes no writes now ("+why+")")
	require.Contains(h, text, "try again in 10 s")

	for _, path := range []string{"/v1/models", "/v1/dreams?agent=iris", "/v1/rooms", "/v1/agents/iris/status"} {
		status, _, body := h.ask(http.MethodGet, path, "")
		require.Equal(h, http.StatusOK, status, "%s: %s", path, body)
	}
	h.must("dreams", "list", "--agent", "iris")
	h.must("memory", "search", "--agent", "iris", "boat")
	backup := filepath.Join(h.TempDir(), "backup.oneiros")
	h.must("store", "export", backup)
	require.FileExists(h, backup)
	for _, c := range []struct {
		command string
		says    string
		code    int
	}{{"doctor", "takes no writes (" + why + ")", 1}, {"health", "iris", 0}} {
		var out, beside bytes.Buffer
		cmd := h.command("--json", c.command)
		cmd.Stdout, cmd.Stderr = &out, &beside
		_ = cmd.Run()
		require.Contains(h, out.String(), c.says, "%s: %s", c.command, &beside)
		if c.code != 0 {
			require.Equal(h, c.code, cmd.ProcessState.ExitCode(), &out)
		}
	}
}

// findsRedisWrong fails unless health and /metrics show what is wrong with the Redis server.
func (h *deployment) findsRedisWrong(says string) {
	h.Helper()
	out, _ := h.command("--json", "health").Output()
	require.Contains(h, string(out), says)
	require.Contains(h, string(out), `"name": "redis"`)
	status, _, body := h.ask(http.MethodGet, "/metrics", "")
	require.Equal(h, http.StatusOK, status)
	require.Contains(h, body, "oneiros_store_memory_bytes ")
}

// recovers fails unless the deployment works again by itself.
func (h *deployment) recovers() {
	h.Helper()
	require.Eventually(h, func() bool {
		status, _, _ := h.ask(http.MethodGet, "/readyz", "")
		return status == http.StatusOK
	}, 30*time.Second, 50*time.Millisecond)
	status, _, body := h.ask(http.MethodPost, "/v1/chat/completions", chatting)
	require.Equal(h, http.StatusOK, status, body)
	h.end()
}
