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

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// Causes with which this package ends an exchange.
var (
	errSilence = errors.New("the provider fell silent")
	errTail    = errors.New("nothing more is waited for")
	errClosed  = errors.New("the exchange is over")
)

// interrupted is the end of the caller's context. It is an error, but not a failure of the provider.
type interrupted struct{ cause error }

func (i *interrupted) Error() string { return "the call was cut: " + i.cause.Error() }
func (i *interrupted) Unwrap() error { return i.cause }

// send makes one request, once. A status other than 2xx becomes a *Failure unless raw is set.
func (g *Gateway) send(ctx context.Context, r inference.RelayRequest, raw bool) (*http.Response, error) {
	reached := new(atomic.Bool)
	req, err := g.request(ctx, &r, reached)
	if err != nil {
		return nil, err
	}
	// No http.Client: a redirect is reported and not followed, since following it would be a second request.
	res, err := g.transport.RoundTrip(req)
	if err != nil {
		return nil, g.lostExchange(ctx, err, reached.Load())
	}
	if raw || res.StatusCode/100 == 2 {
		return res, nil
	}
	return nil, g.refused(ctx, res)
}

// refused reads an error response.
func (g *Gateway) refused(ctx context.Context, res *http.Response) error {
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, errorLimit))
	if err != nil && ctx.Err() != nil && !errors.Is(context.Cause(ctx), errSilence) {
		return &interrupted{context.Cause(ctx)}
	}
	return g.refusal(res.StatusCode, res.Header, body)
}

// request builds a request with the provider's credentials; reached is set when it has a connection.
func (g *Gateway) request(ctx context.Context, r *inference.RelayRequest, reached *atomic.Bool) (*http.Request, error) {
	trace := httptrace.WithClientTrace(ctx,
		&httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { reached.Store(true) }})
	req, err := http.NewRequestWithContext(trace, r.Method, g.base+r.Path, nil)
	if err != nil {
		return nil, badRequest("%s %s cannot be requested: %s", r.Method, r.Path, g.clean(err.Error()))
	}
	// net/http repeats a request whose body it can rewind when a reused connection breaks, and takes an
	// Idempotency-Key as permission. A paid call is made once: there is no GetBody.
	if len(r.Body) > 0 {
		req.Body, req.ContentLength = newParcel(r.Body), int64(len(r.Body))
	}
	req.Header = make(http.Header, len(r.Header)+len(g.headers)+2)
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
	return req, nil
}

// parcel is a request's body that releases its bytes once they are sent: net/http keeps a request until its response
// is read, and a stream may last for long.
type parcel struct{ rest atomic.Pointer[bytes.Reader] }

func newParcel(b []byte) *parcel {
	p := &parcel{}
	p.rest.Store(bytes.NewReader(b))
	return p
}

// Read reads what is left.
func (p *parcel) Read(b []byte) (int, error) {
	rest := p.rest.Load()
	if rest == nil {
		return 0, errClosed
	}
	return rest.Read(b)
}

// Close releases the bytes.
func (p *parcel) Close() error {
	p.rest.Store(nil)
	return nil
}

// lostExchange describes an exchange that ended without a response, or in the middle of one. Only a request that
// never had a connection was certainly never sent.
func (g *Gateway) lostExchange(ctx context.Context, err error, reached bool) error {
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

// headerSafe escapes what no header can hold, so that a key with any agent's name can be sent.
func headerSafe(key string) string {
	if printable(key) {
		return key
	}
	return url.PathEscape(key)
}
