package exchange

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
	"github.com/seed-56a03226/oneiros/internal/jsonobject"
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

// Interrupted is the error of a call whose context has ended.
func Interrupted(ctx context.Context) error { return &interrupted{context.Cause(ctx)} }

// Send makes one request, once. A status other than 2xx becomes a *inference.Failure.
func (c *Client) Send(ctx context.Context, r inference.RelayRequest) (*http.Response, error) {
	return c.send(ctx, r, false)
}

// send makes one request, once. A status other than 2xx becomes a *inference.Failure unless raw is set.
func (c *Client) send(ctx context.Context, r inference.RelayRequest, raw bool) (*http.Response, error) {
	reached := new(atomic.Bool)
	req, err := c.request(ctx, &r, reached)
	if err != nil {
		return nil, err
	}
	// No http.Client: a redirect is reported and not followed, since following it would be a second request.
	res, err := c.transport.RoundTrip(req)
	if err != nil {
		return nil, c.Lost(ctx, err, reached.Load())
	}
	if raw || res.StatusCode/100 == 2 {
		return res, nil
	}
	return nil, c.refused(ctx, res)
}

// refused reads an error response.
func (c *Client) refused(ctx context.Context, res *http.Response) error {
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, errorLimit))
	if err != nil && ctx.Err() != nil && !errors.Is(context.Cause(ctx), errSilence) {
		return &interrupted{context.Cause(ctx)}
	}
	return c.refusal(res.StatusCode, res.Header, body)
}

// request builds a request with the provider's credentials; reached is set when it has a connection.
func (c *Client) request(ctx context.Context, r *inference.RelayRequest, reached *atomic.Bool) (*http.Request, error) {
	body := bytes.NewReader(r.Body)
	trace := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { reached.Store(true) },
		// net/http keeps a request until its response is read, and a stream may last for long.
		WroteRequest: func(httptrace.WroteRequestInfo) { body.Reset(nil) },
	})
	req, err := http.NewRequestWithContext(trace, r.Method, c.base+r.Path, nil)
	if err != nil {
		return nil, BadRequest("%s %s cannot be requested: %s", r.Method, r.Path, c.Clean(err.Error()))
	}
	// net/http repeats a request whose body it can rewind when a reused connection breaks, and takes an
	// Idempotency-Key as permission. A paid call is made once: there is no GetBody. Of this type of body net/http knows
	// that reading it takes no time, and sends the headers in one packet with it.
	if len(r.Body) > 0 {
		req.Body, req.ContentLength = io.NopCloser(body), int64(len(r.Body))
	}
	req.Header = make(http.Header, len(r.Header)+len(c.headers)+len(c.fixed)+2)
	for name, values := range r.Header {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	for name, value := range c.headers {
		req.Header.Set(name, value)
	}
	for name, value := range c.fixed {
		if req.Header.Get(name) == "" {
			req.Header.Set(name, value)
		}
	}
	switch {
	case c.key == "":
	case c.keyHeader == "":
		req.Header.Set("Authorization", "Bearer "+c.key)
	default:
		req.Header.Set(c.keyHeader, c.key)
	}
	if r.Key != "" {
		req.Header.Set("Idempotency-Key", headerSafe(r.Key))
	}
	return req, nil
}

// Lost describes an exchange that ended without a response, or in the middle of one. Only a request that
// never had a connection was certainly never sent.
func (c *Client) Lost(ctx context.Context, err error, reached bool) error {
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
	f.Message = c.Clean(fmt.Sprintf("%s: %v", c, err))
	return f
}

// BadRequest is a request that no provider could answer; nothing was sent.
func BadRequest(format string, a ...any) error {
	return &inference.Failure{Kind: inference.BadRequest, Message: fmt.Sprintf(format, a...)}
}

// Untranslatable refuses a request of which something cannot be said on the provider's wire: the failure has its field.
func Untranslatable(err error) error {
	failure := &inference.Failure{Kind: inference.BadRequest, Message: err.Error(), Err: err}
	if e, ok := errors.AsType[*jsonobject.Error](err); ok {
		failure.Field = e.Field
	}
	return failure
}

// headerSafe escapes what no header can hold, so that a key with any agent's name can be sent.
func headerSafe(key string) string {
	if printable(key) {
		return key
	}
	return url.PathEscape(key)
}
