package inference

import (
	"slices"
	"strings"
)

// passedHeaders are the headers of a client that every provider gets. No other header is passed on: proxies put
// identity tokens into headers, and gateways are controlled by them.
var passedHeaders = []string{
	"Accept", "Content-Type", "User-Agent", "Traceparent", "Tracestate", "Openai-Beta", "Anthropic-Beta",
	"Anthropic-Version", "X-Title", "Http-Referer",
}

// PassedHeaders lists them.
func PassedHeaders() []string { return slices.Clone(passedHeaders) }

// Headers that no configuration passes on: credentials, identities, origins of a request, those of one connection,
// and those that control a gateway. A name that ends in a hyphen stands for all that begin with it.
var keptHeaders = []string{
	"Authorization", "Proxy-", "Cookie", "Set-Cookie", "Cookie2", "Api-Key", "X-Api-Key", "X-Goog-", "X-Access-Token",
	"X-Csrf-Token",
	"Openai-Organization", "Openai-Project", "Idempotency-Key", "X-Idempotency-Key",
	"Host", "Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Content-Length",
	"Content-Encoding",
	"Accept-Encoding", "Expect", "Date", "Via", "Origin", "Referer", "Sec-", "Last-Event-Id", "Baggage",
	"Forwarded", "X-Forwarded-", "X-Original-", "X-Real-", "X-Client-Ip", "X-Client-Cert", "X-Client-Dn",
	"X-Cluster-", "X-Envoy-", "True-Client-", "Fastly-", "Fly-",
	"X-Auth-", "X-Authenticated-", "X-Remote-", "Remote-", "X-User-", "X-Email", "X-Ms-", "X-Amzn-", "X-Amz-",
	"X-Appengine-", "X-Jwt-", "X-Id-Token",
	"Cf-", "Tailscale-", "X-Tailscale-", "X-Pomerium-", "X-Authentik-", "X-Vouch-", "X-Webauth-", "X-Openwebui-",
	"X-Portkey-", "Helicone-", "X-Litellm-", "X-Bf-", "X-Kong-", "X-Tyk-", "Mcp-", "X-Oneiros-",
}

// IsPrivateHeader says whether no configuration can pass a header on.
func IsPrivateHeader(name string) bool {
	name = canonicalHeader(strings.TrimSpace(name))
	return slices.ContainsFunc(keptHeaders, func(kept string) bool {
		return name == strings.TrimSuffix(kept, "-") || strings.HasSuffix(kept, "-") && strings.HasPrefix(name, kept)
	})
}

// ForwardedHeaders returns the headers of a client that a provider gets: the usual ones, and those configured for it.
func ForwardedHeaders(header map[string][]string, more []string) map[string][]string {
	out := make(map[string][]string, len(passedHeaders))
	for _, name := range passedHeaders {
		if v := header[name]; len(v) > 0 {
			out[name] = v
		}
	}
	for _, name := range more {
		name = canonicalHeader(name)
		if v := header[name]; len(v) > 0 && !IsPrivateHeader(name) {
			out[name] = v
		}
	}
	for _, value := range header["Connection"] { // names headers of this connection alone
		for name := range strings.SplitSeq(value, ",") {
			delete(out, canonicalHeader(strings.TrimSpace(name)))
		}
	}
	return out
}

// canonicalHeader writes a header's name as net/http does: X-Forwarded-For.
func canonicalHeader(name string) string {
	b := []byte(name)
	first := true
	for i, c := range b {
		switch {
		case first && c >= 'a' && c <= 'z':
			b[i] -= 'a' - 'A'
		case !first && c >= 'A' && c <= 'Z':
			b[i] += 'a' - 'A'
		}
		first = c == '-'
	}
	return string(b)
}
