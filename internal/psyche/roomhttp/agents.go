package roomhttp

import (
	"cmp"
	"context"
	"net/http"
	"strconv"

	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
	"github.com/seed-56a03226/oneiros/internal/psyche/params"
	"github.com/seed-56a03226/oneiros/internal/psyche/rooms"
)

func (f *Handler) dormancy(w http.ResponseWriter, r *http.Request) {
	if _, err := params.QueryOf(r); err != nil {
		front.Refuse(w, r, err)
		return
	}
	states, err := f.Rooms.Dormancy(r.Context(), front.CallerOf(r.Context()), r.PathValue("agent"))
	answer(w, r, http.StatusOK, page(states, false, func(d room.Dormancy) string { return d.Room }), err)
}

func (f *Handler) setDormancy(w http.ResponseWriter, r *http.Request) {
	var request rooms.DormancyRequest
	if err := object(r, &request); err != nil {
		front.Refuse(w, r, err)
		return
	}
	set, err := f.Rooms.SetDormancy(r.Context(), front.CallerOf(r.Context()), r.PathValue("agent"), request)
	answer(w, r, http.StatusOK, set, err)
}

func (f *Handler) checkIn(w http.ResponseWriter, r *http.Request) {
	var request rooms.CheckInRequest
	if err := object(r, &request); err != nil {
		front.Refuse(w, r, err)
		return
	}
	set, err := f.Rooms.CheckIn(r.Context(), front.CallerOf(r.Context()), r.PathValue("agent"), request)
	answer(w, r, http.StatusCreated, set, err)
}

func (f *Handler) checkIns(w http.ResponseWriter, r *http.Request) {
	if _, err := params.QueryOf(r); err != nil {
		front.Refuse(w, r, err)
		return
	}
	all, err := f.Rooms.CheckIns(r.Context(), front.CallerOf(r.Context()), r.PathValue("agent"))
	answer(w, r, http.StatusOK, page(all, false, func(c room.CheckIn) string { return c.Name }), err)
}

func (f *Handler) cancelCheckIn(w http.ResponseWriter, r *http.Request) {
	if err := nothing(r); err != nil {
		front.Refuse(w, r, err)
		return
	}
	_, err := f.Rooms.CancelCheckIn(r.Context(), front.CallerOf(r.Context()), r.PathValue("agent"), r.PathValue("name"))
	if err != nil {
		front.Refuse(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (f *Handler) awaken(w http.ResponseWriter, r *http.Request) {
	var request rooms.AwakenRequest
	if err := object(r, &request); err != nil {
		front.Refuse(w, r, err)
		return
	}
	done, err := f.Rooms.Awaken(r.Context(), front.CallerOf(r.Context()), request)
	answer(w, r, http.StatusOK, done, err)
}

// call waits for what the agent says.
func (f *Handler) call(w http.ResponseWriter, r *http.Request) {
	var request rooms.CallRequest
	if err := object(r, &request); err != nil {
		front.Refuse(w, r, err)
		return
	}
	response, err := f.Rooms.Call(r.Context(), front.CallerOf(r.Context()), r.PathValue("agent"), request)
	answer(w, r, http.StatusOK, response, err)
}

func (f *Handler) inbox(w http.ResponseWriter, r *http.Request) {
	numbered(w, r, f.Rooms.Inbox, func(i room.Item) int64 { return i.Number })
}

func (f *Handler) held(w http.ResponseWriter, r *http.Request) {
	numbered(w, r, f.Rooms.Held, func(a room.Action) int64 { return a.Number })
}

func (f *Handler) calls(w http.ResponseWriter, r *http.Request) {
	numbered(w, r, f.Rooms.Calls, func(w room.Wake) int64 { return w.Number })
}

// numbered answers with a page of an agent's list, whose entries have numbers: those after the number of after.
func numbered[T any](w http.ResponseWriter, r *http.Request,
	list func(ctx context.Context, c psyche.Caller, agent string, after int64, limit int) ([]T, error),
	numberOf func(T) int64,
) {
	q, err := params.QueryOf(r, "after", "limit")
	if refuse(w, r, q, err) {
		return
	}
	after, limit := q.WholeNumber("after", 0), cmp.Or(q.Limit(room.MaxPage-1), usual)
	if refuse(w, r, q, nil) {
		return
	}
	found, err := list(r.Context(), front.CallerOf(r.Context()), r.PathValue("agent"), after, limit+1)
	more := len(found) > limit
	answer(w, r, http.StatusOK, page(found[:min(len(found), limit)], more, func(each T) string {
		return number(numberOf(each))
	}), err)
}

func number(n int64) string { return strconv.FormatInt(n, 10) }
