package payload

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"go.temporal.io/sdk/converter"

	"github.com/seed-56a03226/oneiros/internal/hostname"
)

// bodyLimit bounds one request to the codec server, in bytes: the largest page of a history that a Temporal server
// returns (4 MiB of gRPC), plus the overhead of base64 and sealing.
const bodyLimit = 8 << 20

// Server is a remote codec for Temporal's UI and command line: POST /encode and /decode, in the format of
// converter.NewRemotePayloadCodec and the UI.
type Server struct {
	Keys    Keys
	Origins []string // of the pages that may call it, such as http://127.0.0.1:8233; other pages are refused
	Hosts   []string // host names, without ports, that it accepts besides those of loopback
	Token   string   // expected in "Authorization: Bearer ..."; empty: no token is needed
}

// Handler returns the HTTP handler.
func (s Server) Handler() http.Handler {
	codec := converter.NewPayloadCodecHTTPHandler(Codec(s.Keys))
	hosts := hostname.Allow(s.Hosts...)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if !hosts.Has(r.Host) {
			message := fmt.Sprintf(
				"this codec server does not answer to the host %q; name it with --host if it should", r.Host)
			http.Error(w, message, http.StatusForbidden)
			return
		}
		if !s.allowOrigin(w, r) {
			return
		}
		if r.Method == http.MethodOptions {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		if !s.hasToken(r.Header.Get("Authorization")) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="oneiros codec"`)
			http.Error(w, "this codec server requires its token: send Authorization: Bearer TOKEN",
				http.StatusUnauthorized)
			return
		}
		if r.ContentLength > bodyLimit {
			http.Error(w, "the request is too large; the limit is 8 MiB", http.StatusRequestEntityTooLarge)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, bodyLimit)
		codec.ServeHTTP(w, r)
	})
}

// allowOrigin accepts programs, which send no Origin header, and pages of the configured origins. It responds to all
// others itself.
func (s Server) allowOrigin(w http.ResponseWriter, r *http.Request) bool {
	w.Header().Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	if !slices.Contains(s.Origins, origin) {
		http.Error(w, "pages of this origin may not use the codec server; see --origin", http.StatusForbidden)
		return false
	}
	w.Header().Set("Access-Control-Allow-Origin", origin)
	w.Header().Set("Access-Control-Allow-Methods", "POST, OPTIONS")
	w.Header().Set("Access-Control-Allow-Headers", "Authorization, Content-Type, X-Namespace")
	w.Header().Set("Access-Control-Allow-Credentials", "true")
	return true
}

// hasToken compares the token in constant time.
func (s Server) hasToken(authorization string) bool {
	if s.Token == "" {
		return true
	}
	scheme, shown, _ := strings.Cut(authorization, " ")
	is, want := sha256.Sum256([]byte(shown)), sha256.Sum256([]byte(s.Token))
	return subtle.ConstantTimeCompare(is[:], want[:]) == 1 && strings.EqualFold(scheme, "Bearer")
}
