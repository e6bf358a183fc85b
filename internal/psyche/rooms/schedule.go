package rooms

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// furthest is how far ahead a check-in may be set.
const furthest = 366 * 24 * time.Hour

// CheckInRequest calls an agent at a set time. It looks at what there is, and mostly stays silent.
type CheckInRequest struct {
	At      time.Time `json:"at"`
	Room    string    `json:"room,omitempty"`    // that it looks at and where it may say something; empty: none
	Message string    `json:"message,omitempty"` // what it is called for
	Key     string    `json:"key,omitempty"`     // a repeated request with it sets nothing more
}

// CheckIn sets a time at which an agent is called. An agent that sleeps then is called when it wakes, and one that
// dreams when the dream is over. It needs role operator.
func (s *Service) CheckIn(ctx context.Context, c psyche.Caller, agent string, r CheckInRequest) (room.Item, error) {
	a, err := s.agent(ctx, c, agent, access.Operator)
	if err != nil {
		return room.Item{}, err
	}
	now := s.Now().UTC()
	switch {
	case r.At.IsZero():
		return room.Item{}, invalid("at", errors.New("at is missing; it must be a time to come"))
	case !r.At.After(now):
		return room.Item{}, invalid("at", fmt.Errorf("at is %s, which is past", r.At.Format(time.RFC3339)))
	case r.At.After(now.Add(furthest)):
		return room.Item{}, invalid("at", fmt.Errorf("at is %s; a check-in is set at most a year ahead",
			r.At.Format(time.RFC3339)))
	}
	if r.Room != "" {
		if _, err := s.Rooms.Get(ctx, room.AgentID(a.ID), r.Room); err != nil {
			return room.Item{}, failed(a.Handle+" in "+r.Room, err)
		}
	}
	direct := room.Direct{
		Agent: a.ID, Key: "checkin/" + Person(c).ID + "/" + keyOr(r.Key), Trigger: room.OnScheduled, From: Person(c),
		Room: r.Room, Due: r.At.UTC(), Now: now,
	}
	if r.Message != "" {
		direct.Message = &room.Text{Body: r.Message, Name: Person(c).ID, Taint: dream.FromHuman}
	}
	if err := direct.Validate(); err != nil {
		return room.Item{}, invalid("message", err)
	}
	sent, err := s.Rooms.Send(ctx, direct, nil)
	if err != nil {
		return room.Item{}, failed("set a check-in of "+a.Handle, err)
	}
	s.look(ctx, a.ID)
	return *sent.Item, nil
}
