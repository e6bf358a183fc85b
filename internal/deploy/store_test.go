package deploy

import (
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
