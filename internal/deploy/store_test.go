package deploy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/config"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/redisstore"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
)

func TestAServerThatWantsAPasswordIsAFaultOfTheConfiguration(t *testing.T) {
	t.Parallel()
	var c config.Config
	c.Store.URL = redis.Start(t, redis.Config("requirepass", "s3cret")).URL
	_, err := openStore(t.Context(), c, "")
	require.ErrorContains(t, err, "NOAUTH")
	require.ErrorContains(t, err, "store.password_env")
	var own *exit.Error
	require.ErrorAs(t, err, &own)
	require.Equal(t, exit.Usage, own.Code)
}

func TestAServerThatIsNotTrustedIsRefusedInWordsOfTheConfiguration(t *testing.T) {
	t.Parallel()
	var c config.Config
	c.Store.URL = redis.Start(t, redis.NoAppendOnly()).URL
	_, err := openStore(t.Context(), c, "")
	require.ErrorIs(t, err, redisstore.ErrUnsafe)
	require.ErrorContains(t, err, "store.trust_server: true")
	require.NotContains(t, err.Error(), "TrustServer")
}

func TestAStoreWithCertificatesAndAPrefixIsOpenedAndItsSettingsAreTold(t *testing.T) {
	t.Parallel()
	authority := redis.NewAuthority(t)
	server := redis.Start(t, authority.Secures())
	cert, key := authority.Issue("oneiros")
	var c config.Config
	c.Store.URL = server.URL
	_, err := openStore(t.Context(), c, "")
	require.ErrorContains(t, err, "(store.tls.ca_file)")
	c.Store.TLS = config.StoreTLS{CAFile: authority.File}
	_, err = openStore(t.Context(), c, "")
	require.ErrorContains(t, err, "(store.tls.cert_file and store.tls.key_file)")
	c.Store.TLS.CertFile, c.Store.TLS.KeyFile = cert, key
	c.Store.TLS.ServerName = "other.internal"
	_, err = openStore(t.Context(), c, "")
	require.ErrorContains(t, err, "(store.tls.server_name)")
	c.Store.TLS.ServerName = "redis.internal"
	c.Store.Prefix = "team-a"
	d, err := openDeposit(t.Context(), c, true)
	require.NoError(t, err)
	require.NoError(t, d.Store.Close())
	require.Equal(t, server.URL+" (prefix team-a)", d.Name)
	require.Equal(t, []string{
		"store.url: " + server.URL, "store.prefix: team-a", "store.tls.ca_file: " + authority.File,
		"store.tls.cert_file: " + cert, "store.tls.key_file: " + key, "store.tls.server_name: redis.internal",
	}, d.Use)
	require.Equal(t, "the keys that begin with team-a: on "+server.URL, d.Remove)
	keys, err := server.Dial(t).Keys(t.Context(), "*").Result()
	require.NoError(t, err)
	require.Equal(t, []string{"team-a:schema"}, keys)
}

func TestAStoreIsOpenedByItsSentinels(t *testing.T) {
	t.Parallel()
	sentinels := redis.StartSentinels(t, redis.Start(t), 1, 0)
	var c config.Config
	c.Store.URL = sentinels[0].URL + "?master_name=" + redis.MasterName
	s, err := openStore(t.Context(), c, "")
	require.NoError(t, err)
	require.NoError(t, s.Close())
	c.Store.Sentinel = config.Sentinel{PasswordFile: "/gone"}
	_, err = openStore(t.Context(), c, "")
	require.ErrorContains(t, err, "store.sentinel.password_file: open /gone")
}

func TestAStoreThatCannotBeUsedHasAnExitCodeOfItsOwn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, storeMadeFile), nil, 0o600))
	for name, c := range map[string]config.Config{
		"NoSuchDatabase": {Store: config.Store{URL: strings.TrimSuffix(redis.Start(t).URL, "0") + "99"}},
		"RefusedPolicy":  {Store: config.Store{URL: redis.Start(t, redis.NoAppendOnly()).URL}},
		"MissingFile":    {DataDir: dir},
	} {
		_, err := openStore(t.Context(), c, filepath.Join(dir, "oneiros.db"))
		require.Error(t, err, name)
		require.Equal(t, exit.Unreachable, exit.CodeOf(err), "%s: %v", name, err)
	}
}
