package roomhttp

import (
	"bytes"
	"io"
	"net/http"
	"strconv"

	"github.com/seed-56a03226/oneiros/internal/psyche/front"
	"github.com/seed-56a03226/oneiros/internal/psyche/params"
	"github.com/seed-56a03226/oneiros/internal/psyche/webhooks"
)

func (f *Handler) addWebhook(w http.ResponseWriter, r *http.Request) {
	var request webhooks.AddRequest
	if err := object(r, &request); err != nil {
		front.Refuse(w, r, err)
		return
	}
	added, err := f.Webhooks.Add(r.Context(), front.CallerOf(r.Context()), r.PathValue("room"), request)
	answer(w, r, http.StatusCreated, added, err)
}

func (f *Handler) webhooks(w http.ResponseWriter, r *http.Request) {
	if _, err := params.QueryOf(r); err != nil {
		front.Refuse(w, r, err)
		return
	}
	all, err := f.Webhooks.List(r.Context(), front.CallerOf(r.Context()), r.PathValue("room"))
	answer(w, r, http.StatusOK, page(all, false, func(v webhooks.View) string { return v.Name }), err)
}

func (f *Handler) removeWebhook(w http.ResponseWriter, r *http.Request) {
	if err := nothing(r); err != nil {
		front.Refuse(w, r, err)
		return
	}
	_, err := f.Webhooks.Remove(r.Context(), front.CallerOf(r.Context()), r.PathValue("room"), r.PathValue("webhook"))
	if err != nil {
		front.Refuse(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// Received says what became of a post that came in.
type Received struct {
	Post string `json:"post,omitempty"` // its id; none while it is held
	Held bool   `json:"held,omitempty"` // the agent as which it speaks sleeps
}

// receive takes a post of a webhook. Nothing of the request is read before its signature is checked.
func (f *Handler) receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		front.Refuse(w, r, err)
		return
	}
	hook, err := f.Webhooks.Check(r.Context(), r.PathValue("room"), r.PathValue("webhook"), r.Header, body)
	if err != nil {
		front.Refuse(w, r, err)
		return
	}
	var request webhooks.IncomingPost
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	if err := object(r, &request); err != nil {
		front.Refuse(w, r, err)
		return
	}
	done, err := f.Webhooks.Receive(r.Context(), hook, request)
	if err == nil && !done.Held {
		w.Header().Set("Location", "/v1/rooms/"+hook.Room+"/posts/"+strconv.FormatInt(done.Post.Offset, 10))
	}
	answer(w, r, http.StatusCreated, Received{done.Post.ID, done.Held}, err)
}
