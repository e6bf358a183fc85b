package inference

import (
	"context"
	"io"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
)

// RelayRequest is a body to be passed on unchanged. Its caller may have edited it before.
type RelayRequest struct {
	Method string              // GET or POST
	Path   string              // below the provider's base address, such as "/chat/completions"
	Header map[string][]string // the caller's; credentials, cookies and connection headers are not passed on
	Body   []byte
	Model  string // the catalogue's name, by which the call is priced; empty for calls that cost nothing (GET /models)
	Key    string // idempotency key; empty for none
	// Caches says that the provider may be asked to keep the beginning of the prompt in its cache: what writing to it
	// costs is reserved. A gateway that translates the body marks it; one that passes it on does not.
	Caches bool
}

// RelayResponse is what the provider answered, whatever its status. Body must be closed.
type RelayResponse struct {
	Status int
	Header map[string][]string
	Body   io.ReadCloser        // the provider's bytes, unaltered, as they come
	Seen   func() RelayObserved // what has been observed so far; final once Body has ended or was closed
}

// RelayObserved is what was read from the bytes that passed.
type RelayObserved struct {
	Tokens    budget.Tokens
	UsageFrom UsageFrom // ByProvider only when the provider's usage went by
	// CacheWrites says that the provider counts what was written to a cache by itself: Tokens.Surcharge is then all
	// that a token of the prompt costs above the list price.
	CacheWrites bool
	Pieces      int64  // stream pieces seen, visible and not: a lower bound of what was served
	Finish      string // the provider's finish reason; empty when none was seen
	Ended       bool   // the body was read to its end
}

// Relay passes bodies through: bytes in, bytes out, usage observed. It never retries and is safe for concurrent use.
type Relay interface {
	// Relay returns every answer of the provider, refusals included, as a response. What no API answered, such as a
	// redirect or a page of a proxy, is a *Failure of kind Malformed with a Status. Errors are as in Model.Generate: a
	// *Failure, or an error that wraps context.Cause(ctx). The context must outlive the reading of the body.
	Relay(ctx context.Context, r RelayRequest) (*RelayResponse, error)
}
