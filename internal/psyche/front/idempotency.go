package front

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// mostKept bounds a stored response, in bytes.
const mostKept = 4 << 20

// idempotent serves a request with an Idempotency-Key. The first one is processed to its end even when its client
// hangs up, and repetitions get the same response. Failures of the server (5xx) and temporary refusals may be tried
// again.
func (s *Server) idempotent(x *exchange, r *http.Request, caller *psyche.Caller) error {
	c, err := s.claimOf(r, caller)
	if err != nil {
		return err
	}
	answer, err := s.o.Keys.Claim(r.Context(), c)
	switch {
	case errors.Is(err, access.ErrBusy):
		return psyche.Refuse(http.StatusConflict, "idempotency_in_progress", "",
			"the same request is under way; ask again").After(soon)
	case errors.Is(err, access.ErrLost):
		x.Header().Set("X-Should-Retry", "false") // libraries would repeat a 409 by themselves, in vain
		return psyche.Refuse(http.StatusConflict, "idempotency_outcome_unknown", "",
			"the server that did this request ended before it had answered, and it may have been done; look whether it was, and send it with a new Idempotency-Key if not")
	case errors.Is(err, access.ErrOther):
		return psyche.Refuse(http.StatusUnprocessableEntity, "idempotency_key_reused", "",
			"this Idempotency-Key was used for another request; take a new one")
	case err != nil && r.Context().Err() != nil:
		return err
	case errors.Is(err, memory.ErrUnwritable):
		return psyche.StoreFault(err)
	case err != nil:
		return psyche.Refuse(http.StatusServiceUnavailable, "store_unavailable", "",
			"whether this was done already cannot be read now; ask again").After(soon).From(err)
	case answer != nil:
		repeat(x, answer)
		return nil
	}
	s.do(x, r, c)
	return nil
}

// claimOf reads the body and puts it back for the handler.
func (s *Server) claimOf(r *http.Request, caller *psyche.Caller) (access.Claim, error) {
	name := r.Header.Get("Idempotency-Key")
	if name == "" || len(name) > 255 || strings.ContainsFunc(name, func(c rune) bool { return c < ' ' || c > '~' }) {
		return access.Claim{},
			psyche.Refuse(http.StatusBadRequest, "idempotency_key_invalid", "",
				"an Idempotency-Key has 1 to 255 printable ASCII characters")
	}
	body, err := Body(r)
	if err != nil {
		return access.Claim{}, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	sum := sha256.New()
	fmt.Fprintf(sum, "%s %s\n", r.Method, r.URL.RequestURI())
	for _, line := range identifyingHeaders(r.Header) {
		fmt.Fprintf(sum, "%s\n", line)
	}
	// Keys of one principal may have different roles and reach different agents: the response for one must not be
	// repeated to another.
	fmt.Fprintf(sum, "%s %q\n", caller.Key.Role, caller.Key.Agents)
	sum.Write(body)
	return access.Claim{
		Scope:  caller.Key.ClaimScope(),
		Name:   name,
		Digest: hex.EncodeToString(sum.Sum(nil)),
		Now:    s.o.Now().UTC(),
		Hold:   s.o.Limits.Lease,
		Keep:   s.o.Limits.Keep,
		Most:   s.o.Limits.Answers,
	}, nil
}

// identifyingHeaders are the headers that, like the body, say what a request is: its user, agent and conversation.
// Without them one user's request could count as another's repetition. Client libraries send them again unchanged.
func identifyingHeaders(h http.Header) []string {
	var lines []string
	for name, values := range h {
		if identifies(name) {
			lines = append(lines, fmt.Sprintf("%s: %q", name, values))
		}
	}
	slices.Sort(lines)
	return lines
}

// keepWithin is the time to store a response, after the time that the request may take.
const keepWithin = 5 * time.Second

// do serves the request and stores the response before it is sent, so that a client that has seen it gets the same
// again.
func (s *Server) do(x *exchange, r *http.Request, c access.Claim) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(r.Context()), s.o.Limits.Hold)
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	running := s.net.context()
	defer context.AfterFunc(running, func() { cancel(context.Cause(running)) })()
	record := &record{x: x, header: x.Header(), aloud: x.route.Stream}
	enough := s.keepClaim(c)
	kept := false
	defer func() {
		if !kept { // it panicked
			s.finishClaim(c, nil, enough)
		}
	}()
	x.route.Serve(record, r.WithContext(ctx))
	if record.status == 0 {
		record.WriteHeader(http.StatusOK)
	}
	kept = true
	s.finishClaim(c, record.answered(), enough)
	if !record.aloud {
		x.WriteHeader(record.status)
		_, _ = x.Write(record.body.Bytes())
	}
}

