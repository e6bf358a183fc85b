package redisstore_test

import (
	"crypto/tls"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/redisstore"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
)

func TestAServerWithClientCertificatesIsReached(t *testing.T) {
	t.Parallel()
	authority := redis.NewAuthority(t)
	server := redis.Start(t, authority.Secures())
	s := open(t, server.URL, "oneiros:", redisstore.TLS(authority.Client()))
	warm(t, s)
	stop, err := s.Listen(nil)
	require.NoError(t, err)
	stop()
	named := authority.Client()
	named.ServerName = "redis.internal"
	warm(t, open(t, server.URL, "other:", redisstore.TLS(named)))
}

func TestAServerWithCertificatesIsReachedBySentinels(t *testing.T) {
	t.Parallel()
	authority := redis.NewAuthority(t)
	secured := authority.Secures()
	sentinels := redis.StartSentinels(t, redis.Start(t, secured), 1, 0, secured)
	warm(t, open(t, bySentinels(sentinels), "oneiros:", redisstore.TLS(authority.Client())))
}

func TestWhatIsWrongWithCertificatesIsSaid(t *testing.T) {
	t.Parallel()
	authority := redis.NewAuthority(t)
	server := redis.Start(t, authority.Secures())
	bare, misnamed := authority.Client(), authority.Client()
	bare.Certificates = nil
	misnamed.ServerName = "other.internal"
	for name, c := range map[string]struct {
		conf *tls.Config
		says []string
	}{
		"UnknownAuthority":    {&tls.Config{}, []string{"certificate signed by unknown authority", "(RootCAs)"}},
		"NoClientCertificate": {bare, []string{"certificate", "(Certificates)"}},
		"AnotherName":         {misnamed, []string{"other.internal", "(ServerName)"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := redisstore.Open(t.Context(), server.URL, redisstore.Timeout(patience),
				redisstore.TLS(c.conf))
			for _, words := range c.says {
				require.ErrorContains(t, err, words)
			}
		})
	}
	_, err := redisstore.Open(t.Context(), "redis://"+server.Address, redisstore.TLS(authority.Client()))
	require.ErrorContains(t, err, "does not begin with rediss://")
}
