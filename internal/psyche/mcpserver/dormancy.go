package mcpserver

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/rooms"
)

func (d *toolset) getDormancy(r Rooms) {
	add(d, toolSpec[who, levelList]{
		role:  access.Client,
		name:  "get_dormancy",
		title: "How reachable the agent is",
		about: "The levels that are set for the agent, in general and by room. It wakes nobody.",
		hints: reads(),
		do: func(ctx context.Context, k toolCall, in who) (levelList, error) {
			states, err := r.Dormancy(ctx, k.caller, k.agent)
			views := listOf(states, func(d room.Dormancy) levelView { return toLevel(k.agent, d) })
			return levelList{k.agent, views}, err
		},
		text: func(l levelList) string {
			return listText(l.Levels, l.Agent+" is active.", levelView.sentence)
		},
	})
}

func (d *toolset) setDormancy(r Rooms) {
	add(d, toolSpec[levelArguments, levelView]{
		role:  access.Operator,
		name:  "set_dormancy",
		title: "Set how reachable the agent is",
		about: "Set which posts the agent answers, in general or in one room, for a while or until it is " +
			"changed. The rooms concerned are told.",
		hints: changes(false, false),
		shape: func(in *jsonschema.Schema) {
			in.Properties["level"].Enum = enumOf(dormancy.Levels)
			in.Properties["reason"].MaxLength = at(dormancy.LongestReason)
		},
		do: func(ctx context.Context, k toolCall, in levelArguments) (levelView, error) {
			until, err := readTime("until", in.Until)
			if err != nil {
				return levelView{}, err
			}
			set, err := r.SetDormancy(ctx, k.caller, k.agent, rooms.DormancyRequest{
				Level:  dormancy.Level(in.Level),
				Room:   in.Room,
				Reason: in.Reason,
				For:    in.For,
				Until:  until,
			})
			return toLevel(k.agent, set), err
		},
		text: levelView.sentence,
	})
}

func toLevel(agent string, d room.Dormancy) levelView {
	return levelView{
		Agent:  agent,
		Room:   d.Room,
		Level:  string(cmp.Or(d.Level, dormancy.Active)),
		Reason: d.Reason,
		Since:  stamp(d.SetAt),
		Until:  stamp(d.Until),
	}
}

func (l levelView) sentence() string {
	text := l.Agent + " is at level " + l.Level
	if l.Room != "" {
		text += " in " + l.Room
	}
	if l.Until != "" {
		text += " until " + l.Until
	}
	if l.Reason != "" {
		text += fmt.Sprintf(", because %q", l.Reason)
	}
	return text + "."
}

func (d *toolset) wakeAgents(r Rooms) {
	add(d, toolSpec[wakeArguments, wokenView]{
		role:  access.Operator,
		name:  "wake_agents",
		title: "Wake agents",
		about: "End the dormancy of agents and interrupt their dreams. One that fails stops no other.",
		hints: changes(false, true),
		do: func(ctx context.Context, k toolCall, in wakeArguments) (wokenView, error) {
			if in.All == (len(in.Agents) > 0) {
				return wokenView{}, psyche.Refuse(http.StatusBadRequest, "invalid_value", "agents",
					"name the agents to wake, or set all")
			}
			done, err := r.Awaken(ctx, k.caller, rooms.AwakenRequest{
				Agents: in.Agents, All: in.All, Message: in.Message, Key: in.Key,
			})
			return wokenView{done.Success, list(done.Woken), done.Error}, err
		},
		text: func(w wokenView) string {
			var lines []string
			if len(w.Woken) > 0 {
				lines = append(lines, "Woken: "+strings.Join(w.Woken, ", "))
			}
			if w.Failed != "" {
				lines = append(lines, "Not woken: "+w.Failed)
			}
			if len(lines) == 0 {
				return "Nobody was dormant."
			}
			return strings.Join(lines, "\n")
		},
	})
}

func (d *toolset) callAgent(r Rooms) {
	add(d, toolSpec[callArguments, callView]{
		role:  access.Client,
		name:  "call_agent",
		title: "Call the agent",
		about: "Call the agent from outside of rooms and wait for its answer. " +
			"It wakes, and may choose silence.",
		hints: changes(false, true),
		shape: func(in *jsonschema.Schema) {
			notEmpty(in, "message")
			in.Properties["message"].MaxLength = at(room.MaxBody)
		},
		do: func(ctx context.Context, k toolCall, in callArguments) (callView, error) {
			answer, err := r.Call(ctx, k.caller, k.agent, rooms.CallRequest{
				Trigger: room.OnDirect, Message: in.Message, Key: in.Key,
			})
			return callView{
				Agent:    k.agent,
				Responds: answer.ShouldRespond,
				Response: answer.Response,
				Emotion:  answer.Emotion,
				Cost:     int64(answer.Metadata.Cost),
			}, err
		},
		text: func(v callView) string {
			if !v.Responds {
				return v.Agent + " chose to be silent."
			}
			return v.Response
		},
	})
}