// keepClaim renews a claim while its request is processed, until the returned function is called.
func (s *Server) keepClaim(c access.Claim) (enough func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var over sync.WaitGroup
	over.Go(func() {
		beat := time.NewTicker(max(time.Millisecond, s.o.Limits.Lease/3))
		defer beat.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-beat.C:
			}
			if err := s.o.Keys.Renew(ctx, c, s.o.Now().UTC()); err != nil && ctx.Err() == nil {
				s.o.Report(fmt.Errorf("renew the claim of a request with an idempotency key: %w", err))
			}
		}
	})
	return func() {
		cancel()
		over.Wait()
	}
}

// finishClaim stores a response or gives the claim up, and calls enough. While the store does not answer it continues
// in the background, and renews the claim, for as long as a request may take: after the claim's lease nobody could find
// out what this process knows.
func (s *Server) finishClaim(c access.Claim, a *access.StoredResponse, enough func()) {
	err := s.keep(context.Background(), c, a)
	if err == nil {
		enough()
		return
	}
	s.o.Report(fmt.Errorf("keep the answer to a request with an idempotency key, which is tried again: %w", err))
	go func() {
		defer enough()
		agentState, cancel := context.WithTimeout(s.net.context(), s.o.Limits.Hold)
		defer cancel()
		again := time.NewTicker(max(time.Millisecond, s.o.Limits.Lease/3))
		defer again.Stop()
		for s.keep(agentState, c, a) != nil {
			select {
			case <-again.C:
			case <-agentState.Done():
				return
			}
		}
	}()
}

func (s *Server) keep(ctx context.Context, c access.Claim, a *access.StoredResponse) error {
	ctx, cancel := context.WithTimeout(ctx, keepWithin)
	defer cancel()
	return s.o.Keys.Answer(ctx, c, a)
}

func repeat(w http.ResponseWriter, a *access.StoredResponse) {
	h := w.Header()
	for name, values := range a.Header {
		h[http.CanonicalHeaderKey(name)] = values
	}
	if a.Type != "" {
		h.Set("Content-Type", a.Type)
	}
	h.Set("Idempotent-Replayed", "true")
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body)
}

// record is a response to be stored. For a streaming route it is also sent at once.
type record struct {
	x      *exchange
	header http.Header
	status int
	body   bytes.Buffer
	aloud  bool
	cut    bool
	over   bool // it is larger than can be stored
}

func (c *record) Header() http.Header { return c.header }
func (c *record) begun() bool         { return c.aloud && c.status != 0 }

func (c *record) abort() {
	c.cut = true
	c.x.abort()
}

func (c *record) WriteHeader(status int) {
	if c.status != 0 || status < 200 {
		return
	}
	c.status = status
	if c.aloud {
		c.x.WriteHeader(status)
	}
}

func (c *record) Write(p []byte) (int, error) {
	if c.status == 0 {
		c.WriteHeader(http.StatusOK)
	}
	if c.body.Len()+len(p) > mostKept {
		c.over = true
	} else if !c.over {
		c.body.Write(p)
	}
	if !c.aloud {
		if c.over {
			return 0, fmt.Errorf("the answer is larger than the %d bytes that are kept", mostKept)
		}
		return len(p), nil
	}
	_, _ = c.x.Write(p) // it is processed to its end whether or not a client listens
	return len(p), nil
}

// Flush sends what was written.
func (c *record) Flush() {
	if c.aloud {
		c.x.Flush()
	}
}

// transient reports whether a response is temporary: nothing was done, and the same request may succeed later. A
// client that is asked to retry uses the same key.
func transient(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden, http.StatusRequestTimeout,
		http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return status >= 500
}

// answered is the response to store; nil for a temporary one, and for a stream that WriteError says has failed.
func (c *record) answered() *access.StoredResponse {
	failed := c.status < http.StatusBadRequest && c.x.code != ""
	if transient(c.status) || c.cut || failed {
		return nil
	}
	if c.over {
		status, body := c.x.form.refusal(psyche.Refuse(http.StatusConflict, "idempotent_answer_too_large", "",
			"the request was done, and its answer was larger than the %d bytes that are kept", mostKept), "")
		text, _ := json.Marshal(body)
		return &access.StoredResponse{Status: status, Type: "application/json", Body: text}
	}
	return &access.StoredResponse{
		Status: c.status, Type: c.header.Get("Content-Type"), Body: bytes.Clone(c.body.Bytes()),
		Header: replayHeaders(c.header),
	}
}

// replayHeaders are the headers of a stored response that say what was done; the others belong to the moment or the
// connection.
func replayHeaders(h http.Header) map[string][]string {
	kept := map[string][]string{}
	for name, values := range h {
		if name == "Location" || strings.HasPrefix(name, "X-Oneiros-") {
			kept[name] = slices.Clone(values)
		}
	}
	return kept
}
