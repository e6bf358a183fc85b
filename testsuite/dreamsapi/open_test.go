package dreamsapi_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/journal"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/dreamhttp"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/serving/described"
	"github.com/seed-56a03226/oneiros/testsuite/temporal"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
	"github.com/seed-56a03226/oneiros/workflows"
)

// patience bounds one test; nothing is measured by it.
const patience = 3 * time.Minute

// dreamsAPI is a deployment with a slow provider, a worker, and the public API.
type dreamsAPI struct {
	*testdeploy.Deployment
	t        *testing.T
	ctx      context.Context
	agent    dream.Agent
	upstream *provider.Server
	server   *httptest.Server
	secret   map[access.Role]string
}

func open(t *testing.T, o provider.Options) *dreamsAPI {
	t.Helper()
	if testing.Short() {
		t.Skip("runs on a real Temporal server; make test runs it")
	}
	server := temporal.Shared(t)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	upstream, err := provider.Start(o)
	require.NoError(t, err)
	t.Cleanup(upstream.Close)
	deployment, err := testdeploy.Open(ctx, testdeploy.Config{
		Store: filepath.Join(t.TempDir(), "memory.db"), Address: server.Address, Namespace: server.Namespace,
		Queue: server.TaskQueue,
		Knobs: dream.DefaultKnobs(), Provider: upstream.URL, Model: "script", ResumeTTL: time.Hour,
		Settings: workflows.Settings{
			WakeLock: time.Millisecond, ClientTimeout: time.Minute,
			ResumeAfter: 24 * time.Hour,
		},
	}, server.Dial(t))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, deployment.Close()) })
	deployment.Starter.Ledger = deployment.Store.Ledger()
	w, err := deployment.StartWorker()
	require.NoError(t, err)
	t.Cleanup(w.Stop)
	h := &dreamsAPI{
		Deployment: deployment,
		t:          t,
		ctx:        ctx,
		upstream:   upstream,
		secret:     map[access.Role]string{},
	}
	h.agent, err = deployment.AddAgent(ctx, 1, "sleeper")
	require.NoError(t, err)
	h.listen()
	return h
}

// listen serves the API of the deployment.
func (h *dreamsAPI) listen() {
	h.t.Helper()
	keys, ok := h.Store.(interface{ access.Store })
	require.True(h.t, ok, "the store keeps keys as well")
	for _, role := range []access.Role{access.Client, access.Operator} {
		key, secret := access.New(string(role), role, nil, time.Now())
		require.NoError(h.t, keys.PutKey(h.ctx, key))
		h.secret[role] = secret
	}
	face := &dreamhttp.Handler{Dreams: &psyche.Dreams{
		Memory:  h.Store,
		Events:  h.Store,
		Carries: h.Starter.ForDreams(),
		Now:     time.Now,
		Digest:  journal.DigestMessage,
	}}
	app, err := front.New(front.Options{Routes: face.Routes(), Keys: keys})
	require.NoError(h.t, err)
	h.server = httptest.NewServer(app)
	h.t.Cleanup(func() {
		h.server.CloseClientConnections()
		h.server.Close()
	})
}

func (h *dreamsAPI) do(role access.Role, method, path, body string, header ...string) (*http.Response, []byte) {
	h.t.Helper()
	req, err := http.NewRequestWithContext(h.ctx, method, h.server.URL+path, strings.NewReader(body))
	require.NoError(h.t, err)
	req.Header.Set("Authorization", "Bearer "+h.secret[role])
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := h.server.Client().Do(req)
	require.NoError(h.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(h.t, err)
	d, err := published()
	require.NoError(h.t, err)
	require.NoError(h.t, d.Holds(described.Answer{
		Method: method,
		Path:   req.URL.EscapedPath(),
		Status: resp.StatusCode,
		Header: resp.Header,
		Body:   text,
	}))
	return resp, text
}

// published is the OpenAPI description that each answer is held to.
var published = sync.OnceValues(func() (*described.Document, error) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "openapi.json"))
	if err != nil {
		return nil, err
	}
	return described.Read(text)
})

// dream sends a request that is answered with a dream.
func (h *dreamsAPI) dream(status int, method, path, body string, header ...string) psyche.Dream {
	h.t.Helper()
	resp, text := h.do(access.Operator, method, path, body, header...)
	require.Equal(h.t, status, resp.StatusCode, "%s", text)
	var d psyche.Dream
	reader := json.NewDecoder(bytes.NewReader(text))
	reader.DisallowUnknownFields()
	require.NoError(h.t, reader.Decode(&d), "%s", text)
	return d
}

func (h *dreamsAPI) refused(status int, code, method, path, body string) {
	h.t.Helper()
	resp, text := h.do(access.Operator, method, path, body)
	require.Equal(h.t, status, resp.StatusCode, "%s", text)
	require.Contains(h.t, string(text), `"code":"`+code+`"`)
}

// served waits until the provider has served so many tokens.
func (h *dreamsAPI) served(tokens int64) {
	h.t.Helper()
	require.Eventually(h.t, func() bool { return h.upstream.Billing.Streamed() >= tokens }, patience, time.Millisecond)
}

// follow reads the events of a dream to their end.
func (h *dreamsAPI) follow(role access.Role, id string) (kinds []string, numbers []int64) {
	h.t.Helper()
	req, err := http.NewRequestWithContext(h.ctx, http.MethodGet, h.server.URL+"/v1/events?dream="+id, nil)
	require.NoError(h.t, err)
	req.Header.Set("Authorization", "Bearer "+h.secret[role])
	resp, err := h.server.Client().Do(req)
	require.NoError(h.t, err)
	defer resp.Body.Close()
	require.Equal(h.t, http.StatusOK, resp.StatusCode)
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		switch name, value, _ := strings.Cut(lines.Text(), ": "); name {
		case "id":
			n, err := strconv.ParseInt(value, 10, 64)
			require.NoError(h.t, err)
			numbers = append(numbers, n)
		case "event":
			kinds = append(kinds, value)
		}
	}
	require.NoError(h.t, lines.Err())
	return kinds, numbers
}
