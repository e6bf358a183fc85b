package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAStoresPasswordLiesElsewhere(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "password")
	require.NoError(t, os.WriteFile(file, []byte("tr0ubador\n"), 0o600))
	for _, c := range []struct{ place, value string }{
		{"store.password_file", file},
		{"store.password_env", "REDIS_PASSWORD"},
	} {
		config, err := load(t, "", "", []string{"REDIS_PASSWORD=tr0ubador"},
			[]string{"--set", "store.url=rediss://dreams@redis.example:6379/2", "--set", c.place + "=" + c.value})
		require.NoError(t, err)
		password, err := config.StorePassword()
		require.NoError(t, err)
		require.Equal(t, "tr0ubador", password)
		require.NotContains(t, config.String(), "tr0ubador")
		require.False(t, config.Store.TrustServer)
	}
	config, err := load(t, "", "", nil,
		[]string{"--set", "store.url=unix:///run/redis.sock", "--set", "store.trust_server=true"})
	require.NoError(t, err)
	require.True(t, config.Store.TrustServer)
	password, err := config.StorePassword()
	require.NoError(t, err)
	require.Empty(t, password)
}

func TestAVariableThatHoldsASecretIsNotUnknown(t *testing.T) {
	t.Parallel()
	warned := func(env string, sets ...string) []string {
		var args []string
		for _, set := range sets {
			args = append(args, "--set", set)
		}
		config, err := load(t, "", "", []string{env + "=s3cret"}, args)
		require.NoError(t, err)
		return config.Warnings
	}
	const url = "store.url=redis://127.0.0.1:26379?master_name=kept"
	require.Empty(t, warned("ONEIROS_REDIS_PASSWORD"), "the name in docs/redis.md, also for oneiros store move")
	require.Empty(t, warned("ONEIROS_OWN", url, "store.password_env=ONEIROS_OWN"))
	require.Empty(t, warned("ONEIROS_OWN", url, "store.sentinel.password_env=ONEIROS_OWN"))
	require.Empty(t, warned("ONEIROS_OWN", "seal.keys_env=ONEIROS_OWN"))
	require.Empty(t, warned("ONEIROS_OWN", "temporal.address=host:7233", "temporal.api_key_env=ONEIROS_OWN"))
	require.Len(t, warned("ONEIROS_OWN", url), 1)
}

func TestSentinelsCertificatesAndPrefixAreRead(t *testing.T) {
	t.Parallel()
	config, err := load(t, "", "", []string{"WATCHER=s3cret", "HOME=/home/anna"}, []string{
		"--set", "store.url=rediss://dreams@s1:26379/2?master_name=kept&addr=s2:26379",
		"--set", "store.prefix=team-a",
		"--set", "store.sentinel.user=watcher", "--set", "store.sentinel.password_env=WATCHER",
	})
	require.NoError(t, err)
	require.Equal(t, "team-a:", config.Store.KeyPrefix())
	password, err := config.SentinelPassword()
	require.NoError(t, err)
	require.Equal(t, "s3cret", password)
	certificates, err := config.StoreTLS()
	require.NoError(t, err)
	require.Nil(t, certificates, "those of the system")
	config, err = load(t, "", "", nil, []string{
		"--set", "store.url=rediss://host", "--set", "store.tls.ca_file=/gone.crt",
		"--set", "store.tls.cert_file=/gone.crt", "--set", "store.tls.key_file=/gone.key",
	})
	require.NoError(t, err)
	require.Equal(t, "oneiros:", config.Store.KeyPrefix())
	_, err = config.StoreTLS()
	require.ErrorContains(t, err, "store.tls.ca_file: open /gone.crt")
	require.ErrorContains(t, err, "store.tls.cert_file and key_file: open /gone.crt")
}

func TestAPasswordThatIsNotWhereItShouldBeIsNamedByItsPlace(t *testing.T) {
	t.Parallel()
	const url = "store.url=redis://127.0.0.1:6379"
	config, err := load(t, "", "", nil, []string{"--set", url, "--set", "store.password_env=NOT_SET"})
	require.NoError(t, err)
	_, err = config.StorePassword()
	require.EqualError(t, err, "store.password_env names NOT_SET, which is not set")
	file := filepath.Join(t.TempDir(), "password")
	config, err = load(t, "", "", nil, []string{"--set", url, "--set", "store.password_file=" + file})
	require.NoError(t, err)
	_, err = config.StorePassword()
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(file, []byte("one\ntwo"), 0o600))
	_, err = config.StorePassword()
	require.ErrorContains(t, err, "must hold one line, the password")
	require.NotContains(t, err.Error(), "two")
}

func TestAStoreThatCannotBeMeantIsRefusedAndItsPasswordNotRepeated(t *testing.T) {
	t.Parallel()
	for want, sets := range map[string][]string{
		"store.url holds a password; leave it out":        {"store.url=redis://u:tr0ubador@host:6379/0"},
		"leave it out and name it by store.password_env":  {"store.url=redis://host?password=tr0ubador"},
		"store.url is no address of a Redis server; it m": {"store.url=http://u:tr0ubador@host"},
		"it must be like redis://127.0.0.1:6379/0":        {"store.url=redis://u:tr0ubador@ho st%%/"},
		"or unix:///run/redis.sock":                       {"store.url=redis://host/dreams"},
		"store.url is no address":                         {"store.url=redis:///0"},
		"store.url is empty, yet a password, certificate": {"store.trust_server=true", "store.password_env=TR"},
		"store.prefix is \"a:b\"; it must be up to 64 le": {"store.url=redis://host", "store.prefix=a:b"},
		"store.tls is set, and store.url begins with red": {"store.url=redis://host", "store.tls.ca_file=a"},
		"store.tls has only one of cert_file and key_fil": {"store.url=rediss://host", "store.tls.key_file=a"},
		"store.url has addr, and no master_name":          {"store.url=redis://host?addr=s2:1"},
		"it must be the host and port of a Sentinel":      {"store.url=redis://host?master_name=kept&addr=s2"},
		"store.sentinel is set, and store.url names no":   {"store.url=redis://host", "store.sentinel.user=a"},
		"store.url has master_name, and names a socket":   {"store.url=unix:///run/redis.sock?master_name=kept"},
		"store.sentinel names its password twice": {
			"store.url=redis://host?master_name=kept", "store.sentinel.password_env=A", "store.sentinel.password_file=b",
		},
		"store names its password twice": {
			"store.url=redis://host", "store.password_env=A",
			"store.password_file=b",
		},
	} {
		var args []string
		for _, set := range sets {
			args = append(args, "--set", set)
		}
		config, err := load(t, "", "", nil, args)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "tr0ubador")
		require.NotContains(t, config.String(), "tr0ubador")
	}
}
