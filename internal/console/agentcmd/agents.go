// Package agentcmd has the commands on agents.
package agentcmd

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/morning"
	"github.com/seed-56a03226/oneiros/internal/review"
)

// Agents builds the command oneiros agents.
func Agents(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "agents",
		Aliases: []string{"agent"},
		Short:   "Add, change and show agents",
		GroupID: cli.MemoryGroup,
	}
	cmd.AddCommand(agentsList(app), agentsShow(app), agentsAdd(app), agentsEdit(app), agentsRemove(app))
	return cmd
}

// agentLine is an agent in the list.
type agentLine struct {
	dream.Agent
	Episodes  int                `json:"episodes"`
	LastDream *view.PublicRecord `json:"last_dream,omitempty"`
	Dreaming  bool               `json:"dreaming"`
}

func agentsList(app *cli.App) *cobra.Command {
	var p page
	cmd := &cobra.Command{
		Use: "list", Short: "List agents by their handles",
		Long: `List shows 50 agents, by their handles, with the number of episodes of each and how its last dream ended.
--limit 0 shows all of them. --after HANDLE goes on behind the last one shown.`,
	}
	cmd.Flags().IntVarP(&p.limit, "limit", "n", agentsAtOnce, "at most this many; 0 for all")
	cmd.Flags().StringVar(&p.after, "after", "", "only agents whose `handle` comes after this one")
	cmd.RunE = app.InStore(func(ctx context.Context, _ []string) error {
		all, err := app.Store.Agents(ctx)
		if err != nil {
			return err
		}
		shown, err := p.of(all)
		if err != nil {
			return err
		}
		seen, err := app.Fleet.Overview(ctx, ids(shown), memory.OverviewQuery{Episodes: true, Dreams: 1})
		if err != nil {
			return err
		}
		t := cli.NewTable("AGENT", "TIER,drop=1", "DREAMS BY ITSELF,drop=3", "EPISODES,right", "LAST DREAM",
			"OUTCOME,drop=1", "CAPS: DREAM / DAY / MONTH,drop=2", "ZONE,drop=4", "PERSONA,flex")
		for i, a := range shown {
			last, outcome := "-", "-"
			for _, d := range seen[i].Dreams {
				last, outcome = cli.When(d.At, a.Zone), cli.OutcomeOf(&dream.Record{Outcome: d.Outcome()})
			}
			t.Add(a.Handle, string(a.Tier), cli.YesNo(a.Auto), fmt.Sprint(seen[i].Episodes), last, outcome,
				cli.Caps(a.Caps), a.Zone, a.Persona)
		}
		var lines []agentLine
		if app.Json {
			lines, err = agentLines(ctx, app, shown, seen)
			if err != nil {
				return err
			}
		}
		nothing := "No agents yet. Add one: oneiros agents add HANDLE --persona \"...\""
		if len(all) > 0 {
			nothing = "No handle comes after " + p.after + "."
		}
		if err := app.Rows(cli.OrEmpty(lines), t, "%s", nothing); err != nil {
			return err
		}
		if rest := len(all) - len(shown); rest > 0 && len(shown) > 0 && p.after == "" && !app.Json {
			app.Note("%d of %d are shown; --limit 0 shows all, --after %s the next.", len(shown), len(all),
				shown[len(shown)-1].Handle)
		}
		return nil
	})
	return cmd
}

// agentsAtOnce is how many agents a list shows unless it is told otherwise.
const agentsAtOnce = 50

// page is a part of the list of agents.
type page struct {
	after string // the handle before the first one; empty: from the beginning
	limit int    // 0: all
}

// of returns the part of all agents, which are in the order of their handles.
func (p page) of(all []dream.Agent) ([]dream.Agent, error) {
	if p.limit < 0 {
		return nil, exit.Usagef("--limit is %d; it must not be negative", p.limit)
	}
	first := 0
	if p.after != "" {
		first = sort.Search(len(all), func(i int) bool { return all[i].Handle > strings.TrimPrefix(p.after, "@") })
	}
	shown := all[first:]
	if p.limit > 0 {
		shown = shown[:min(p.limit, len(shown))]
	}
	return shown, nil
}

