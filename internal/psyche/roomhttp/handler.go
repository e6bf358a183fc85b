// Package roomhttp is the HTTP API of rooms: make and list rooms, post and read, follow what happens, set how reachable
// agents are, and call them.
package roomhttp

import (
	"net/http"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
	"github.com/seed-56a03226/oneiros/internal/psyche/rooms"
	"github.com/seed-56a03226/oneiros/internal/psyche/webhooks"
)

// Handler serves the rooms of a deployment.
type Handler struct {
	Rooms     *rooms.Service
	Webhooks  *webhooks.Service
	Heartbeat time.Duration // interval of comments in a silent event stream; 0: 15 s
}

// Limits of bodies in bytes.
const (
	// A post of room.MaxBody bytes, all escaped as \u0000, with room.MaxMeta entries of metadata and its mentions.
	largestPost = 6*room.MaxBody + 256<<10
	// What a caller knows of a thread, on top of a post.
	largestCall = 1 << 20
	largest     = 16 << 10
)

// Routes returns the routes. Those that call an agent, and posts that name one, wake it.
func (f *Handler) Routes() []front.Route {
	read := func(path string, role access.Role, serve http.HandlerFunc) front.Route {
		return front.Route{Method: http.MethodGet, Path: path, Role: role, Serve: serve}
	}
	write := func(method, path string, role access.Role, body int64, serve http.HandlerFunc) front.Route {
		return front.Route{
			Method: method,
			Path:   path,
			Role:   role,
			Once:   true,
			Body:   body,
			Serve:  serve,
		}
	}
	return []front.Route{
		write(http.MethodPost, "/v1/rooms", access.Operator, largestPost, f.create),
		read("/v1/rooms", access.Client, f.list),
		read("/v1/rooms/{room}", access.Client, f.show),
		write(http.MethodPost, "/v1/rooms/{room}/members", access.Operator, largest, f.join),
		write(http.MethodDelete, "/v1/rooms/{room}/members/{member}", access.Client, largest, f.leave),
		write(http.MethodPut, "/v1/rooms/{room}/subscriptions", access.Operator, largest, f.subscribe),
		write(http.MethodPost, "/v1/rooms/{room}/posts", access.Client, largestPost, f.post),
		read("/v1/rooms/{room}/posts", access.Client, f.history),
		read("/v1/rooms/{room}/posts/{offset}", access.Client, f.find),
		write(http.MethodPatch, "/v1/rooms/{room}/posts/{offset}", access.Client, largestPost, f.edit),
		write(http.MethodDelete, "/v1/rooms/{room}/posts/{offset}", access.Client, largest, f.remove),
		{
			Method: http.MethodGet,
			Path:   "/v1/rooms/{room}/events",
			Role:   access.Client,
			Stream: true,
			Serve:  f.events,
		},
		write(http.MethodPost, "/v1/rooms/{room}/webhooks", access.Operator, largest, f.addWebhook),
		read("/v1/rooms/{room}/webhooks", access.Operator, f.webhooks),
		write(http.MethodDelete, "/v1/rooms/{room}/webhooks/{webhook}", access.Operator, largest, f.removeWebhook),
		{
			Method: http.MethodPost,
			Path:   "/v1/rooms/{room}/webhooks/{webhook}/posts",
			Signed: true,
			Body:   largestPost,
			Serve:  f.receive,
		},
		read("/v1/agents/{agent}/dormancy", access.Client, f.dormancy),
		write(http.MethodPut, "/v1/agents/{agent}/dormancy", access.Operator, largest, f.setDormancy),
		write(http.MethodPost, "/v1/agents/{agent}/checkins", access.Operator, largestPost, f.checkIn),
		read("/v1/agents/{agent}/checkins", access.Operator, f.checkIns),
		write(http.MethodDelete, "/v1/agents/{agent}/checkins/{name}", access.Operator, largest, f.cancelCheckIn),
		write(http.MethodPost, "/v1/agents/awaken", access.Operator, largestPost, f.awaken),
		{
			Method: http.MethodPost,
			Path:   "/v1/agents/{agent}/wake",
			Role:   access.Client,
			Once:   true,
			Stream: true, // the model may take its time
			Body:   largestCall,
			Serve:  f.call,
		},
		read("/v1/agents/{agent}/inbox", access.Operator, f.inbox),
		read("/v1/agents/{agent}/held", access.Operator, f.held),
		read("/v1/agents/{agent}/calls", access.Operator, f.calls),
	}
}

// answer writes a result or an error.
func answer[T any](w http.ResponseWriter, r *http.Request, status int, body T, err error) {
	if err != nil {
		front.Refuse(w, r, err)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	front.Answer(w, status, body)
}

// page is a list whose entries have ids.
func page[T any](all []T, more bool, id func(T) string) psyche.Page[T] {
	p := psyche.Page[T]{Object: "list", Data: all, More: more}
	if p.Data == nil {
		p.Data = []T{}
	}
	if len(all) > 0 {
		p.First, p.Last = id(all[0]), id(all[len(all)-1])
	}
	return p
}
