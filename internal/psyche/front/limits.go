package front

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/seed-56a03226/oneiros/internal/access"
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

// take lets a request pass, or says when to try again. After a pause a key may make a minute's requests at once. When
// the keys of a principal have different rates, the rate of the key in use applies, and switching keys never gains
// anything.
func (t *rates) take(k *access.Key) error {
	if k.Rate <= 0 {
		return nil
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
	if l.AllowN(now, 1) {
		return nil
	}
	missing := 1 - l.TokensAt(now)
	return psyche.Refuse(http.StatusTooManyRequests, "rate_limit_exceeded", "",
		"the key may ask %d times a minute", k.Rate).After(time.Duration(missing * float64(time.Minute) / float64(k.Rate)))
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

// streams counts requests under way.
type streams struct {
	mu        sync.Mutex
	byKey     map[string]int
	now       int
	each, all int
}

// enter takes a place; leave gives it back.
func (t *streams) enter(key string) (leave func(), err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byKey[key] >= t.each {
		return nil, psyche.Refuse(http.StatusTooManyRequests, "too_many_streams", "",
			"the key has %d requests under way, which is as many as it may", t.each).After(soon)
	}
	if t.now >= t.all {
		return nil, psyche.Refuse(http.StatusServiceUnavailable, "overloaded", "",
			"the server has as many requests under way as it may; ask again").After(soon)
	}
	t.byKey[key]++
	t.now++
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.now--
		t.byKey[key]--
		if t.byKey[key] == 0 {
			delete(t.byKey, key)
		}
	}, nil
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
