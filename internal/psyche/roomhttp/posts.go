package roomhttp

import (
	"cmp"
	"net/http"
	"strconv"

	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
	"github.com/seed-56a03226/oneiros/internal/psyche/params"
	"github.com/seed-56a03226/oneiros/internal/psyche/rooms"
)

// usual is how many entries a page has without a limit.
const usual = 50

func (f *Handler) post(w http.ResponseWriter, r *http.Request) {
	var request rooms.PostRequest
	if err := object(r, &request); err != nil {
		front.Refuse(w, r, err)
		return
	}
	request.Room = r.PathValue("room")
	done, err := f.Rooms.Post(r.Context(), front.CallerOf(r.Context()), request)
	status := http.StatusCreated
	switch {
	case err != nil:
	case done.Held:
		status = http.StatusAccepted
	default:
		w.Header().Set("Location", pathOf(done.Post))
	}
	answer(w, r, status, done, err)
}

func pathOf(p room.Post) string {
	return "/v1/rooms/" + p.Room + "/posts/" + strconv.FormatInt(p.Offset, 10)
}

func (f *Handler) history(w http.ResponseWriter, r *http.Request) {
	q, err := params.QueryOf(r, "from", "after", "before", "thread", "limit")
	if refuse(w, r, q, err) {
		return
	}
	query := room.Query{
		Room:   r.PathValue("room"),
		Thread: q.Text("thread"),
		After:  q.WholeNumber("after", 0),
		Before: q.WholeNumber("before", 1),
		Limit:  cmp.Or(q.Limit(room.MaxPage), usual),
	}
	if q.OneOf("from", []string{"newest", "oldest"}) == "oldest" {
		query.From = room.Oldest
	}
	if query.Thread != "" {
		if id, _, err := room.ParsePostID(query.Thread); err != nil || id != query.Room {
			q.Wrong("thread", "the id of a post of this room, such as "+room.PostID(query.Room, 12))
		}
	}
	if refuse(w, r, q, nil) {
		return
	}
	found, err := f.Rooms.History(r.Context(), front.CallerOf(r.Context()), query)
	answer(w, r, http.StatusOK, page(found.Posts, found.More, func(p room.Post) string { return p.ID }), err)
}

func (f *Handler) find(w http.ResponseWriter, r *http.Request) {
	_, err := params.QueryOf(r)
	id, fault := postOf(r)
	if err := cmp.Or(err, fault); err != nil {
		front.Refuse(w, r, err)
		return
	}
	found, err := f.Rooms.Find(r.Context(), front.CallerOf(r.Context()), id)
	answer(w, r, http.StatusOK, found, err)
}

// postOf is the id of the post that a path names.
func postOf(r *http.Request) (string, error) {
	offset, err := strconv.ParseInt(r.PathValue("offset"), 10, 64)
	if err != nil || offset < 1 {
		return "", params.Wrong("offset", "offset is "+params.Quoted(r.PathValue("offset"))+
			"; it must be the number of a post of this room, a whole number from 1 on")
	}
	return room.PostID(r.PathValue("room"), offset), nil
}

func (f *Handler) edit(w http.ResponseWriter, r *http.Request) {
	var request rooms.EditRequest
	id, err := postOf(r)
	if err == nil {
		err = object(r, &request)
	}
	if err != nil {
		front.Refuse(w, r, err)
		return
	}
	request.Post = id
	done, err := f.Rooms.Edit(r.Context(), front.CallerOf(r.Context()), request)
	answer(w, r, http.StatusOK, done, err)
}

func (f *Handler) remove(w http.ResponseWriter, r *http.Request) {
	q, err := params.QueryOf(r, "as")
	if err == nil {
		err = params.Read(r, nil)
	}
	id, fault := postOf(r)
	if err := cmp.Or(err, fault); err != nil {
		front.Refuse(w, r, err)
		return
	}
	emptied, err := f.Rooms.Delete(r.Context(), front.CallerOf(r.Context()), id, q.Text("as"))
	answer(w, r, http.StatusOK, emptied, err)
}
