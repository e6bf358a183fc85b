package front

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/fairqueue"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/ratelimit"
)

// What is left to a key is said of its requests or of its tokens.
const (
	leftRequests = "Requests"
	leftTokens   = "Tokens"
)

// OpenAI's headers of what is left, as net/http writes them: the limit, what remains, and when all of it does.
var (
	requestHeaders = [3]string{
		"X-Ratelimit-Limit-Requests", "X-Ratelimit-Remaining-Requests", "X-Ratelimit-Reset-Requests",
	}
	tokenHeaders = [3]string{
		"X-Ratelimit-Limit-Tokens", "X-Ratelimit-Remaining-Tokens", "X-Ratelimit-Reset-Tokens",
	}
)

// setLeft tells a client what is left of a limit in headers, as OpenAI's do.
func setLeft(h http.Header, of string, left ratelimit.State) {
	names := &requestHeaders
	if of == leftTokens {
		names = &tokenHeaders
	}
	h[names[0]] = []string{strconv.Itoa(left.Limit)}
	h[names[1]] = []string{strconv.Itoa(left.Remaining)}
	h[names[2]] = []string{left.Reset.Round(time.Millisecond).String()}
}

// SetTokens tells the client of a request in the headers of its wire what is left of its tokens, where they are
// limited.
func SetTokens(ctx context.Context, h http.Header, left ratelimit.State) {
	if left.Limit > 0 {
		exchangeOf(ctx).setLeft(h, leftTokens, left)
	}
}

func (x *exchange) setLeft(h http.Header, of string, left ratelimit.State) {
	if x != nil && x.form != nil {
		x.form.Left(h, of, left)
		return
	}
	setLeft(h, of, left)
}

// rate counts a request, tells its client what is left, and refuses what is too much.
func (x *exchange) rate(k *access.Key) error {
	if k.Rate <= 0 {
		return nil
	}
	left, taken := x.server.rates.Take(k.SpeaksAs(), k.Rate)
	x.setLeft(x.Header(), leftRequests, left)
	if taken {
		return nil
	}
	return psyche.Refuse(http.StatusTooManyRequests, psyche.CodeRate, "", "the key may ask %d times a minute", k.Rate).
		After(left.Wait)
}

// Load is told what waits and what is refused because there is too much.
type Load interface {
	Queue(waiting int)
	// Waited is told how long a request waited for its place, and why it got none: empty when it got one.
	Waited(waited time.Duration, refused fairqueue.Reason)
	// Shed is told the code of a fault: rate_limit_exceeded, too_many_streams or overloaded.
	Shed(code string)
}

// The codes of faults of which Load is told, beside psyche.CodeRate.
const (
	codeOwn   = "too_many_streams"
	codeCrowd = "overloaded"
)

// newPlaces is the queue of the requests that may last.
func newPlaces(l Limits, load Load) *fairqueue.Queue {
	o := fairqueue.Options{Places: l.All, Each: l.Streams, Waiting: l.Queue, Wait: l.QueueTime}
	if load != nil {
		o.Length, o.Waited = load.Queue, load.Waited
	}
	return fairqueue.New(o)
}

// takePlace waits for a place; leave gives it back. A request that waits has read its body: before, net/http would
// not notice that its client hangs up.
func (s *Server) takePlace(r *http.Request, k *access.Key) (leave func(), err error) {
	q := fairqueue.Request{Key: k.SpeaksAs(), Lasting: r.Method == http.MethodGet}
	if k.Program {
		q.Class = fairqueue.Program
	}
	t, err := s.places.Join(q)
	if err != nil {
		return nil, s.crowded(err)
	}
	if t.Placed() {
		return t.Leave, nil
	}
	err = readAhead(r)
	if err == nil {
		err = t.Wait(r.Context())
	}
	if err != nil {
		t.Leave()
		return nil, s.crowded(err)
	}
	return t.Leave, nil
}

// readAhead reads the body and puts it back for the handler.
func readAhead(r *http.Request) error {
	if r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	body, err := Body(r)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return err
}

// crowded is the fault of a request that got no place.
func (s *Server) crowded(err error) error {
	refused, ok := fairqueue.AsRefused(err)
	if !ok {
		return err
	}
	if refused.Reason == fairqueue.Owners {
		return psyche.Refuse(http.StatusTooManyRequests, codeOwn, "",
			"the key has %d requests under way, which is as many as it may", s.o.Limits.Streams).After(refused.After)
	}
	return psyche.Refuse(http.StatusServiceUnavailable, codeCrowd, "",
		"the server has as many requests under way as it may; ask again").After(refused.After)
}

// limitBody bounds a body in bytes and in time. One with a larger Content-Length is refused before it is read.
func (x *exchange) limitBody(r *http.Request) error {
	limits := x.server.o.Limits
	most := limits.Body
	if x.route.Body > 0 {
		most = x.route.Body
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return psyche.Refuse(http.StatusUnsupportedMediaType, "encoded_body", "",
			"bodies are taken as they are, not compressed; leave Content-Encoding out")
	}
	if r.ContentLength > most {
		return tooLarge(most)
	}
	if r.Body == nil || r.ContentLength == 0 {
		return nil
	}
	_ = x.control.SetReadDeadline(time.Now().Add(limits.BodyTime))
	r.Body = &timed{ReadCloser: http.MaxBytesReader(x.ResponseWriter, r.Body, most), control: x.control}
	return nil
}

// timed removes the read deadline at the end of the body: from then on reading only notices that the client hangs up.
// After an error the deadline stays, because net/http reads on before it responds.
type timed struct {
	io.ReadCloser
	control *http.ResponseController
	over    bool
}

func (t *timed) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) && !t.over {
		t.over = true
		_ = t.control.SetReadDeadline(time.Time{})
	}
	return n, err
}
