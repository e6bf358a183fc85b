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
		"store.url is empty, yet a password or trust is":  {"store.trust_server=true", "store.password_env=TR"},
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
