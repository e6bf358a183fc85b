package mcpserver

import (
	"context"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/psyche/rooms"
)

type checkInArguments struct {
	who
	Name    string `json:"name,omitempty" jsonschema:"what it is cancelled by; repeated, it sets nothing more"`
	At      string `json:"at,omitempty" jsonschema:"the only call, or the first, RFC 3339"`
	Every   string `json:"every,omitempty" jsonschema:"how often: a duration from 1h on, or local times such as 09:00, mon-fri 09:00 or the five fields of cron; without it once"`
	Zone    string `json:"zone,omitempty" jsonschema:"time zone of local times, such as Europe/Berlin; the agent's without it"`
	Until   string `json:"until,omitempty" jsonschema:"no call after this time, RFC 3339"`
	Room    string `json:"room,omitempty" jsonschema:"the room that it looks at and where it may say something"`
	Message string `json:"message,omitempty" jsonschema:"what it is called for"`
}

type checkInView struct {
	Name    string `json:"name"`
	Every   string `json:"every,omitempty" jsonschema:"none: once"`
	Zone    string `json:"zone,omitempty"`
	Next    string `json:"next" jsonschema:"when it calls next, RFC 3339"`
	Until   string `json:"until,omitempty" jsonschema:"RFC 3339"`
	Room    string `json:"room,omitempty"`
	Message string `json:"message,omitempty"`
}

type checkInList struct {
	Agent    string        `json:"agent"`
	CheckIns []checkInView `json:"checkins" jsonschema:"by name"`
}

type cancelArguments struct {
	who
	Name string `json:"name" jsonschema:"as list_checkins says it"`
}

func toCheckIn(c room.CheckIn) checkInView {
	out := checkInView{
		Name:  c.Name,
		Every: c.Every,
		Zone:  c.Zone,
		Next:  stamp(c.Next),
		Until: stamp(c.Until),
		Room:  c.Room,
	}
	if c.Message != nil {
		out.Message = c.Message.Body
	}
	return out
}

func (c checkInView) sentence() string {
	text := c.Name + ": next at " + c.Next
	if c.Every != "" {
		text += ", every " + c.Every
	}
	if c.Zone != "" {
		text += " in " + c.Zone
	}
	if c.Room != "" {
		text += ", in " + c.Room
	}
	if c.Message != "" {
		text += fmt.Sprintf(": %q", c.Message)
	}
	return text
}

func (d *toolset) setCheckIn(r Rooms) {
	add(d, toolSpec[checkInArguments, checkInView]{
		role:  access.Operator,
		name:  "set_checkin",
		title: "Call the agent at set times",
		about: "Call the agent at a time to come, or again and again. It looks at the room, and mostly says nothing.",
		hints: changes(false, true),
		shape: func(in *jsonschema.Schema) { in.Properties["message"].MaxLength = at(room.MaxBody) },
		do: func(ctx context.Context, k toolCall, in checkInArguments) (checkInView, error) {
			from, err := readTime("at", in.At)
			if err != nil {
				return checkInView{}, err
			}
			until, err := readTime("until", in.Until)
			if err != nil {
				return checkInView{}, err
			}
			set, err := r.CheckIn(ctx, k.caller, k.agent, rooms.CheckInRequest{
				Name:    in.Name,
				At:      from,
				Every:   in.Every,
				Zone:    in.Zone,
				Until:   until,
				Room:    in.Room,
				Message: in.Message,
			})
			return toCheckIn(set), err
		},
		text: checkInView.sentence,
	})
}

func (d *toolset) listCheckIns(r Rooms) {
	add(d, toolSpec[who, checkInList]{
		role:  access.Operator,
		name:  "list_checkins",
		title: "When the agent is called",
		about: "The set times at which the agent is called. It wakes nobody.",
		hints: reads(),
		do: func(ctx context.Context, k toolCall, _ who) (checkInList, error) {
			all, err := r.CheckIns(ctx, k.caller, k.agent)
			return checkInList{Agent: k.agent, CheckIns: listOf(all, toCheckIn)}, err
		},
		text: func(l checkInList) string {
			return listText(l.CheckIns, l.Agent+" has no check-ins.", checkInView.sentence)
		},
	})
}

func (d *toolset) cancelCheckIn(r Rooms) {
	add(d, toolSpec[cancelArguments, checkInView]{
		role:  access.Operator,
		name:  "cancel_checkin",
		title: "Cancel a check-in",
		about: "The agent is no longer called at these times. A call that waits already stays.",
		hints: changes(false, false),
		shape: func(in *jsonschema.Schema) { in.Properties["name"].MinLength = at(1) },
		do: func(ctx context.Context, k toolCall, in cancelArguments) (checkInView, error) {
			ended, err := r.CancelCheckIn(ctx, k.caller, k.agent, in.Name)
			return toCheckIn(ended), err
		},
		text: func(c checkInView) string { return "Canceled " + c.Name + "." },
	})
}
