package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
)

func TestWithoutAnAddressNoClusterIsKnown(t *testing.T) {
	t.Parallel()
	c, err := load(t, "", "", nil, nil)
	require.NoError(t, err)
	cluster, err := c.Cluster()
	require.NoError(t, err)
	require.False(t, cluster.Configured)
	require.Equal(t, "default", cluster.Options.Namespace)
}

func TestTheStandardEnvironmentIsHonouredWhenNoAddressIsConfigured(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "temporal.toml")
	require.NoError(t,
		os.WriteFile(path,
			[]byte(
				"[profile.default]\naddress = \"a.example:7233\"\n[profile.night]\naddress = \"b.example:7233\"\nnamespace = \"nights\"\napi_key = \"secret\"\n"),
			0o600))
	env := []string{"TEMPORAL_CONFIG_FILE=" + path}

	c, err := load(t, "", "", env, []string{"--profile", "night"})
	require.NoError(t, err)
	cluster, err := c.Cluster()
	require.NoError(t, err)
	require.True(t, cluster.Configured)
	require.Equal(t, "b.example:7233", cluster.Options.HostPort)
	require.Equal(t, "nights", cluster.Options.Namespace)
	require.NotNil(t, cluster.Options.Credentials)

	c, err = load(t, "", "", append(env, "TEMPORAL_ADDRESS=c.example:7233"), []string{"--namespace", "mine"})
	require.NoError(t, err)
	cluster, err = c.Cluster()
	require.NoError(t, err)
	require.Equal(t, "c.example:7233", cluster.Options.HostPort)
	require.Equal(t, "mine", cluster.Options.Namespace)

	c, err = load(t, "", "", append(env, "TEMPORAL_ADDRESS=c.example:7233"), []string{"--address", "d.example:7233"})
	require.NoError(t, err)
	cluster, err = c.Cluster()
	require.NoError(t, err)
	require.Equal(t, "d.example:7233", cluster.Options.HostPort, "our own setting wins")
	require.Nil(t, cluster.Options.ConnectionOptions.TLS)
}

func TestAnAPIKeyTurnsTLSOn(t *testing.T) {
	t.Parallel()
	env := []string{"CLOUD_KEY=secret"}
	c, err := load(t, "", "", env, []string{"--address", "d.example:7233", "--set", "temporal.api_key_env=CLOUD_KEY"})
	require.NoError(t, err)
	cluster, err := c.Cluster()
	require.NoError(t, err)
	require.NotNil(t, cluster.Options.ConnectionOptions.TLS)
	require.NotNil(t, cluster.Options.Credentials)
	require.NotContains(t, c.String(), "secret")

	c, err = load(t, "", "", nil, []string{"--address", "d.example:7233", "--set", "temporal.api_key_env=CLOUD_KEY"})
	require.NoError(t, err)
	_, err = c.Cluster()
	require.ErrorContains(t, err, "temporal.api_key_env names CLOUD_KEY, which is not set")
}

func TestCertificatesThatCannotBeReadAreNamed(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	c, err := load(t, "", "", nil,
		[]string{
			"--address", "d:1", "--set", "temporal.tls.ca_file=" + empty, "--set", "temporal.tls.cert_file=x",
			"--set", "temporal.tls.key_file=y",
		})
	require.NoError(t, err)
	_, err = c.Cluster()
	require.ErrorContains(t, err, "holds no certificate in PEM form")
	require.ErrorContains(t, err, "temporal.tls.cert_file and key_file")
}

func TestTheAddressOfTemporalIsAHostAndAPort(t *testing.T) {
	t.Parallel()
	for _, wrong := range []string{
		"foo", "5", "http://x:7233", "x:", "x:temporal", "x:0", "x:70000", "::1", "[::1]",
		"a b:7233", "dns:", "dns:///", "unix:",
	} {
		_, err := load(t, "", "", nil, []string{"--set", "temporal.address=" + wrong})
		require.ErrorContains(t, err,
			fmt.Sprintf("temporal.address is %q; it must be the host and the port of a frontend, such as", wrong))
	}
	for _, fine := range []string{
		"x:7233", ":7233", "[::1]:7233", "127.0.0.1:7233", "dns:///x:7233", "dns:x:7233", "dns://1.1.1.1/x:7233",
		"passthrough:///x:7233", "unix:///run/temporal.sock", "unix:temporal.sock", "unix-abstract:temporal",
	} {
		_, err := load(t, "", "", nil, []string{"--set", "temporal.address=" + fine})
		require.NoError(t, err, fine)
	}
}

// FuzzTheAddressOfTemporal reads arbitrary addresses: what is valid can be dialled.
func FuzzTheAddressOfTemporal(f *testing.F) {
	f.Add("x:7233")
	f.Add("dns:///x:7233")
	f.Fuzz(func(t *testing.T, address string) {
		c, err := load(t, "", "", nil, []string{"--set", "temporal.address=" + address})
		if err != nil || c.Temporal.Address == "" {
			return
		}
		dialled, err := client.NewLazyClient(client.Options{HostPort: c.Temporal.Address})
		require.NoError(t, err)
		dialled.Close()
	})
}
