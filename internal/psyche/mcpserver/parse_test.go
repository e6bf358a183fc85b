package mcpserver

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func FuzzAddressesNameAnAgentAndADocumentOrNothing(f *testing.F) {
	for _, uri := range []string{
		"oneiros://iris/journal", "oneiros:///", "oneiros://a/b/c", "http://x",
		"oneiros://iris/journal?x#y", "oneiros://\x00/\xff",
	} {
		f.Add(uri)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		agent, name, ok := addressed(uri)
		if ok {
			require.Equal(t, scheme+agent+"/"+name, uri)
			require.NotContains(t, agent, "/")
			require.False(t, strings.ContainsAny(name, "/?#"))
		}
	})
}

func FuzzNoOriginButItsOwnIsWelcome(f *testing.F) {
	for _, seed := range [][2]string{
		{"http://localhost:1", "localhost:1"},
		{"null", "localhost"},
		{"https://evil.test", "localhost"},
		{"http://localhost:1@evil.test", "localhost:1"},
		{"://", "[::1]:5"},
		{"", ""},
	} {
		f.Add(seed[0], seed[1])
	}
	handler := New(nil, nil, Options{})
	f.Fuzz(func(t *testing.T, origin, host string) {
		_ = handler.named(host)
		if handler.allowedOrigin(origin, host) {
			lower := strings.ToLower(origin)
			require.True(t, strings.HasPrefix(lower, "http://") || strings.HasPrefix(lower, "https://"))
			require.True(t, strings.Contains(lower, strings.ToLower(host)) || strings.Contains(origin, "%"),
				"%q is not %q", origin, host)
		}
	})
}
