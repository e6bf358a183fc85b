package deploy

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/config"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/localmodel"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
)

// Who moves a store has set no knob of it.
func TestErrorsAboutTheOtherStoreNameFlags(t *testing.T) {
	t.Parallel()
	c, err := config.Load(config.Options{Dir: t.TempDir(), BuiltIn: localmodel.Specs()})
	require.NoError(t, err)
	sentinel := config.Sentinel{User: "u"}
	authority, half := config.StoreTLS{CAFile: "f"}, config.StoreTLS{CertFile: "f"}
	for want, p := range map[string]StorePlace{
		"--to is no address of a Redis server":                {To: "http://x"},
		"name it by --password-env or --password-file":        {To: "redis://u:p@x/0"},
		`--prefix is "a:b"`:                                   {To: "redis://x/0", Store: config.Store{Prefix: "a:b"}},
		"--server-name is set, and --to begins with redis://": {To: "redis://x/0", Store: config.Store{TLS: authority}},
		"only one of --cert-file and --key-file is set":       {To: "rediss://x/0", Store: config.Store{TLS: half}},
		"--sentinel-password-env is set, and --to names no": {
			To: "redis://x/0", Store: config.Store{Sentinel: sentinel},
		},
		"by --password-env and by --password-file": {
			To: "redis://x/0", Store: config.Store{PasswordEnv: "A", PasswordFile: "f"},
		},
		"--to names the user, --password-env or --password-file where": {
			To: redis.Start(t, redis.Config("requirepass", "s3cret")).URL,
		},
		"(--trust-server)": {To: redis.Start(t, redis.NoAppendOnly()).URL},
	} {
		_, err := otherStore(t.Context(), c, p)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "store.")
		require.NotEqual(t, exit.Failure, exit.CodeOf(err), err)
	}
}

// A store that was made to be filled leaves no trace when it is not, and what was there stays.
func TestADroppedStoreLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := config.Config{DataDir: filepath.Join(dir, "new")}
	left := func() (names []string) {
		found, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, one := range found {
			names = append(names, one.Name())
		}
		return names
	}
	d, err := openDeposit(t.Context(), c, true)
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(c.DataDir, storeMadeFile))
	d.Drop()
	require.Empty(t, left())

	c.DataDir = dir
	require.NoError(t, note(dir, storeMadeFile, storeMadeText))
	d, err = openDeposit(t.Context(), c, true)
	require.NoError(t, err)
	d.Drop()
	require.Equal(t, []string{storeMadeFile}, left())

	d, err = openDeposit(t.Context(), c, true)
	require.NoError(t, err)
	require.NoError(t, d.Store.Close())
	d, err = openDeposit(t.Context(), c, true)
	require.NoError(t, err)
	require.Nil(t, d.Drop, "it was there before")
	require.NoError(t, d.Store.Close())
}
