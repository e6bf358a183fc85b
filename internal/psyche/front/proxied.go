package front

import (
	"net/http"
	"slices"
	"strings"
)

// proxyHeaders are set by proxies, tunnels and content networks, and by no program that calls a server on its own
// machine. Names are in the form of http.CanonicalHeaderKey. The list cannot be complete: a proxy that adds no header
// looks like a local program, as docs/keys.md says.
var proxyHeaders = strings.Fields(`
	Via Forwarded Forwarded-For X-Forwarded X-Original-Forwarded-For X-Real-Ip X-Client-Ip Client-Ip
	X-Cluster-Client-Ip True-Client-Ip X-Remote-Ip X-Remote-Addr X-Originating-Ip X-Proxyuser-Ip X-Source-Ip
	X-Original-Host X-Original-Url X-Original-Uri X-Original-Proto X-Url-Scheme X-Scheme X-Nginx-Proxy
	Front-End-Https Proxy-Connection X-Proxy-Id Remote-User Cdn-Loop X-Cdn X-Arr-Log-Id X-Arr-Ssl
	X-Appengine-User-Ip X-Serverless-Authorization X-Varnish X-Sucuri-Clientip X-Ms-Client-Principal`)

// proxyPrefixes are the prefixes of whole families of such headers.
var proxyPrefixes = strings.Fields(`
	X-Forwarded- Cf- Fly- Fastly- Tailscale- X-Tailscale- Ngrok- X-Envoy- X-Azure- X-Amz-Cf- X-Amzn-Oidc-
	X-Goog-Iap- X-Goog-Authenticated- X-Akamai- Akamai- X-Vercel- X-Railway- X-Auth-Request- X-Authentik-
	X-Pomerium-`)

// proxied is the name of a header that only a proxy would have set; empty for none.
func proxied(h http.Header) string {
	for name := range h {
		if slices.Contains(proxyHeaders, name) {
			return name
		}
		for _, prefix := range proxyPrefixes {
			if strings.HasPrefix(name, prefix) {
				return name
			}
		}
	}
	return ""
}
