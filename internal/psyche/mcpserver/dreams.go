package mcpserver

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/morning"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

// Dreams are the operations on dreams that the tools need; *psyche.Dreams implements it. Each method checks role and
// reach.
type Dreams interface {
	Begin(ctx context.Context, c psyche.Caller, w psyche.DreamRequest) (psyche.Dream, error)
	Dream(ctx context.Context, c psyche.Caller, id string) (psyche.Dream, error)
	List(ctx context.Context, c psyche.Caller, l psyche.ListRequest) (psyche.Page[psyche.Dream], error)
	Cancel(ctx context.Context, c psyche.Caller, id string) (psyche.Dream, error)
	Morning(ctx context.Context, c psyche.Caller, agent string, since time.Time) (morning.Report, error)
}

type dreamArguments struct {
	who
	Theme  string `json:"theme,omitempty" jsonschema:"what to dream of"`
	Tier   string `json:"tier,omitempty" jsonschema:"how much of what is dreamt has to be proven; without it the agent's"`
	Budget *int64 `json:"budget_micros,omitempty" jsonschema:"hard cap in millionths of a dollar, at most the agent's cap of one dream, which it is when left out"`
	Wait   bool   `json:"wait,omitempty" jsonschema:"answer when the dream is over, and tell its phases as progress; else at once"`
}

type listing struct {
	Agent    string `json:"agent,omitempty" jsonschema:"handle or id; without it all that can be reached"`
	Status   string `json:"status,omitempty" jsonschema:"only dreams of this status"`
	Limit    int    `json:"limit,omitempty" jsonschema:"how many at most"`
	After    string `json:"after,omitempty" jsonschema:"the last id of the page before"`
	Archived bool   `json:"archived,omitempty" jsonschema:"those that were put out of the lists as well"`
}

type which struct {
	Agent string `json:"agent,omitempty" jsonschema:"handle or id of the agent whose dream it is; may be left out, as the dream's id names it"`
	Dream string `json:"dream" jsonschema:"its id, such as dream_iris_0042"`
}

type nights struct {
	Dreams []dreamView `json:"dreams" jsonschema:"newest first"`
	More   bool        `json:"more" jsonschema:"there are more after the last one"`
}

// dreamView is a dream in tool results. What only operators may see is left out for others.
type dreamView struct {
	ID       string   `json:"id"`
	Agent    string   `json:"agent"`
	Status   string   `json:"status" jsonschema:"pending, running, completed, failed or canceled"`
	Outcome  string   `json:"outcome,omitempty" jsonschema:"how it ended"`
	Reason   string   `json:"reason,omitempty" jsonschema:"why it ended so; to operators"`
	Created  string   `json:"created" jsonschema:"RFC 3339"`
	Ended    string   `json:"ended,omitempty" jsonschema:"RFC 3339"`
	Insights int      `json:"insights" jsonschema:"how many surfaced on return"`
	Theme    string   `json:"theme,omitempty"`
	Budget   *int64   `json:"budget_micros,omitempty" jsonschema:"hard cap in millionths of a dollar; to operators"`
	Spent    *int64   `json:"spent_micros,omitempty" jsonschema:"in millionths of a dollar; to operators"`
	Phases   []string `json:"phases,omitempty" jsonschema:"those it has come to, in their order; to operators"`

	Summary *screen.Summary `json:"summary,omitempty" jsonschema:"what changed in the agent, what was archived and what to do next; to operators, and not in lists"`
}

