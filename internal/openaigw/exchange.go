package openaigw

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"

	"github.com/seed-56a03226/oneiros/internal/inference"
)

// Why an exchange was ended by this room and not by its caller.
var (
	errSilence = errors.New("the provider fell silent")
	errTail    = errors.New("nothing more is waited for")
	errClosed  = errors.New("the exchange is over")
)

// interrupted is the end of the caller's context. It is an error, and no failure of the provider.
type interrupted struct{ cause error }

func (i *interrupted) Error() string { return "the call was cut: " + i.cause.Error() }
func (i *interrupted) Unwrap() error { return i.cause }

// send makes one request, once. A status other than 2xx becomes a *Failure unless raw is wanted.
func (g *Gateway) send(ctx context.Context, r inference.RelayRequest, raw bool) (*http.Response, error) {
	var reached atomic.Bool
	trace := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { reached.Store(true) }})
	req, err := http.NewRequestWithContext(trace, r.Method, g.base+r.Path, bytes.NewReader(r.Body))
	if err != nil {
		return nil, badRequest("%s %s cannot be asked for: %s", r.Method, r.Path, g.clean(err.Error()))
	}
	// net/http repeats a request whose body it can rewind when a reused connection breaks, and takes an Idempotency-Key
	// for leave to do so. A paid call is made once.
	req.GetBody = nil
	for name, values := range r.Header {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	for name, value := range g.headers {
		req.Header.Set(name, value)
	}
	if g.key != "" {
		req.Header.Set("Authorization", "Bearer "+g.key)
	}
	if r.Key != "" {
		req.Header.Set("Idempotency-Key", headerSafe(r.Key))
	}
	res, err := g.client.Do(req)
	if err != nil {
		return nil, g.lost(ctx, err, reached.Load())
	}
	if raw || res.StatusCode/100 == 2 {
		return res, nil
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, errorLimit))
	if err != nil && ctx.Err() != nil && !errors.Is(context.Cause(ctx), errSilence) {
		return nil, &interrupted{context.Cause(ctx)}
	}
	return nil, g.refusal(res.StatusCode, res.Header, body)
}

// lost tells an exchange that ended without an answer, or in the middle of one. Only what never had a connection was
// certainly never sent.
func (g *Gateway) lost(ctx context.Context, err error, reached bool) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, errSilence) {
		return &interrupted{cause}
	} else if cause != nil {
		err = cause
	}
	f := &inference.Failure{Kind: inference.Broken, Billed: true, Err: err}
	if !reached {
		f.Kind, f.Billed = inference.Unavailable, false
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	f.Message = g.clean(fmt.Sprintf("%s: %v", g, err))
	return f
}

// headerSafe escapes what no header can hold, so that a key of any agent's name can be sent.
func headerSafe(key string) string {
	if printable(key) {
		return key
	}
	return url.PathEscape(key)
}
