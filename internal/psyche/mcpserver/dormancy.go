package mcpserver

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/rooms"
)

func (d *toolset) getDormancy(r Rooms) {
	add(d, toolSpec[who, levelList]{
		role: access.Client,
		tool: mcp.Tool{
			Name: "get_dormancy", Title: "How reachable the agent is",
			Description: "The levels that are set for the agent, in general and by room. It wakes nobody.",
			Annotations: reads("How reachable the agent is"),
		},
		do: func(ctx context.Context, c psyche.Caller, _ *mcp.CallToolRequest, in who) (levelList, error) {
			agent, err := d.agent(ctx, c, in.Agent)
			if err != nil {
				return levelList{}, err
			}
			states, err := r.Dormancy(ctx, c, agent)
			out := levelList{Agent: agent, Levels: []levelView{}}
			for _, each := range states {
				out.Levels = append(out.Levels, toLevel(agent, each))
			}
			return out, err
		},
		text: func(l levelList) string {
			if len(l.Levels) == 0 {
				return l.Agent + " is active."
			}
			var lines []string
			for _, each := range l.Levels {
				lines = append(lines, each.sentence())
			}
			return strings.Join(lines, "\n")
		},
	})
}

func (d *toolset) setDormancy(r Rooms) {
	add(d, toolSpec[levelArguments, levelView]{
		role: access.Operator,
		tool: mcp.Tool{
			Name: "set_dormancy", Title: "Set how reachable the agent is",
			Description: "Set which posts the agent answers, in general or in one room, for a while or until it is " +
				"changed. The rooms concerned are told.",
			Annotations: changes("Set how reachable the agent is", false, false),
		},
		shape: func(in *jsonschema.Schema) {
			for _, level := range dormancy.Levels {
				in.Properties["level"].Enum = append(in.Properties["level"].Enum, string(level))
			}
			in.Properties["reason"].MaxLength = at(dormancy.LongestReason)
		},
		do: func(ctx context.Context, c psyche.Caller, _ *mcp.CallToolRequest, in levelArguments) (levelView, error) {
			agent, err := d.agent(ctx, c, in.Agent)
			if err != nil {
				return levelView{}, err
			}
			request := rooms.DormancyRequest{
				Level:  dormancy.Level(in.Level),
				Room:   in.Room,
				Reason: in.Reason,
				For:    in.For,
			}
			if in.Until != "" {
				request.Until, err = time.Parse(time.RFC3339, in.Until)
				if err != nil {
					return levelView{}, psyche.Refuse(http.StatusBadRequest, "invalid_value", "until",
						"until is %q; it must be a time of RFC 3339, such as 2026-11-23T08:00:00Z", in.Until)
				}
			}
			set, err := r.SetDormancy(ctx, c, agent, request)
			return toLevel(agent, set), err
		},
		text: levelView.sentence,
	})
}

func toLevel(agent string, d room.Dormancy) levelView {
	out := levelView{Agent: agent, Room: d.Room, Level: string(d.Level), Reason: d.Reason}
	if d.Level == "" {
		out.Level = string(dormancy.Active)
	}
	if !d.SetAt.IsZero() {
		out.Since = d.SetAt.UTC().Format(time.RFC3339)
	}
	if !d.Until.IsZero() {
		out.Until = d.Until.UTC().Format(time.RFC3339)
	}
	return out
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
		role: access.Operator,
		tool: mcp.Tool{
			Name: "wake_agents", Title: "Wake agents",
			Description: "End the dormancy of agents and interrupt their dreams. One that fails stops no other.",
			Annotations: changes("Wake agents", false, true),
		},
		do: func(ctx context.Context, c psyche.Caller, _ *mcp.CallToolRequest, in wakeArguments) (wokenView, error) {
			if in.All == (len(in.Agents) > 0) {
				return wokenView{}, psyche.Refuse(http.StatusBadRequest, "invalid_value", "agents",
					"name the agents to wake, or set all")
			}
			done, err := r.Awaken(ctx, c, rooms.AwakenRequest{
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
		role: access.Client,
		tool: mcp.Tool{
			Name: "call_agent", Title: "Call the agent",
			Description: "Call the agent from outside of rooms and wait for its answer. " +
				"It wakes, and may choose silence.",
			Annotations: changes("Call the agent", false, true),
		},
		shape: func(in *jsonschema.Schema) {
			in.Properties["message"].MinLength = at(1)
			in.Properties["message"].MaxLength = at(room.MaxBody)
		},
		do: func(ctx context.Context, c psyche.Caller, _ *mcp.CallToolRequest, in callArguments) (callView, error) {
			agent, err := d.agent(ctx, c, in.Agent)
			if err != nil {
				return callView{}, err
			}
			answer, err := r.Call(ctx, c, agent, rooms.CallRequest{
				Trigger: room.OnDirect, Message: in.Message, Key: in.Key,
			})
			return callView{
				Agent:    agent,
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
