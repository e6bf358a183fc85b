package openaihttp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
	"github.com/seed-56a03226/oneiros/internal/psyche/params"
)

func (f *Handler) status(r *http.Request) (any, error) {
	caller, err := front.NamedCaller(r)
	if err != nil {
		return nil, err
	}
	return f.Mind.Status(r.Context(), caller, r.PathValue("agent"))
}

func (f *Handler) emotion(r *http.Request) (any, error) {
	return f.Mind.Emotion(r.Context(), front.CallerOf(r.Context()), r.PathValue("agent"))
}

// feel appraises an event reported by the client: {"event": "success", "intensity": 0.8}.
func (f *Handler) feel(r *http.Request) (any, error) {
	var in struct {
		Event     string  `json:"event"`
		Intensity float64 `json:"intensity"`
	}
	if err := params.OptionalObject(r, &in); err != nil {
		return nil, err
	}
	return f.Mind.Feel(r.Context(), front.CallerOf(r.Context()), r.PathValue("agent"), in.Event, in.Intensity)
}

// open begins or renews a session: {"id": "...", "ttl": 60} in seconds.
func (f *Handler) open(r *http.Request) (any, error) {
	var in struct {
		ID  string   `json:"id"`
		TTL *float64 `json:"ttl"` // nil: the server's default
	}
	if err := params.OptionalObject(r, &in); err != nil {
		return nil, err
	}
	var ttl time.Duration
	if in.TTL != nil {
		if *in.TTL < 1 || *in.TTL > time.Hour.Seconds() {
			return nil, wrong("ttl", "ttl is %v; it must be from 1 to 3600 seconds, or absent. DELETE ends a session.",
				*in.TTL)
		}
		ttl = time.Duration(*in.TTL * float64(time.Second))
	}
	return f.Mind.Open(r.Context(), front.CallerOf(r.Context()), r.PathValue("agent"), in.ID, ttl)
}

// leave ends the session named by ?id=.
func (f *Handler) leave(w http.ResponseWriter, r *http.Request) {
	id := r.URL.Query().Get("id")
	if id == "" {
		front.Refuse(w, r, wrong("id", "No session is named. Add ?id= and the id that POST answered."))
		return
	}
	if err := f.Mind.Leave(r.Context(), front.CallerOf(r.Context()), r.PathValue("agent"), id); err != nil {
		front.Refuse(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// usualHold is the default length of a lease.
const usualHold = time.Minute

// holdSession is a session that lasts as long as its stream: it opens one, sends an event about it, renews it while the
// client stays connected, and ends it when the client hangs up.
func (f *Handler) holdSession(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	c := front.CallerOf(r.Context())
	agent := r.PathValue("agent")
	ttl := f.Hold
	if ttl <= 0 {
		ttl = usualHold
	}
	s, err := f.Mind.Open(ctx, c, agent, "", ttl)
	if err != nil {
		front.Refuse(w, r, err)
		return
	}
	defer f.release(r, c, agent, s.ID)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	control := http.NewResponseController(w)
	body, _ := json.Marshal(s)
	text := fmt.Sprintf("event: session\ndata: %s\n\n", body)
	tick := time.NewTicker(ttl / 3)
	defer tick.Stop()
	for {
		if _, err := io.WriteString(w, text); err != nil || control.Flush() != nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		case <-front.Leaving(ctx):
			return
		}
		if _, err := f.Mind.Open(ctx, c, agent, s.ID, ttl); err != nil && ctx.Err() == nil {
			text = ": the lease could not be renewed\n\n" // it holds for two more rounds
			continue
		}
		text = ": awake\n\n"
	}
}

// ok answers with what do returns.
func ok(do func(r *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		value, err := do(r)
		if err != nil {
			front.Refuse(w, r, err)
			return
		}
		front.Answer(w, http.StatusOK, value)
	}
}

// releaseWithin bounds the ending of a session whose stream has ended; a lease that remains ends by itself.
const releaseWithin = 2 * time.Second

// release ends a session whose client has hung up.
func (f *Handler) release(r *http.Request, c psyche.Caller, agent, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), releaseWithin)
	defer cancel()
	_ = f.Mind.Leave(ctx, c, agent, id)
}
