package front

import (
	"net"
	"net/http"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// keysLost is the message of a deployment whose keys are gone.
const keysLost = "this deployment needs a key for every request, and its store has none: the store was lost, replaced or damaged. " +
	"Restore it from a copy, or make a new key with: oneiros keys add NAME. To let requests of this machine in without a key again: oneiros keys open"

// keysLostCode is the code of that fault.
const keysLostCode = "keys_missing"

// admit authenticates a request. As soon as any key was ever made, every request needs a live one, until
// AllowKeyless.
func (s *Server) admit(r *http.Request) (*psyche.Caller, error) {
	ring, err := s.keys.current(r.Context())
	if err != nil {
		return nil, psyche.Refuse(http.StatusServiceUnavailable, "keys_unavailable", "",
			"the store of this server does not answer, so that the keys cannot be read; ask again").
			After(soon).From(err)
	}
	if ring.open {
		return s.admitKeyless(r)
	}
	if ring.keysLost() {
		return nil,
			psyche.Refuse(http.StatusServiceUnavailable, keysLostCode, "", "%s", keysLost)
	}
	secret, err := secretOf(r)
	if err != nil {
		return nil, err
	}
	key, ok := ring.find(secret)
	if !ok {
		key, ok = s.keys.refresh(r.Context(), secret)
		if !ok {
			return nil, wrongKey("no key has this secret")
		}
	}
	now := s.o.Now()
	switch {
	case !key.Revoked.IsZero():
		return nil, wrongKey("the key " + key.ID + " was revoked")
	case !key.Live(now):
		return nil, wrongKey("the key " + key.ID + " has expired")
	}
	return &psyche.Caller{Key: s.withLimits(key)}, nil
}

// withLimits gives a key the deployment's limits where it has none of its own.
func (s *Server) withLimits(k access.Key) access.Key {
	if k.Rate == 0 {
		k.Rate = s.o.Limits.Rate
	}
	if k.Tokens == 0 {
		k.Tokens = s.o.Limits.Tokens
	}
	if k.Day == nil {
		k.Day = s.o.Limits.Day
	}
	return k
}

func (s *Server) admitKeyless(r *http.Request) (*psyche.Caller, error) {
	if !s.o.Keyless {
		return nil,
			wrongKey(
				"this server answers no request without a key, and there is no key yet; make one with: oneiros keys add NAME")
	}
	if name := proxied(r.Header); name != "" {
		return nil,
			notAllowed("forwarded",
				"the header "+name+" says that the request came through a proxy, and without keys only programs of "+
					"this machine are served; make a key with: oneiros keys add NAME")
	}
	if !s.hosts.Has(r.Host) {
		return nil,
			notAllowed("host_not_allowed",
				"without keys the Host must be localhost or a loopback address, or be named in serve.hosts")
	}
	if site := r.Header.Get("Sec-Fetch-Site"); (site == "cross-site" || site == "same-site") &&
		r.Header.Get("Origin") == "" {
		return nil, notAllowed("origin_not_allowed", "a page of another site may not call this server")
	}
	return &psyche.Caller{Key: s.withLimits(access.Key{Role: access.Owner})}, nil
}

func wrongKey(why string) *psyche.Fault {
	return psyche.Refuse(http.StatusUnauthorized, "invalid_api_key", "", "%s", why)
}

func notAllowed(code, why string) *psyche.Fault {
	return psyche.Refuse(http.StatusForbidden, code, "", "%s", why)
}

// longestSecret bounds what is hashed.
const longestSecret = 512

// secretOf reads the Authorization header, or x-api-key.
func secretOf(r *http.Request) (string, error) {
	text := r.Header.Get("Authorization")
	secret := r.Header.Get("X-Api-Key")
	if text != "" {
		scheme, rest, _ := strings.Cut(text, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return "", wrongKey("the Authorization header must have the form: Bearer oneiros_…")
		}
		secret = strings.TrimSpace(rest)
	}
	if secret == "" || len(secret) > longestSecret {
		return "", wrongKey(
			"this server needs a key: send the header Authorization: Bearer oneiros_…, or x-api-key: oneiros_…")
	}
	return secret, nil
}

// checkOrigin refuses pages of other sites unless they are configured, and answers their preflights.
func (s *Server) checkOrigin(x *exchange, r *http.Request) (done bool) {
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return false
	}
	origin := strings.ToLower(origins[0])
	switch {
	case len(origins) == 1 && s.origins[origin]:
		h := x.Header()
		h.Set("Access-Control-Allow-Origin", origins[0])
		h.Add("Vary", "Origin")
		h.Set("Access-Control-Expose-Headers", "*")
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			h.Set("Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE")
			h.Set("Access-Control-Allow-Headers", "Authorization, *")
			h.Set("Access-Control-Max-Age", "600")
			x.WriteHeader(http.StatusNoContent)
			return true
		}
		return false
	case len(origins) == 1 && sameHost(origin, r):
		return false
	}
	Refuse(x, r, notAllowed("origin_not_allowed",
		"a page of this origin may not call this server; name it in serve.origins if it should"))
	return true
}

// sameHost reports whether an origin is this server.
func sameHost(origin string, r *http.Request) bool {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	host, ok := strings.CutPrefix(origin, scheme+"://")
	return ok && host != "" && withPort(host, scheme) == withPort(strings.ToLower(r.Host), scheme)
}

func withPort(host, scheme string) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	port := "80"
	if scheme == "https" {
		port = "443"
	}
	return net.JoinHostPort(strings.Trim(host, "[]"), port)
}
