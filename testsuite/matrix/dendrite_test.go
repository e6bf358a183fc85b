package matrix_test

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"maunium.net/go/mautrix"
)

// dendriteConfig is a server for one test: on this machine alone, in memory and in files of one folder, with accounts
// for everybody and without limits.
const dendriteConfig = `version: 2
global:
  server_name: example.org
  private_key: %[1]s/key.pem
  disable_federation: true
  presence: {enable_inbound: true, enable_outbound: true}
  jetstream: {in_memory: true, storage_path: %[1]s, topic_prefix: Test}
client_api:
  registration_disabled: false
  rate_limiting: {enabled: false}
sync_api:
  search: {enabled: false}
  database: {connection_string: "file:%[1]s/sync.db"}
media_api:
  base_path: %[1]s/media
  database: {connection_string: "file:%[1]s/media.db"}
user_api:
  bcrypt_cost: 4
  account_database: {connection_string: "file:%[1]s/accounts.db"}
  device_database: {connection_string: "file:%[1]s/devices.db"}
room_server:
  database: {connection_string: "file:%[1]s/rooms.db"}
key_server:
  database: {connection_string: "file:%[1]s/keys.db"}
federation_api:
  database: {connection_string: "file:%[1]s/federation.db"}
relay_api:
  database: {connection_string: "file:%[1]s/relay.db"}
mscs:
  database: {connection_string: "file:%[1]s/mscs.db"}
logging:
  - {type: std, level: error}
`

// dendrite starts a homeserver with the programs of a folder, and ends it with the test.
func dendrite(t *testing.T, programs string) place {
	t.Helper()
	dir := t.TempDir()
	config := filepath.Join(dir, "dendrite.yaml")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, dendriteConfig, dir), 0o600))
	made, err := exec.CommandContext(t.Context(), filepath.Join(programs, "generate-keys"),
		"--private-key", filepath.Join(dir, "key.pem")).CombinedOutput()
	require.NoError(t, err, "%s", made)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := free.Addr().String()
	require.NoError(t, free.Close())
	server := exec.Command(filepath.Join(programs, "dendrite"), "--config", config, "--http-bind-address", address,
		"--really-enable-open-registration")
	var output bytes.Buffer
	server.Dir, server.Stdout, server.Stderr = dir, &output, &output
	require.NoError(t, server.Start())
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }()
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGTERM) // it may have ended
		select {
		case <-ended:
		case <-time.After(patience):
			_ = server.Process.Kill()
			<-ended
		}
		if t.Failed() {
			t.Log(output.String())
		}
	})
	at := "http://" + address
	require.Eventually(t, func() bool {
		answer, err := http.Get(at + "/_matrix/client/versions")
		if err != nil {
			return false
		}
		return answer.Body.Close() == nil && answer.StatusCode == http.StatusOK
	}, patience, 20*time.Millisecond, "dendrite does not answer")
	base, err := url.Parse(at)
	require.NoError(t, err)
	register := func(user string) string {
		client := &mautrix.Client{HomeserverURL: base, Client: &http.Client{}, Log: zerolog.Nop()}
		answer, err := client.RegisterDummy(t.Context(), &mautrix.ReqRegister[any]{
			Username: strings.ToLower(user),
			Password: "the password of " + user,
			DeviceID: "TEST",
		})
		require.NoError(t, err)
		return answer.AccessToken
	}
	return place{address: at, name: "example.org", register: register}
}
