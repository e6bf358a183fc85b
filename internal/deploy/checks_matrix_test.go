package deploy

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

func TestTheDoctorLooksAtTheBridgeToMatrix(t *testing.T) {
	t.Parallel()
	homeserver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/_matrix/client/versions" {
			_, _ = w.Write([]byte(`{"versions":["v1.11"]}`))
			return
		}
		http.NotFound(w, r)
	}))
	defer homeserver.Close()
	secrets := t.TempDir()
	at := func(address string) doctor {
		return appOf(t, fmt.Sprintf("matrix: {homeserver: %q, accounts: \"iris=@iris:example.org\", login_dir: %q}\n",
			address, secrets))
	}
	found := func(d doctor, state State, says string) {
		t.Helper()
		f := d.checkMatrix(t.Context())
		require.Equal(t, state, f.State, f.Found)
		require.Contains(t, f.Found, says)
	}
	d := at(homeserver.URL)
	found(d, Ill, "the account @iris:example.org has no secret")
	require.NoError(t, os.WriteFile(filepath.Join(secrets, "iris.token"), []byte("secret"), 0o600))
	found(d, Ill, "the agent of @iris:example.org is not there")
	h, err := build(t.Context(), d.cfg, d.cfg.StorePath())
	require.NoError(t, err)
	require.NoError(t, h.store.PutAgent(t.Context(), dream.Agent{ID: "ag_iris", Handle: "iris"}))
	require.NoError(t, h.store.Close())
	found(d, Well, "answers; accounts 1")
	d.cfg.Matrix.Homeserver = homeserver.URL + "/elsewhere"
	found(d, Ill, "has no /_matrix/client/versions: 404 Not Found")
	homeserver.Close()
	found(d, Ill, "does not answer")
}