func (d *toolset) dreamTools() {
	if d.dreams == nil {
		return
	}
	d.morning()
	add(d, toolSpec[dreamArguments, dreamView]{
		role:  access.Operator,
		name:  "dreams_start",
		title: "Let the agent dream",
		about: "Start a dream under a hard budget. It goes on by itself: to stop waiting for it does not end it, dreams_cancel does. An agent that is awake does not dream.",
		hints: changes(false, true),
		shape: func(in *jsonschema.Schema) {
			in.Properties["theme"].MaxLength = at(dream.LongestTheme)
			in.Properties["tier"].Enum = []any{string(dream.Core), string(dream.Hardened)}
			in.Properties["budget_micros"].Minimum = at(0.)
		},
		do: func(ctx context.Context, k toolCall, in dreamArguments) (dreamView, error) {
			begun, err := d.dreams.Begin(ctx, k.caller,
				psyche.DreamRequest{
					Agent: k.agent, Theme: in.Theme, Tier: dream.Tier(in.Tier),
					Budget: (*budget.Micros)(in.Budget),
				})
			if err == nil && in.Wait {
				begun, err = d.follow(ctx, k, begun)
			}
			return toDream(begun), err
		},
		text: dreamView.sentence,
	})
	add(d, toolSpec[listing, nights]{
		role:  access.Client,
		name:  "dreams_list",
		title: "List dreams",
		about: "The dreams of the agents, newest first. It wakes nobody.",
		hints: reads(),
		shape: func(in *jsonschema.Schema) {
			setPage(in)
			in.Properties["status"].Enum = enumOf(dream.Statuses)
		},
		do: func(ctx context.Context, k toolCall, in listing) (nights, error) {
			page, err := d.dreams.List(ctx, k.caller, psyche.ListRequest{
				Agent:    in.Agent,
				Status:   dream.Status(in.Status),
				Limit:    in.Limit,
				After:    in.After,
				Archived: in.Archived,
			})
			return nights{listOf(page.Data, toDream), page.More}, err
		},
		text: func(n nights) string { return listText(n.Dreams, "No dreams.", dreamView.sentence) },
	})
	add(d, toolSpec[which, dreamView]{
		role:  access.Operator,
		name:  "dreams_cancel",
		title: "End a dream",
		about: "Ask a dream to end with what it has. It ends soon after.",
		hints: ends(),
		shape: func(in *jsonschema.Schema) { notEmpty(in, "dream") },
		do: func(ctx context.Context, k toolCall, in which) (dreamView, error) {
			if err := d.ownDream(ctx, k.caller, in); err != nil {
				return dreamView{}, err
			}
			n, err := d.dreams.Cancel(ctx, k.caller, in.Dream)
			return toDream(n), err
		},
		text: dreamView.sentence,
	})
}

// ownDream refuses a dream that does not belong to the named agent.
func (d *toolset) ownDream(ctx context.Context, c psyche.Caller, in which) error {
	if in.Agent == "" {
		return nil
	}
	agents, err := d.service.Agents(ctx, c)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(agents, func(a dream.Agent) bool { return in.Agent == a.Handle || in.Agent == a.ID })
	if at < 0 {
		return missing("agent_not_found", "agent", "there is no agent %q that this key reaches", in.Agent)
	}
	n, err := d.dreams.Dream(ctx, c, in.Dream)
	if err == nil && n.Agent != agents[at].Handle {
		err = missing("dream_not_found", "dream", "dream %s is of agent %s, and not of %s", in.Dream, n.Agent,
			agents[at].Handle)
	}
	return err
}

func missing(code, param, format string, args ...any) error {
	return psyche.Refuse(http.StatusNotFound, code, param, format, args...)
}

// follow polls a dream until it has ended, and reports each phase as progress.
func (d *toolset) follow(ctx context.Context, k toolCall, n psyche.Dream) (psyche.Dream, error) {
	look := time.NewTicker(d.look)
	defer look.Stop()
	seen := 0
	for {
		if at := len(phasesOf(n)); at > seen {
			seen = at
			if token := k.req.Params.GetProgressToken(); token != nil {
				_ = k.req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
					ProgressToken: token, Progress: float64(seen), Total: float64(len(dream.Phases)),
					Message: phasesOf(n)[seen-1],
				})
			}
		}
		if n.Status.Over() {
			return n, nil
		}
		select {
		case <-ctx.Done():
			return n, ctx.Err()
		case <-look.C:
		}
		var err error
		n, err = d.dreams.Dream(ctx, k.caller, n.ID)
		if err != nil {
			return n, err
		}
	}
}

func phasesOf(n psyche.Dream) (phases []string) {
	if n.Record != nil {
		for _, t := range n.Record.Phases {
			phases = append(phases, string(t.Phase))
		}
	}
	return phases
}

func toDream(n psyche.Dream) dreamView {
	out := dreamView{
		ID:       n.ID,
		Agent:    n.Agent,
		Status:   string(n.Status),
		Outcome:  string(n.Outcome),
		Reason:   n.Reason,
		Created:  stamp(time.Unix(n.Created, 0)),
		Insights: n.Insights,
		Phases:   phasesOf(n),
	}
	if n.Ended != nil {
		out.Ended = stamp(time.Unix(*n.Ended, 0))
	}
	if r := n.Record; r != nil {
		out.Theme, out.Budget, out.Spent = r.Theme, at(int64(r.Budget)), at(int64(r.Spent))
		out.Summary = r.Summary
	}
	return out
}

func (n dreamView) sentence() string {
	text := fmt.Sprintf("%s of %s: %s", n.ID, n.Agent, n.Status)
	if n.Outcome != "" && n.Outcome != n.Status {
		text += " (" + n.Outcome + ")"
	}
	if len(n.Phases) > 0 {
		text += ", " + n.Phases[len(n.Phases)-1]
	}
	if n.Spent != nil {
		text += ", " + budget.Micros(*n.Spent).String() + " spent"
	}
	if s := n.Summary; s != nil {
		return fmt.Sprintf("Changed: %s\nArchived: %s\nNext: %s\n%s", s.Changed, s.Archived, s.Next, text)
	}
	return text
}
