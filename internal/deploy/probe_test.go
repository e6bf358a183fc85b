package deploy_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/config"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

func listening(at, cert string) deploy.Configuration {
	return deploy.Configuration{Settings: []config.Setting{
		{Key: "serve.listen", Value: at}, {Key: "serve.tls_cert", Value: cert},
	}}
}

func TestTheServerOfThisMachineIsAskedWhetherItIsReady(t *testing.T) {
	t.Parallel()
	status, body := http.StatusOK, `{"status":"ready","parts":{"store":"ok"}}`
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	})
	plain, sealed := httptest.NewServer(answer), httptest.NewTLSServer(answer)
	t.Cleanup(plain.Close)
	t.Cleanup(sealed.Close)
	_, port, _ := strings.Cut(plain.Listener.Addr().String(), ":")
	for at, cert := range map[string]string{
		plain.Listener.Addr().String():  "",
		":" + port:                      "",
		"0.0.0.0:" + port:               "",
		"localhost:" + port:             "",
		sealed.Listener.Addr().String(): "server.pem",
	} {
		got, err := deploy.ProbeServer(t.Context(), listening(at, cert))
		require.NoError(t, err, at)
		require.Equal(t, deploy.ProbeAnswer{Status: "ready", Parts: map[string]string{"store": "ok"}}, got, at)
	}
	status, body = http.StatusServiceUnavailable, `{"status":"not ready","parts":{"store":"away"}}`
	got, err := deploy.ProbeServer(t.Context(), listening(":"+port, ""))
	require.ErrorContains(t, err, "127.0.0.1:"+port+"/readyz is not ready")
	require.Equal(t, exit.Unreachable, exit.CodeOf(err))
	require.Equal(t, "away", got.Parts["store"])
	body = "<html>another program</html>"
	_, err = deploy.ProbeServer(t.Context(), listening(":"+port, ""))
	require.ErrorContains(t, err, "not as a server of oneiros does")
	require.Equal(t, exit.Unreachable, exit.CodeOf(err))
	plain.Close()
	_, err = deploy.ProbeServer(t.Context(), listening(":"+port, ""))
	require.ErrorContains(t, err, "no server for clients answers here")
	require.Equal(t, exit.Unreachable, exit.CodeOf(err))
}

func TestAPortThatIsNotKnownCannotBeAsked(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"", "127.0.0.1:0"} {
		_, err := deploy.ProbeServer(t.Context(), listening(at, ""))
		require.ErrorContains(t, err, "serve.listen is")
		require.Equal(t, exit.Usage, exit.CodeOf(err))
	}
}
