package mcpservertest

import (
	"context"
	"net/http"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/prompt"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/rooms"
)

// Rooms has one room, hall, with two posts; whom it calls says "I hear" and the message, or nothing to "Hush".
type Rooms struct {
	Posted []rooms.PostRequest
	Levels []rooms.DormancyRequest
	Calls  []rooms.CallRequest

	Expected []room.CheckIn
}

// List lists the hall.
func (r *Rooms) List(context.Context, psyche.Caller) ([]room.Room, error) {
	return []room.Room{{ID: "hall", Title: "The hall", Posts: 2}}, nil
}

// History is of two posts, the newest first; nothing was said in a thread.
func (r *Rooms) History(_ context.Context, _ psyche.Caller, q room.Query) (room.Page, error) {
	if q.Room != "hall" {
		return room.Page{}, psyche.Refuse(http.StatusNotFound, "not_found", "", "There is no room %q.", q.Room)
	}
	if q.Thread != "" {
		return room.Page{}, nil
	}
	return room.Page{More: q.Limit < 2, Posts: []room.Post{
		{
			ID:      "hall/2",
			Author:  room.AgentID("1"),
			Name:    "iris",
			Form:    room.Message,
			Body:    "Yes.",
			ReplyTo: "hall/1",
			Created: time.Unix(0, 0),
			State:   room.Live,
		},
		{
			ID:      "hall/1",
			Author:  room.PersonID("ada"),
			Name:    "ada",
			Form:    room.Message,
			Body:    "@iris?",
			Created: time.Unix(0, 0),
			State:   room.Live,
		},
	}}, nil
}

// Post answers as if iris were called and noor no member. Posts of noor are held.
func (r *Rooms) Post(_ context.Context, _ psyche.Caller, p rooms.PostRequest) (rooms.PostResult, error) {
	r.Posted = append(r.Posted, p)
	if p.As == "noor" {
		return rooms.PostResult{Held: true}, nil
	}
	return rooms.PostResult{
		Post:    room.Post{ID: "hall/3"},
		Reached: []rooms.Reached{{Agent: "iris", Outcome: room.Queued}},
		Absent:  []string{"noor"},
		Woken:   []string{"iris"},
	}, nil
}

// Dormancy is what SetDormancy was asked for.
func (r *Rooms) Dormancy(context.Context, psyche.Caller, string) ([]room.Dormancy, error) {
	var all []room.Dormancy
	for _, l := range r.Levels {
		all = append(all, state(l))
	}
	return all, nil
}

// SetDormancy notes the request.
func (r *Rooms) SetDormancy(_ context.Context, _ psyche.Caller, _ string,
	l rooms.DormancyRequest,
) (room.Dormancy, error) {
	r.Levels = append(r.Levels, l)
	return state(l), nil
}

func state(l rooms.DormancyRequest) room.Dormancy {
	return room.Dormancy{Room: l.Room, State: dormancy.State{Level: l.Level, Reason: l.Reason, Until: l.Until}}
}

// Awaken wakes whom the request names, or iris.
func (r *Rooms) Awaken(_ context.Context, _ psyche.Caller, a rooms.AwakenRequest) (rooms.Awoken, error) {
	if a.All {
		return rooms.Awoken{Success: true, Woken: []string{"iris"}}, nil
	}
	return rooms.Awoken{Success: true, Woken: a.Agents}, nil
}

// Call answers a message.
func (r *Rooms) Call(_ context.Context, _ psyche.Caller, agent string,
	c rooms.CallRequest,
) (rooms.CallResponse, error) {
	r.Calls = append(r.Calls, c)
	answer := prompt.WakeAnswer{Response: "I hear " + c.Message, Emotion: "curious"}
	if c.Message == "Hush" {
		answer = prompt.WakeAnswer{Silent: true}
	}
	return rooms.CallResponse{
		ShouldRespond: !answer.Silent, Response: answer.Response, Emotion: answer.Emotion,
		Metadata: rooms.CallMetadata{Handle: agent, Trigger: c.Trigger, Cost: 7},
	}, nil
}

// CheckIn keeps what the request says, to call a minute later.
func (r *Rooms) CheckIn(_ context.Context, _ psyche.Caller, _ string, c rooms.CheckInRequest) (room.CheckIn, error) {
	set := room.CheckIn{
		Name:  c.Name,
		Every: c.Every,
		Zone:  c.Zone,
		Until: c.Until,
		Room:  c.Room,
		Next:  time.Unix(60, 0),
	}
	if c.Message != "" {
		set.Message = &room.Text{Body: c.Message}
	}
	r.Expected = append(r.Expected, set)
	return set, nil
}

// CheckIns lists what was set.
func (r *Rooms) CheckIns(context.Context, psyche.Caller, string) ([]room.CheckIn, error) {
	return r.Expected, nil
}

// CancelCheckIn ends the only one.
func (r *Rooms) CancelCheckIn(_ context.Context, _ psyche.Caller, agent, name string) (room.CheckIn, error) {
	if len(r.Expected) != 1 || r.Expected[0].Name != name {
		return room.CheckIn{}, psyche.Refuse(http.StatusNotFound, "not_found", "name", "%s has no check-in %q.", agent, name)
	}
	ended := r.Expected[0]
	r.Expected = nil
	return ended, nil
}
