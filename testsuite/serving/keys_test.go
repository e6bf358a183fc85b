package serving_test

import (
	"bufio"
	"bytes"
	"database/sql"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // to damage a store from outside

	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/serving/talker"
)

const onLoopback = `serve: {listen: "127.0.0.1:0", model: talk/talker}`

// data is a file of the machine's data folder.
func (h *deployment) data(name string) string {
	return filepath.Join(h.dir, ".local", "share", "oneiros", name)
}

// damage runs statements against the store's file.
func (h *deployment) damage(statements ...string) {
	h.Helper()
	db, err := sql.Open("sqlite", "file:"+h.data("oneiros.db")+"?_pragma=busy_timeout(10000)")
	require.NoError(h, err)
	defer func() { require.NoError(h, db.Close()) }()
	for _, statement := range statements {
		_, err = db.ExecContext(h.Context(), statement)
		require.NoError(h, err)
	}
}

// addKey makes a key, and answers its id and its secret.
func (h *deployment) addKey(args ...string) (id, secret string, first bool) {
	h.Helper()
	var made struct {
		ID, Secret string
		First      bool
	}
	require.NoError(h,
		json.Unmarshal([]byte(h.must(append([]string{"--json", "keys", "add", "laptop"}, args...)...)), &made))
	return made.ID, made.Secret, made.First
}

// becomes waits until a request is answered with a status, and returns the code of the answer.
func (h *deployment) becomes(status int, header ...string) string {
	h.Helper()
	var got int
	var body string
	require.Eventually(h, func() bool {
		got, _, body = h.ask(http.MethodGet, "/v1/models", "", header...)
		return got == status
	}, 10*time.Second, 50*time.Millisecond)
	var answer struct{ Error struct{ Code string } }
	require.NoError(h, json.Unmarshal([]byte(body), &answer))
	return answer.Error.Code
}

func TestTheFirstKeyClosesEveryServerThatRuns(t *testing.T) {
	t.Parallel()
	h := build(t, talker.Options{}, provider.Options{}, onLoopback)
	h.must("agents", "add", "iris")
	h.begin("up")
	beside := &deployment{
		TB:      t,
		dir:     h.dir,
		env:     h.env,
		talker:  h.talker,
		dreamer: h.dreamer,
	}
	beside.begin("serve")
	for _, s := range []*deployment{h, beside} {
		s.becomes(http.StatusOK)
	}
	held, err := http.Get(beside.base + "/agents/iris/session")
	require.NoError(t, err)
	defer func() { _ = held.Body.Close() }()
	require.Equal(t, http.StatusOK, held.StatusCode)

	_, secret, first := h.addKey()
	require.True(t, first)
	for _, s := range []*deployment{h, beside} {
		require.Equal(t, "invalid_api_key", s.becomes(http.StatusUnauthorized))
		s.becomes(http.StatusOK, "Authorization", "Bearer "+secret)
	}
	for lines := bufio.NewReader(held.Body); err == nil; { // a stream that began without a key ends
		_, err = lines.ReadString('\n')
	}
	_, _, first = h.addKey()
	require.False(t, first)
	require.FileExists(t, h.data("keys-required"))
	beside.end()
	h.end()
}

// A container serves all addresses from its start, and is given its first key when it runs.
func TestAServerThatOthersReachWaitsForItsFirstKey(t *testing.T) {
	t.Parallel()
	everywhere := strings.Replace(onLoopback, "127.0.0.1:0", "0.0.0.0:0", 1)
	h := build(t, talker.Options{}, provider.Options{}, everywhere)
	require.Contains(t, h.refusedBy(2, "up"), "set serve.keys to required")
	h.settings = strings.Replace(everywhere, "{", "{keys: required, ", 1)
	h.write()
	h.must("agents", "add", "iris")
	h.begin("up")
	require.Equal(t, "invalid_api_key", h.becomes(http.StatusUnauthorized))
	at, err := url.Parse(h.base)
	require.NoError(t, err)
	h.env = append(h.env, "ONEIROS_SERVE_LISTEN=0.0.0.0:"+at.Port())
	require.Contains(t, h.must("ready"), "status    ready")
	require.Contains(t, h.must("doctor"), "no key yet")
	_, secret, first := h.addKey()
	require.True(t, first)
	h.becomes(http.StatusOK, "Authorization", "Bearer "+secret)
	require.Contains(t, h.refusedBy(4, "chat", "iris", "-m", "Hello."), "oneiros keys add")
	h.env = append(h.env, "ONEIROS_KEY="+secret)
	require.Equal(t, "I heard: Hello.\n", h.must("chat", "Iris", "-m", "Hello."))
	require.Eventually(t, func() bool {
		_, _, body := h.ask(http.MethodGet, "/v1/agents/iris/status", "", "Authorization", "Bearer "+secret)
		return strings.Contains(body, `"leases":0`)
	}, 10*time.Second, 50*time.Millisecond, "the agent is let go when the talk ends")
	h.end()
	require.Contains(t, h.refusedBy(5, "chat", "iris", "-m", "Hello."), "oneiros up")
	require.Contains(t, h.refusedBy(5, "ready"), "no server for clients answers here")
}

