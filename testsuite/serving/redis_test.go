package serving_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
	"github.com/seed-56a03226/oneiros/testsuite/serving/talker"
)

// beside is another machine with the same models, store and Temporal, on which only `oneiros serve` runs.
func (h *deployment) beside(settings string) *deployment {
	h.Helper()
	b := &deployment{
		TB:       h.TB,
		dir:      h.TempDir(),
		talker:   h.talker,
		dreamer:  h.dreamer,
		settings: settings + "\ntemporal: {address: \"" + h.temporal + "\"}\n",
	}
	b.env = []string{"HOME=" + b.dir, "PATH=" + os.Getenv("PATH")}
	program, err := os.Readlink(filepath.Join(h.dir, "oneiros"))
	require.NoError(h, err)
	require.NoError(h, os.Symlink(program, filepath.Join(b.dir, "oneiros")))
	b.write()
	return b.begin("serve")
}

// TestTwoServersOverOneRedisAreOneToTheirClients runs `oneiros up` on one machine and `oneiros serve` on another,
// which share only Redis and Temporal. A dream begun at the one is woken at the other, what was said to the one is
// recalled by the other, a session opened at the other holds the agent awake and is ended at the one.
func TestTwoServersOverOneRedisAreOneToTheirClients(t *testing.T) {
	t.Parallel()
	store := redis.Start(t)
	settings := strings.Replace(quick, "model: talk/talker", "model: talk/talker, recall_budget: 5s", 1) +
		"\nstore: {url: \"" + store.URL + "\"}\n"
	up := build(t, talker.Options{}, provider.Options{Each: 3 * time.Millisecond, AtLeast: 40}, settings)
	up.must("agents", "add", "iris", "--persona", "a quiet research companion")
	up.must("memory", "import", "--agent", "iris", diary(t))
	up.begin("up")
	serve := up.beside(settings)
	require.NotEqual(t, up.base, serve.base)
	status, _, body := serve.ask(http.MethodGet, "/readyz", "")
	require.Equal(t, http.StatusOK, status, body)

	status, _, body = serve.ask(http.MethodPost, "/v1/dreams", `{"agent":"iris","tier":"hardened"}`)
	require.Equal(t, 2, status/100, body)
	var begun struct{ ID string }
	require.NoError(t, json.Unmarshal([]byte(body), &begun))
	up.until("iris", "dreaming")
	serve.until("iris", "dreaming")
	require.Eventually(t, func() bool { return up.dreamer.Billing.Streamed() > 20 }, 20*time.Second, 5*time.Millisecond)

	answer, header := serve.says(serve.client(), "iris", "My boat is called Zephyrine, she is blue.")
	require.Equal(t, "I heard: My boat is called Zephyrine, she is blue.", answer)
	require.Equal(t, "true", header.Get("X-Oneiros-Woke"))
	require.Equal(t, "1", header.Get("X-Oneiros-Epoch"))
	require.Empty(t, header.Get("X-Oneiros-Degraded"))
	status, _, body = serve.ask(http.MethodPost, "/v1/agents/iris/session", `{"id":"boat","ttl":3600}`)
	require.Equal(t, http.StatusOK, status, body)
	up.until("iris", "awake")
	require.Positive(t, up.status("iris").Leases)

	require.Eventually(t, func() bool {
		up.talker.Forget()
		_, header = up.says(up.client(), "iris", "What is my boat called, and what colour has she?")
		request := up.talker.Requests()
		return strings.Contains(string(request[len(request)-1].Body), "> My boat is called Zephyrine, she is blue.")
	}, 10*time.Second, 100*time.Millisecond, "what was said to one server is recalled by the other")
	require.Empty(t, header.Get("X-Oneiros-Recall-Skipped"))
	require.Empty(t, header.Get("X-Oneiros-Woke"), "the other server's client holds the agent awake here, too")

	require.Eventually(t, func() bool { return up.status("iris").Leases == 1 }, 20*time.Second, 20*time.Millisecond,
		"requests hold it for a second, the session goes on")
	require.Equal(t, "awake", up.status("iris").State)
	status, _, body = up.ask(http.MethodDelete, "/v1/agents/iris/session?id=boat", "")
	require.Equal(t, 2, status/100, body)
	require.Zero(t, serve.status("iris").Leases)

	completed := later(func() string {
		_, _, dream := serve.ask(http.MethodGet, "/v1/dreams/"+begun.ID, "")
		return dream
	})
	require.Eventually(t, func() bool { return strings.Contains(completed.String(), `"status":"completed"`) },
		time.Minute, 50*time.Millisecond, "left alone, it dreams on to the end: %s\n%s", completed, &up.err)
	_, _, body = serve.ask(http.MethodGet, "/v1/dreams/"+begun.ID+"/fragments", "")
	require.Contains(t, body, `"kind":"fragment"`)
	require.Empty(t, up.dreamer.Billing.Failed())

	keys, err := store.Dial(t).DBSize(t.Context()).Result()
	require.NoError(t, err)
	require.Positive(t, keys)
	for _, h := range []*deployment{up, serve} {
		var files []string
		require.NoError(t, filepath.WalkDir(h.dir, func(path string, _ os.DirEntry, err error) error {
			if filepath.Base(path) == "oneiros.db" {
				files = append(files, path)
			}
			return err
		}))
		require.Empty(t, files, "no file is left on a machine")
	}

	var beside bytes.Buffer
	move := up.command("store", "move", "--to", filepath.Join(t.TempDir(), "moved.db"))
	move.Stderr = &beside
	require.Error(t, move.Run())
	require.Contains(t, beside.String(), "2 workers and servers are connected to it")

	serve.end()
	up.end()
	store.Restart()
	up.out, up.err = output{}, output{}
	up.begin("up")
	up.talker.Forget()
	_, header = up.says(up.client(), "iris", "What is my boat called?")
	require.Contains(
		t,
		string(up.talker.Requests()[0].Body),
		"> My boat is called Zephyrine, she is blue.",
		"%v",
		header,
	)
	up.end()
}
