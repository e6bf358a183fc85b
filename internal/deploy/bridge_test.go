package deploy

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/testsuite/matrix/homeserver"
)

func TestAProcessThatOnlyBridgesServesMetrics(t *testing.T) {
	t.Parallel()
	server := homeserver.New()
	t.Cleanup(server.Close)
	secrets := t.TempDir()
	user := "@iris:" + homeserver.Name
	require.NoError(t, os.WriteFile(filepath.Join(secrets, "iris.token"), []byte(server.Token(user)), 0o600))
	d := appOf(t, fmt.Sprintf(`matrix: {homeserver: %q, accounts: "iris=%s", login_dir: %q}
metrics: {listen: "127.0.0.1:0"}
`, server.URL, user, secrets))
	h, err := build(t.Context(), d.cfg, d.cfg.StorePath())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.store.Close()) })
	require.NoError(t, h.store.PutAgent(t.Context(), dream.Agent{ID: "iris", Handle: "iris", Zone: "UTC"}))
	e, err := d.Bridge(t.Context(), h, t.Logf)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Stop()) })
	at := ""
	for _, p := range e.Places() {
		if address, found := strings.CutSuffix(p.Where, "/metrics"); found {
			at = address
		}
	}
	require.NotEmpty(t, at, "%v", e.Places())
	get := func(path string) (int, string) {
		res, err := http.Get(at + path)
		require.NoError(t, err)
		defer func() { _ = res.Body.Close() }()
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return res.StatusCode, string(body)
	}
	require.Eventually(t, func() bool {
		status, _ := get("/readyz")
		return status == http.StatusOK
	}, time.Minute, 50*time.Millisecond)
	_, body := get("/readyz")
	require.Contains(t, body, `"matrix":"ok"`)
	_, body = get("/metrics")
	require.Contains(t, body, "oneiros_matrix_accounts_connected 1")
	status, _ := get("/healthz")
	require.Equal(t, http.StatusOK, status)
}