func ids(agents []dream.Agent) []string {
	all := make([]string, len(agents))
	for i, a := range agents {
		all[i] = a.ID
	}
	return all
}

// agentLines are the lines for --json, with the whole record of each last dream.
func agentLines(ctx context.Context, app *cli.App, agents []dream.Agent, seen []memory.Overview,
) ([]agentLine, error) {
	lines := make([]agentLine, len(agents))
	for i, a := range agents {
		lines[i] = agentLine{Agent: a, Episodes: seen[i].Episodes, Dreaming: seen[i].Dreaming}
		for _, d := range seen[i].Dreams {
			n, err := memory.One[*dream.Record](ctx, app.Store, a.ID, d.ID)
			if errors.Is(err, memory.ErrNotFound) { // it was deleted in between
				continue
			}
			if err != nil {
				return nil, err
			}
			last := view.Public(app, n)
			lines[i].LastDream = &last
		}
	}
	return lines, nil
}

func agentLineOf(ctx context.Context, app *cli.App, a dream.Agent) (agentLine, error) {
	l := agentLine{Agent: a}
	var err error
	l.Episodes, err = app.Store.Count(ctx,
		memory.Query{Agent: a.ID, Kinds: []dream.Kind{dream.KindEpisode}})
	if err != nil {
		return l, err
	}
	n, err := view.LastDream(ctx, app, a)
	if err != nil {
		return l, err
	}
	if n != nil {
		last := view.Public(app, n)
		l.LastDream = &last
	}
	slots, err := app.Store.Slots(ctx)
	_, l.Dreaming = slots[a.ID]
	return l, err
}

func agentsShow(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "show HANDLE", Short: "Show one agent: who it is, how it lives, what it remembers and may spend",
		Args: cobra.ExactArgs(1),
		Long: `Show tells everything about one agent: who it is, what it may spend and what is left of that, whether it
sleeps, dreams or is awake and who holds it awake, its last wakes with their four phases, how often alarms
ended an onset, when it dreams by itself again and what speaks against that, what it remembers, and over its last
30 dreams how many claims it knew and how often claims came true.`,
		ValidArgsFunction: completeHandles(app), RunE: app.InStore(func(ctx context.Context, args []string) error {
			a, err := view.FindAgent(ctx, app.Deployment, args[0])
			if err != nil {
				return err
			}
			l, err := agentLineOf(ctx, app, a)
			if err != nil {
				return err
			}
			affect, err := app.Store.Affect(ctx, a.ID)
			if err != nil {
				return err
			}
			affect.PAD = affect.At(app.Now())
			counts, err := countsOf(ctx, app, a)
			if err != nil {
				return err
			}
			agentState, err := view.AgentStateOf(ctx, app, a)
			if err != nil {
				return err
			}
			embedding, err := deploy.EmbeddingOf(ctx, app.Deployment, a, app.Now())
			if err != nil {
				return err
			}
			trend, err := review.Trend(ctx, app.Store, a.ID)
			if err != nil {
				return err
			}
			if app.Json {
				return app.Answer(struct {
					agentLine
					Affect     dream.Affect         `json:"affect"`
					Counts     dream.KindCounts     `json:"memory"`
					AgentState view.PublicAgentView `json:"agent_state"`

					Embedding *deploy.EmbeddingState `json:"embedding,omitempty"`
					Trend     morning.Trend          `json:"trend"`
				}{l, affect, counts, agentState.Public(app), embedding, trend})
			}
			showAgent(app, l, affect, counts, agentState, embedding.Text(a.Handle), trend)
			return nil
		}),
	}
}

func countsOf(ctx context.Context, app *cli.App, a dream.Agent, states ...dream.State) (dream.KindCounts, error) {
	counts := dream.KindCounts{}
	for _, kind := range dream.Kinds {
		n, err := app.Store.Count(ctx, memory.Query{Agent: a.ID, Kinds: []dream.Kind{kind}, States: states})
		if err != nil {
			return nil, err
		}
		counts[kind] = n
	}
	return counts, nil
}

