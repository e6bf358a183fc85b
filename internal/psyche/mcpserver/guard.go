package mcpserver

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// guard refuses what a web page may have sent. The server in front does so too, and this package does not rely on it.
// A request without a key must use one of the server's own host names, and an Origin must be one that may call.
func (f *Handler) guard(r *http.Request, c psyche.Caller) *psyche.Fault {
	if c.Key.ID == "" && !f.named(r.Host) {
		return psyche.Refuse(http.StatusForbidden, "host_not_allowed", "",
			"the Host header names another server; without a key this one answers to its own names only")
	}
	for _, origin := range r.Header.Values("Origin") {
		if !f.allowedOrigin(origin, r.Host) {
			return psyche.Refuse(http.StatusForbidden, "origin_not_allowed", "",
				"pages of this origin may not call the server")
		}
	}
	return nil
}

// named reports whether a Host header, with or without a port, names this server.
func (f *Handler) named(host string) bool { return f.hosts.Has(host) }

// allowedOrigin reports whether pages of an origin may call.
func (f *Handler) allowedOrigin(origin, host string) bool {
	if slices.ContainsFunc(f.options.Origins, func(o string) bool { return strings.EqualFold(o, origin) }) {
		return true
	}
	page, err := url.Parse(origin)
	if err != nil || page.Host == "" || (page.Scheme != "http" && page.Scheme != "https") {
		return false // also "null": a page that hides its origin
	}
	return strings.EqualFold(page.Host, host)
}
