package deploy

import (
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
	sentinel, authority, half := config.Sentinel{User: "u"}, config.StoreTLS{CAFile: "f"}, config.StoreTLS{CertFile: "f"}
	for want, p := range map[string]StorePlace{
		"--to is no address of a Redis server":                {To: "http://x"},
		"name it by --password-env or --password-file":        {To: "redis://u:p@x/0"},
		`--prefix is "a:b"`:                                   {To: "redis://x/0", Store: config.Store{Prefix: "a:b"}},
		"--server-name is set, and --to begins with redis://": {To: "redis://x/0", Store: config.Store{TLS: authority}},
		"only one of --cert-file and --key-file is set":       {To: "rediss://x/0", Store: config.Store{TLS: half}},
		"--sentinel-password-env is set, and --to names no":   {To: "redis://x/0", Store: config.Store{Sentinel: sentinel}},
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