func showAgent(app *cli.App, l agentLine, affect dream.Affect, counts dream.KindCounts, agentState view.AgentView,
	embedding string, trend morning.Trend,
) {
	var models []string
	for _, role := range dream.Roles {
		if l.Models[role] != "" {
			models = append(models, fmt.Sprintf("%s %s", role, l.Models[role]))
		}
	}
	last := "never dreamt"
	if l.LastDream != nil {
		last = fmt.Sprintf("%s, %s (%s)", cli.When(l.LastDream.At, l.Zone), cli.OutcomeOf(l.LastDream.Record),
			l.LastDream.ID)
	}
	id := l.ID
	if id == l.Handle {
		id = ""
	}
	pairs := []string{
		"agent", l.Handle, "id", id, "persona", l.Persona, "interests", strings.Join(l.Interests, ", "), "zone", l.Zone,
		"tier", string(l.Tier), "dreams by itself", cli.YesNo(l.Auto), "caps", cli.Caps(l.Caps) +
			" (dream / day / month)",
		"left", agentState.LeftText(), "vitality", agentState.VitalityText(l.Agent), "models", strings.Join(models,
			", "),
		"feed", l.Feed, "review", string(l.Review),
		"state", agentState.StateText(), "held by",
		strings.Join(view.Holders(agentState.Status.Leases, app.Now(), l.Zone), ", "), "wake lock",
		agentState.Lock(app.Now(), l.Zone),
		"interrupted", agentState.InterruptedText(app.Now(), l.Zone), "next dream", agentState.NextText(app.Now(),
			l.Zone),
		"urgency", view.UrgencyText(agentState.Next), "triggers", view.TriggersText(agentState.Next, l.Agent,
			app.Now()),
		"alarms", agentState.AlarmsText(),
		"mood", view.Feeling(affect.PAD) + " (" + affect.Cause + ")",
		"memory", cli.OrDash(view.Kinds(counts)), "embedding", embedding, "last dream", last,
		"knows", trend.Knows(), "came true", trend.CameTrue(), "since",
		cli.When(l.Created, l.Zone),
	}
	app.Fields(app.Out, pairs...)
	view.LastWakes(app, agentState, l.Agent)
}

func agentsAdd(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{Use: "add HANDLE", Short: "Add an agent", Args: cobra.ExactArgs(1)}
	flags := addAgentFlags(app, cmd)
	cmd.RunE = app.InStore(func(ctx context.Context, args []string) error {
		name := strings.TrimPrefix(args[0], "@")
		if taken, err := app.Store.Agent(ctx, name); err == nil {
			return exit.Usagef("the name %q belongs to agent %s already; edit it with oneiros agents edit %s", name,
				taken.Handle, taken.Handle)
		} else if !errors.Is(err, memory.ErrNotFound) {
			return err
		}
		a := dream.Agent{
			ID:      name,
			Handle:  name,
			Zone:    app.Zone,
			Tier:    dream.Hardened,
			Caps:    app.Caps,
			Auto:    app.Auto,
			Created: app.Now().UTC(),
		}
		if a.Zone == "" {
			a.Zone = "UTC"
		}
		return putAgent(app, cmd, flags, a, "added")
	})
	return cmd
}

func agentsEdit(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "edit HANDLE", Short: "Change an agent; what is not named stays",
		Args: cobra.ExactArgs(1), ValidArgsFunction: completeHandles(app),
	}
	flags := addAgentFlags(app, cmd)
	cmd.Flags().StringVar(&flags.handle, "handle", "",
		"a new `name`, which an agent that has dreamt cannot have; its memory stays")
	cmd.RunE = app.InStore(func(ctx context.Context, args []string) error {
		a, err := view.FindAgent(ctx, app.Deployment, args[0])
		if err != nil {
			return err
		}
		changes := 0
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if f.Changed {
				changes++
			}
		})
		if changes == 0 {
			return exit.Usagef("agents edit %s names no change; oneiros agents edit --help lists what can be changed",
				a.Handle)
		}
		defer view.Using(ctx, app, a.Handle)()
		return putAgent(app, cmd, flags, a, "changed")
	})
	return cmd
}