func TestADeploymentWhoseKeysVanishStaysClosedUntilItIsOpened(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(h *deployment){
		"only the folder remembers": func(h *deployment) {
			h.damage("DELETE FROM keys", "DELETE FROM access_settings")
		},
		"only the store remembers": func(h *deployment) {
			h.damage("DELETE FROM keys")
			require.NoError(h, os.Remove(h.data("keys-required")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := build(t, talker.Options{}, provider.Options{}, onLoopback)
			h.must("agents", "add", "iris")
			_, secret, first := h.addKey()
			require.True(t, first)
			lose(h)
			h.begin("up")
			require.Contains(t, h.err.String(), "oneiros keys open")
			require.Equal(t, "keys_missing", h.becomes(http.StatusServiceUnavailable))
			require.Equal(t, "keys_missing",
				h.becomes(http.StatusServiceUnavailable, "Authorization", "Bearer "+secret))
			_, _, body := h.ask(http.MethodGet, "/v1/models", "")
			require.Contains(t, body, "oneiros keys add NAME")
			require.Contains(t, body, "Restore it from a copy")
			status, _, _ := h.ask(http.MethodGet, "/healthz", "")
			require.Equal(t, http.StatusOK, status)
			require.Contains(t, h.refusedBy(1, "doctor"), "answers nobody")
			require.Contains(t, h.refusedBy(4, "keys", "open"), "add --yes")
			require.Equal(t, "keys_missing", h.becomes(http.StatusServiceUnavailable))

			h.must("keys", "open", "--yes")
			h.becomes(http.StatusOK)
			require.NoFileExists(t, h.data("keys-required"))

			id, again, first := h.addKey()
			require.True(t, first)
			h.becomes(http.StatusUnauthorized)
			h.becomes(http.StatusOK, "Authorization", "Bearer "+again)
			require.Contains(t, h.refusedBy(4, "keys", "open", "--yes"), "a key is live")
			h.must("keys", "revoke", id)
			require.Equal(t, "invalid_api_key", h.becomes(http.StatusUnauthorized, "Authorization", "Bearer "+again))
			h.end()
		})
	}
}

// refusedBy runs a command that must end with this exit code, and returns its output.
func (h *deployment) refusedBy(code int, args ...string) string {
	h.Helper()
	var answer bytes.Buffer
	cmd := h.command(args...)
	cmd.Stdout, cmd.Stderr = &answer, &answer
	var exit *exec.ExitError
	require.ErrorAs(h, cmd.Run(), &exit, "%v: %s", args, &answer)
	require.Equal(h, code, exit.ExitCode(), "%v: %s", args, &answer)
	return strings.Join(strings.Fields(answer.String()), " ")
}

func TestAServerThatRequiresKeysNeverAnswersWithoutOne(t *testing.T) {
	t.Parallel()
	h := build(t, talker.Options{}, provider.Options{},
		`serve: {listen: "127.0.0.1:0", model: talk/talker, keys: required}`)
	h.begin("up")
	require.Contains(t, h.err.String(), "serve.keys is required and there is no key yet")
	require.Equal(t, "invalid_api_key", h.becomes(http.StatusUnauthorized))
	require.NoFileExists(t, h.data("keys-required"), "no key was ever made")
	_, secret, _ := h.addKey()
	h.becomes(http.StatusOK, "Authorization", "Bearer "+secret)
	h.end()

	wrong := build(t, talker.Options{}, provider.Options{}, `serve: {keys: sometimes}`)
	require.Contains(t, wrong.refusedBy(2, "up"), `serve.keys is "sometimes"; it must be one of auto, required`)
}

func TestWithoutKeysProxiedRequestsAreRefused(t *testing.T) {
	t.Parallel()
	h := build(t, talker.Options{}, provider.Options{}, onLoopback)
	h.begin("up")
	h.becomes(http.StatusOK)
	for _, name := range []string{
		"Via", "Forwarded", "X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "X-Real-IP", "X-Client-IP",
		"X-Cluster-Client-IP",
		"True-Client-IP", "CF-Connecting-IP", "Fly-Client-IP", "Fastly-Client-IP", "Tailscale-User-Login",
	} {
		for path, method := range map[string]string{
			"/v1/models":           http.MethodGet,
			"/v1/chat/completions": http.MethodPost, "/mcp": http.MethodPost,
		} {
			status, _, body := h.ask(method, path, "{}", name, "203.0.113.9")
			require.Equal(t, http.StatusForbidden, status, "%s %s: %s", name, path, body)
			require.Contains(t, body, `"forwarded"`)
		}
	}
	for _, key := range []bool{false, true} {
		if key {
			h.addKey()
			h.becomes(http.StatusUnauthorized)
		}
		for _, path := range []string{
			"/.well-known/oauth-protected-resource",
			"/.well-known/oauth-authorization-server/mcp", "/.well-known/openid-configuration",
		} {
			status, _, body := h.ask(http.MethodGet, path, "")
			require.Equal(t, http.StatusNotFound, status, body)
			require.Contains(t, body, `"unknown_path"`)
		}
	}
	status, _, _ := h.ask(http.MethodPost, "/register", "{}")
	require.Equal(t, http.StatusUnauthorized, status)
	h.end()
}
