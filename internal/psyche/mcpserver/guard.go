package mcpserver

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// guard refuses what a web page may have sent: the front does so too, and this face does not rely on it. Whoever comes
// without a key must have called the server by a name of its own, and whoever names an origin must come from a page
// that may call.
func (f *Face) guard(r *http.Request, c psyche.Caller) *psyche.Fault {
	if c.Key.ID == "" && !f.named(r.Host) {
		return &psyche.Fault{
			Status: http.StatusForbidden, Type: "permission_error", Code: "host_not_allowed",
			Message: "the Host header names another server; without a key this one answers to its own names only",
		}
	}
	for _, origin := range r.Header.Values("Origin") {
		if !f.welcome(origin, r.Host) {
			return &psyche.Fault{
				Status: http.StatusForbidden, Type: "permission_error", Code: "origin_not_allowed",
				Message: "pages of this origin may not call the server",
			}
		}
	}
	return nil
}

// named says whether a Host header, with or without its port, names this server.
func (f *Face) named(host string) bool { return f.hosts.Has(host) }

// welcome says whether pages of an origin may call.
func (f *Face) welcome(origin, host string) bool {
	if slices.ContainsFunc(f.options.Origins, func(o string) bool { return strings.EqualFold(o, origin) }) {
		return true
	}
	page, err := url.Parse(origin)
	if err != nil || page.Host == "" || (page.Scheme != "http" && page.Scheme != "https") {
		return false // "null" among them: a page that hides where it is from
	}
	return strings.EqualFold(page.Host, host)
}
