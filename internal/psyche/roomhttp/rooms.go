package roomhttp

import (
	"net/http"

	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
	"github.com/seed-56a03226/oneiros/internal/psyche/params"
	"github.com/seed-56a03226/oneiros/internal/psyche/rooms"
)

func (f *Handler) create(w http.ResponseWriter, r *http.Request) {
	var request rooms.CreateRequest
	if err := object(r, &request); err != nil {
		front.Refuse(w, r, err)
		return
	}
	made, err := f.Rooms.Create(r.Context(), front.CallerOf(r.Context()), request)
	if err == nil {
		w.Header().Set("Location", "/v1/rooms/"+made.ID)
	}
	answer(w, r, http.StatusCreated, made, err)
}

func (f *Handler) list(w http.ResponseWriter, r *http.Request) {
	if _, err := params.QueryOf(r); err != nil {
		front.Refuse(w, r, err)
		return
	}
	all, err := f.Rooms.List(r.Context(), front.CallerOf(r.Context()))
	answer(w, r, http.StatusOK, page(all, false, func(each room.Room) string { return each.ID }), err)
}

func (f *Handler) show(w http.ResponseWriter, r *http.Request) {
	if _, err := params.QueryOf(r); err != nil {
		front.Refuse(w, r, err)
		return
	}
	view, err := f.Rooms.Show(r.Context(), front.CallerOf(r.Context()), r.PathValue("room"))
	answer(w, r, http.StatusOK, view, err)
}

func (f *Handler) join(w http.ResponseWriter, r *http.Request) {
	var request rooms.JoinRequest
	if err := object(r, &request); err != nil {
		front.Refuse(w, r, err)
		return
	}
	request.Room = r.PathValue("room")
	joined, err := f.Rooms.Join(r.Context(), front.CallerOf(r.Context()), request)
	answer(w, r, http.StatusOK, joined, err)
}

func (f *Handler) leave(w http.ResponseWriter, r *http.Request) {
	if err := nothing(r); err != nil {
		front.Refuse(w, r, err)
		return
	}
	err := f.Rooms.Leave(r.Context(), front.CallerOf(r.Context()), r.PathValue("room"), r.PathValue("member"))
	if err != nil {
		front.Refuse(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// Subscription is the body of PUT /v1/rooms/{room}/subscriptions.
type Subscription struct {
	Agent string `json:"agent"` // handle or id of a member
	On    *bool  `json:"on"`    // whether it sees every post of the room, not only those that name it
}

func (f *Handler) subscribe(w http.ResponseWriter, r *http.Request) {
	var request Subscription
	err := object(r, &request)
	switch {
	case err != nil:
	case request.Agent == "":
		err = params.Wrong("agent", "agent is missing: the handle of a member of the room")
	case request.On == nil:
		err = params.Wrong("on", "on is missing: true lets the agent see every post, false only those that name it")
	}
	if err != nil {
		front.Refuse(w, r, err)
		return
	}
	changed, err := f.Rooms.Subscribe(r.Context(), front.CallerOf(r.Context()), r.PathValue("room"), request.Agent,
		*request.On)
	answer(w, r, http.StatusOK, changed, err)
}

// object reads a body, of a request without a query string.
func object(r *http.Request, into any) error {
	if _, err := params.QueryOf(r); err != nil {
		return err
	}
	return params.Object(r, into)
}

// nothing refuses every parameter and every field of a body.
func nothing(r *http.Request) error {
	if _, err := params.QueryOf(r); err != nil {
		return err
	}
	return params.Read(r, nil)
}

// refuse writes an error, or the first fault of a query; false when there is neither.
func refuse(w http.ResponseWriter, r *http.Request, q *params.Query, err error) bool {
	var fault *psyche.Fault
	if q != nil {
		fault = q.Fault
	}
	switch {
	case err != nil:
		front.Refuse(w, r, err)
	case fault != nil:
		front.Refuse(w, r, fault)
	}
	return err != nil || fault != nil
}
