package front

import (
	"net/http"
	"strings"
)

// proxyHeaders are set by proxies, tunnels and content networks, and by no program that calls a server on its own
// machine. Names are in the form of http.CanonicalHeaderKey. The list cannot be complete: a proxy that adds no header
// looks like a local program, as docs/keys.md says.
var proxyHeaders = map[string]bool{
	"Via": true, "Forwarded": true, "Forwarded-For": true, "X-Forwarded": true, "X-Original-Forwarded-For": true,
	"X-Real-Ip": true, "X-Client-Ip": true, "Client-Ip": true, "X-Cluster-Client-Ip": true, "True-Client-Ip": true,
	"X-Remote-Ip": true, "X-Remote-Addr": true, "X-Originating-Ip": true, "X-Proxyuser-Ip": true, "X-Source-Ip": true,
	"X-Original-Host": true, "X-Original-Url": true, "X-Original-Uri": true, "X-Original-Proto": true,
	"X-Url-Scheme": true,
	"X-Scheme":     true, "X-Nginx-Proxy": true, "Front-End-Https": true, "Proxy-Connection": true, "X-Proxy-Id": true,
	"Remote-User": true, "Cdn-Loop": true, "X-Cdn": true, "X-Arr-Log-Id": true, "X-Arr-Ssl": true,
	"X-Appengine-User-Ip": true, "X-Serverless-Authorization": true, "X-Varnish": true,
	"X-Sucuri-Clientip": true, "X-Ms-Client-Principal": true,
}

// proxyPrefixes are the prefixes of whole families of such headers.
var proxyPrefixes = []string{
	"X-Forwarded-", "Cf-", "Fly-", "Fastly-", "Tailscale-", "X-Tailscale-", "Ngrok-", "X-Envoy-", "X-Azure-",
	"X-Amz-Cf-", "X-Amzn-Oidc-",
	"X-Goog-Iap-", "X-Goog-Authenticated-", "X-Akamai-", "Akamai-", "X-Vercel-", "X-Railway-", "X-Auth-Request-",
	"X-Authentik-", "X-Pomerium-",
}

// proxied is the name of a header that only a proxy would have set; empty for none.
func proxied(h http.Header) string {
	for name := range h {
		if proxyHeaders[name] {
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
