package exchange

import (
	"context"
	"net/http"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// connectionHeaders belong to a connection and are not passed on.
var connectionHeaders = []string{
	"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade", "Content-Length",
}

// Relay passes a body on, with the listed headers of the caller (inference.ForwardedHeaders) and the provider's
// credentials. An error body that quotes these is returned without them, and says that the server's key was refused.
// A response that no API gave is a failure (Malformed, with its status). The response has no headers of a connection.
func (c *Client) Relay(ctx context.Context, r inference.RelayRequest) (*http.Response, error) {
	if err := c.relays(&r); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, Interrupted(ctx)
	}
	r.Header = inference.ForwardedHeaders(r.Header, c.passed)
	res, err := c.send(ctx, r, true)
	if err != nil {
		return nil, err
	}
	if res.StatusCode/100 != 2 {
		unpack(res)
	}
	if f := c.noAPI(res); f != nil {
		_ = res.Body.Close()
		return nil, f
	}
	whose := c.explainRefusal(res.StatusCode)
	if res.StatusCode/100 != 2 && (whose != nil || len(c.secrets) > 0) {
		res.Body = &redacted{Closer: res.Body, from: res.Body, secrets: c.secrets, rewrite: whose}
	}
	if whose != nil {
		res.Header.Set("Content-Type", "application/json")
	}
	res.Header = ownHeaders(res.Header)
	return res, nil
}

// relays checks whether a request can be passed on.
func (c *Client) relays(r *inference.RelayRequest) error {
	if r.Model != "" {
		if _, err := c.PricedModel(r.Model); err != nil {
			return err
		}
	}
	if r.Method != http.MethodGet && r.Method != http.MethodPost {
		return BadRequest("method %q is not relayed; it must be GET or POST", r.Method)
	}
	if !strings.HasPrefix(r.Path, "/") || strings.Contains(r.Path, "..") || strings.ContainsAny(r.Path, "#\\") ||
		!printable(r.Path) {
		return BadRequest("path %q is not relayed; it must begin with / and lie below the provider's address", r.Path)
	}
	return nil
}

// ownHeaders removes connectionHeaders from h, also those that its Connection header names.
func ownHeaders(h http.Header) http.Header {
	for _, value := range h.Values("Connection") {
		for named := range strings.SplitSeq(value, ",") {
			h.Del(strings.TrimSpace(named))
		}
	}
	for _, name := range connectionHeaders {
		h.Del(name)
	}
	return h
}
