package inference_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

func TestAProviderSeesTheHeadersOfTheListAlone(t *testing.T) {
	t.Parallel()
	h := http.Header{}
	stays := []string{
		"Authorization", "Cookie", "Host", "X-Forwarded-User", "X-Forwarded-Email", "X-Auth-Request-Access-Token",
		"Cf-Access-Jwt-Assertion",
		"Cf-Aig-Authorization", "Tailscale-User-Login", "X-Amzn-Oidc-Data", "X-Portkey-Config", "Helicone-Auth",
		"X-Litellm-Tags", "X-Oneiros-User",
		"X-Goog-Iap-Jwt-Assertion", "X-Ms-Client-Principal", "Remote-User", "Proxy-Authorization", "Via", "Forwarded",
		"Baggage", "Idempotency-Key",
	}
	for _, name := range stays {
		h.Set(name, "secret")
		require.True(t, inference.IsPrivateHeader(name), name)
	}
	for _, name := range append(inference.PassedHeaders(), "X-Team", "X-Other") {
		h.Set(name, name)
		require.False(t, inference.IsPrivateHeader(name), name)
	}
	require.ElementsMatch(t, inference.PassedHeaders(), names(inference.ForwardedHeaders(h, nil)))
	require.ElementsMatch(t, append(inference.PassedHeaders(), "X-Team"),
		names(inference.ForwardedHeaders(h, append(stays, "x-team"))))
	h.Set("Connection", "close, x-team")
	require.NotContains(t, names(inference.ForwardedHeaders(h, []string{"X-Team"})), "X-Team")
	for _, name := range inference.PassedHeaders() {
		require.Equal(t, http.CanonicalHeaderKey(name), name)
	}
}

func names(h map[string][]string) []string {
	var all []string
	for name := range h {
		all = append(all, name)
	}
	return all
}
