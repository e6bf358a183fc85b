package front

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/fairqueue"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// mostRates bounds the table of rates. Only principals of valid keys are in it.
const mostRates = 10000

// rates counts the requests of each principal, so that a second key does not double its rate.
type rates struct {
	now   func() time.Time
	mu    sync.Mutex
	byKey map[string]*limiter // by principal
}

type limiter struct {
	rate int
	*rate.Limiter
	used time.Time
}

// RateLimit is what is left of a minute's requests.
type RateLimit struct {
	Limit     int // requests a minute
	Remaining int
	Reset     time.Duration // until as many as Limit may be sent at once
	At        time.Time     // when this held
}

// setRate tells a client its rate in headers, as OpenAI's do.
func setRate(h http.Header, l RateLimit) {
	h.Set("X-Ratelimit-Limit-Requests", strconv.Itoa(l.Limit))
	h.Set("X-Ratelimit-Remaining-Requests", strconv.Itoa(l.Remaining))
	h.Set("X-Ratelimit-Reset-Requests", l.Reset.Round(time.Millisecond).String())
}

// rate counts a request, tells its client what is left in the headers of its wire, and refuses what is too much.
func (x *exchange) rate(k *access.Key) error {
	left, err := x.server.rates.take(k)
	switch {
	case left.Limit == 0:
	case x.form != nil:
		x.form.Rate(x.Header(), left)
	default:
		setRate(x.Header(), left)
	}
	return err
}

// take lets a request pass, or says when to try again. After a pause a key may make a minute's requests at once. When
// the keys of a principal have different rates, the rate of the key in use applies, and switching keys never gains
// anything.
func (t *rates) take(k *access.Key) (left RateLimit, err error) {
	if k.Rate <= 0 {
		return left, nil
	}
	now := t.now()
	t.mu.Lock()
	defer t.mu.Unlock()
	principal := k.SpeaksAs()
	perSecond := rate.Limit(float64(k.Rate) / 60)
	l := t.byKey[principal]
	if l == nil {
		t.makeRoom(now)
		l = &limiter{rate: k.Rate, Limiter: rate.NewLimiter(perSecond, k.Rate)}
		t.byKey[principal] = l
	}
	if l.rate != k.Rate {
		l.SetLimitAt(now, perSecond)
		l.SetBurstAt(now, k.Rate)
		l.rate = k.Rate
	}
	l.used = now
	passes := l.AllowN(now, 1)
	tokens := l.TokensAt(now)
	perToken := float64(time.Minute) / float64(k.Rate)
	left = RateLimit{
		Limit:     k.Rate,
		Remaining: max(0, int(tokens)),
		Reset:     time.Duration((float64(k.Rate) - tokens) * perToken),
		At:        now,
	}
	if passes {
		return left, nil
	}
	return left, psyche.Refuse(http.StatusTooManyRequests, codeRate, "",
		"the key may ask %d times a minute", k.Rate).After(time.Duration((1 - tokens) * perToken))
}

// makeRoom drops principals that made no request for a minute, since their allowance is full again.
func (t *rates) makeRoom(now time.Time) {
	if len(t.byKey) < mostRates {
		return
	}
	for id, l := range t.byKey {
		if now.Sub(l.used) >= time.Minute || len(t.byKey) >= mostRates {
			delete(t.byKey, id)
		}
	}
}

// Load is told what waits and what is refused because there is too much.
type Load interface {
	Queue(waiting int)
	// Waited is told how long a request waited for its place, and why it got none: empty when it got one.
	Waited(waited time.Duration, refused fairqueue.Reason)
	// Shed is told the code of a fault: rate_limit_exceeded, too_many_streams or overloaded.
	Shed(code string)
}

// The codes of faults of which Load is told.
const (
	codeRate  = "rate_limit_exceeded"
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
