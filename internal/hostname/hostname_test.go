package hostname_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/hostname"
)

func TestOnlyLoopbackAndConfiguredNamesAreAllowed(t *testing.T) {
	t.Parallel()
	set := hostname.Allow("Codec.Internal", "10.0.0.5", "")
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST:8081": true, "localhost.": true, "127.0.0.1:8081": true, "127.8.9.10": true,
		"[::1]:8081": true, "::1": true, "[::1]": true, "[::ffff:127.0.0.1]:80": true,
		"codec.internal": true, "CODEC.internal:443": true, "10.0.0.5:8081": true,
		"": false, ":8081": false, "evil.example": false, "localhost.evil.example": false,
		"127.0.0.1.evil.example": false,
		"0.0.0.0":                false, "10.0.0.6": false, "2130706433": false, "0x7f.1": false, "127.1": false,
		"codec.internal.": false,
	} {
		require.Equal(t, want, set.Has(host), "%q", host)
	}
	require.False(t, hostname.Allowed(nil).Has("codec.internal"))
	require.True(t, hostname.Allowed(nil).Has("localhost:1"))
}

// FuzzOf: no header makes it panic, and an allowed loopback name is never one that DNS could resolve.
func FuzzOf(f *testing.F) {
	for _, host := range []string{"localhost:1", "[::1]:2", "[", "]", "[[::1]]", "a:b:c", "127.0.0.1.x"} {
		f.Add(host)
	}
	f.Fuzz(func(t *testing.T, host string) {
		if name := hostname.Of(host); hostname.Loopback(name) {
			require.Regexp(t, `^(localhost\.?|[0-9.]+|[0-9a-f:.%]+.*)$`, name)
		}
	})
}
