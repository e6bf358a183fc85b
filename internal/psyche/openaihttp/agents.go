package openaihttp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"time"

	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
)

func (f *Handler) status(w http.ResponseWriter, r *http.Request) {
	caller, err := front.NamedCaller(r)
	if err != nil {
		front.Refuse(w, r, err)
		return
	}
	s, err := f.Mind.Status(r.Context(), caller, r.PathValue("agent"))
	respond(w, r, s, err)
}

func (f *Handler) emotion(w http.ResponseWriter, r *http.Request) {
	e, err := f.Mind.Emotion(r.Context(), front.CallerOf(r.Context()), r.PathValue("agent"))
	respond(w, r, e, err)
}

// feel appraises an event reported by the client: {"event": "success", "intensity": 0.8}.
func (f *Handler) feel(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Event     string  `json:"event"`
		Intensity float64 `json:"intensity"`
	}
	err := read(r, &request)
	if err != nil {
		front.Refuse(w, r, err)
		return
	}
	e, err := f.Mind.Feel(r.Context(), front.CallerOf(r.Context()), r.PathValue("agent"), request.Event,
		request.Intensity)
	respond(w, r, e, err)
}

// open begins or renews a session: {"id": "...", "ttl": 60} in seconds.
func (f *Handler) open(w http.ResponseWriter, r *http.Request) {
	var request struct {
		ID  string   `json:"id"`
		TTL *float64 `json:"ttl"`
	}
	err := read(r, &request)
	var ttl time.Duration // zero: the server's default
	if err == nil && request.TTL != nil {
		if *request.TTL < 1 || *request.TTL > time.Hour.Seconds() {
			err = wrong("ttl", "ttl is %v; it must be from 1 to 3600 seconds, or absent. DELETE ends a session.",
				*request.TTL)
		}
		ttl = time.Duration(*request.TTL * float64(time.Second))
	}
	if err != nil {
		front.Refuse(w, r, err)
		return
	}
	s, err := f.Mind.Open(r.Context(), front.CallerOf(r.Context()), r.PathValue("agent"), request.ID, ttl)
	respond(w, r, s, err)
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

// respond writes a value, or an error.
func respond(w http.ResponseWriter, r *http.Request, value any, err error) {
	if err != nil {
		front.Refuse(w, r, err)
		return
	}
	front.Answer(w, http.StatusOK, value)
}

// read parses a small JSON object; an absent body is an empty one.
func read(r *http.Request, to any) error {
	body, err := front.Body(r)
	if err != nil || len(body) == 0 {
		return err
	}
	decode := json.NewDecoder(bytes.NewReader(body))
	decode.DisallowUnknownFields()
	err = decode.Decode(to)
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && kind.Field != "" {
		return wrong(kind.Field, "%s is a %s; it must be a %s.", kind.Field, kind.Value, jsonKind(kind.Type))
	}
	if err == nil && decode.More() {
		err = errors.New("more than one value")
	}
	if err != nil {
		return psyche.Refuse(http.StatusBadRequest, "invalid_json", "",
			"The body must be one JSON object with the fields that this path takes.").From(err)
	}
	return nil
}

// jsonKind is the JSON name of a Go type.
func jsonKind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Float64, reflect.Int:
		return "number"
	case reflect.Bool:
		return "boolean"
	default:
		return t.Kind().String()
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
