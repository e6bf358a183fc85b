package console

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

func (app *App) agents() *cobra.Command {
	cmd := &cobra.Command{Use: "agents", Aliases: []string{"agent"}, Short: "Add, change and show agents", GroupID: minds}
	cmd.AddCommand(app.agentsList(), app.agentsShow(), app.agentsAdd(), app.agentsEdit(), app.agentsRemove())
	return cmd
}

// agentLine is an agent in the list.
type agentLine struct {
	dream.Agent
	Episodes  int           `json:"episodes"`
	LastDream *publicRecord `json:"last_dream,omitempty"`
	Dreaming  bool          `json:"dreaming"`
}

func (app *App) agentsList() *cobra.Command {
	return &cobra.Command{Use: "list", Short: "List every agent", RunE: func(cmd *cobra.Command, _ []string) error {
		h, err := app.within(cmd.Context())
		if err != nil {
			return err
		}
		all, err := h.Store.Agents(cmd.Context())
		if err != nil {
			return err
		}
		t := &table{columns: []column{
			{title: "AGENT"},
			{title: "TIER", drop: 1},
			{title: "DREAMS BY ITSELF", drop: 3},
			{title: "EPISODES", right: true},
			{title: "LAST DREAM"},
			{title: "OUTCOME", drop: 1},
			{title: "CAPS: DREAM / DAY / MONTH", drop: 2},
			{title: "ZONE", drop: 4},
			{title: "PERSONA", flex: true},
		}}
		list := make([]agentLine, 0, len(all))
		for _, a := range all {
			l, err := app.agentLine(cmd, h, a)
			if err != nil {
				return err
			}
			list = append(list, l)
			last, outcome := "-", "-"
			if l.LastDream != nil {
				last, outcome = when(l.LastDream.At, a.Zone), outcomeOf(l.LastDream.Record)
			}
			t.add(a.Handle, string(a.Tier), yesNo(a.Auto), fmt.Sprint(l.Episodes), last, outcome, caps(a.Caps),
				a.Zone, a.Persona)
		}
		return app.rows(list, t, "No agents yet. Add one: oneiros agents add HANDLE --persona \"...\"")
	}}
}

func (app *App) agentLine(cmd *cobra.Command, h *Deployment, a dream.Agent) (agentLine, error) {
	l := agentLine{Agent: a}
	var err error
	l.Episodes, err = h.Store.Count(cmd.Context(), memory.Query{Agent: a.ID, Kinds: []dream.Kind{dream.KindEpisode}})
	if err != nil {
		return l, err
	}
	nights, err := h.Store.Find(cmd.Context(),
		memory.Query{Agent: a.ID, Kinds: []dream.Kind{dream.KindRecord}, Limit: 1})
	for _, n := range memory.As[*dream.Record](nights) {
		last := app.public(n)
		l.LastDream = &last
	}
	if err != nil {
		return l, err
	}
	slots, err := h.Store.Slots(cmd.Context())
	_, l.Dreaming = slots[a.ID]
	return l, err
}

func (app *App) agentsShow() *cobra.Command {
	return &cobra.Command{
		Use: "show HANDLE", Short: "Show one agent: who it is, how it lives, what it remembers and may spend",
		Args: cobra.ExactArgs(1),
		Long: `Show tells everything about one agent: who it is, what it may spend and what is left of that, whether it
sleeps, dreams or is awake and who holds it awake, its last wakes with their four phases, how often alarms
ended an onset, when it dreams by itself again and what speaks against that, and what it remembers.`,
		ValidArgsFunction: app.completeHandles, RunE: func(cmd *cobra.Command, args []string) error {
			h, err := app.within(cmd.Context())
			if err != nil {
				return err
			}
			a, err := findAgent(cmd.Context(), h, args[0])
			if err != nil {
				return err
			}
			l, err := app.agentLine(cmd, h, a)
			if err != nil {
				return err
			}
			affect, err := h.Store.Affect(cmd.Context(), a.ID)
			if err != nil {
				return err
			}
			affect.PAD = affect.At(app.Now())
			counts, err := app.counts(cmd, h, a)
			if err != nil {
				return err
			}
			agentState, err := app.agentStateOf(cmd.Context(), h, a)
			if err != nil {
				return err
			}
			embedding, err := embeddingOf(cmd.Context(), h, a, app.Now())
			if err != nil {
				return err
			}
			if app.json {
				return app.answer(struct {
					agentLine
					Affect     dream.Affect       `json:"affect"`
					Counts     map[dream.Kind]int `json:"memory"`
					AgentState publicAgentView    `json:"agent_state"`

					Embedding *embeddingState `json:"embedding,omitempty"`
				}{l, affect, counts, agentState.public(h), embedding})
			}
			app.showAgent(l, affect, counts, agentState, embedding.text(a.Handle))
			return nil
		},
	}
}

func (app *App) counts(cmd *cobra.Command, h *Deployment, a dream.Agent) (map[dream.Kind]int, error) {
	counts := map[dream.Kind]int{}
	for _, kind := range dream.Kinds {
		n, err := h.Store.Count(cmd.Context(), memory.Query{Agent: a.ID, Kinds: []dream.Kind{kind}})
		if err != nil {
			return nil, err
		}
		counts[kind] = n
	}
	return counts, nil
}

func (app *App) showAgent(l agentLine, affect dream.Affect, counts map[dream.Kind]int, agentState agentView,
	embedding string,
) {
	var remembers, models []string
	for _, kind := range dream.Kinds {
		if counts[kind] > 0 {
			remembers = append(remembers, fmt.Sprintf("%s %d", kind, counts[kind]))
		}
	}
	for _, role := range dream.Roles {
		if l.Models[role] != "" {
			models = append(models, fmt.Sprintf("%s %s", role, l.Models[role]))
		}
	}
	last := "never dreamt"
	if l.LastDream != nil {
		last = fmt.Sprintf("%s, %s (%s)", when(l.LastDream.At, l.Zone), outcomeOf(l.LastDream.Record), l.LastDream.ID)
	}
	id := l.ID
	if id == l.Handle {
		id = ""
	}
	pairs := []string{
		"agent", l.Handle, "id", id, "persona", l.Persona, "interests", strings.Join(l.Interests, ", "), "zone", l.Zone,
		"tier", string(l.Tier), "dreams by itself", yesNo(l.Auto), "caps", caps(l.Caps) + " (dream / day / month)",
		"left", agentState.left(), "vitality", agentState.vitality(l.Agent), "models", strings.Join(models, ", "),
		"feed", l.Feed, "review", string(l.Review),
		"state", agentState.state(), "held by",
		strings.Join(holders(agentState.Status.Leases, app.Now(), l.Zone), ", "), "wake lock",
		agentState.lock(app.Now(), l.Zone),
		"interrupted", agentState.interrupted(app.Now(), l.Zone), "next dream", agentState.next(app.Now(), l.Zone),
		"urgency", urgencyText(agentState.Next), "triggers", triggersText(agentState.Next, l.Agent, app.Now()),
		"alarms", agentState.alarms(),
		"mood", feeling(affect.PAD) + " (" + affect.Cause + ")",
		"memory", orDash(strings.Join(remembers, ", ")), "embedding", embedding, "last dream", last, "since",
		when(l.Created, l.Zone),
	}
	app.fields(app.Out, pairs...)
	app.lastWakes(agentState, l.Agent)
}

func (app *App) agentsAdd() *cobra.Command {
	cmd := &cobra.Command{Use: "add HANDLE", Short: "Add an agent", Args: cobra.ExactArgs(1)}
	flags := app.addAgentFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		h, err := app.within(cmd.Context())
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(args[0], "@")
		if taken, err := h.Store.Agent(cmd.Context(), name); err == nil {
			return exit(Usage, "the name %q belongs to agent %s already; edit it with oneiros agents edit %s", name,
				taken.Handle, taken.Handle)
		} else if !errors.Is(err, memory.ErrNotFound) {
			return err
		}
		a := dream.Agent{
			ID:      name,
			Handle:  name,
			Zone:    app.Zone,
			Tier:    dream.Hardened,
			Caps:    h.Caps,
			Auto:    h.Auto,
			Created: app.Now().UTC(),
		}
		if a.Zone == "" {
			a.Zone = "UTC"
		}
		return app.putAgent(cmd, h, flags, a, "added")
	}
	return cmd
}

func (app *App) agentsEdit() *cobra.Command {
	cmd := &cobra.Command{
		Use: "edit HANDLE", Short: "Change an agent; what is not named stays",
		Args: cobra.ExactArgs(1), ValidArgsFunction: app.completeHandles,
	}
	flags := app.addAgentFlags(cmd)
	cmd.Flags().StringVar(&flags.handle, "handle", "",
		"a new `name`, which an agent that has dreamt cannot have; its memory stays")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		h, err := app.within(cmd.Context())
		if err != nil {
			return err
		}
		a, err := findAgent(cmd.Context(), h, args[0])
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
			return exit(Usage, "agents edit %s names no change; oneiros agents edit --help lists what can be changed",
				a.Handle)
		}
		defer app.using(cmd.Context(), h, a.Handle)()
		return app.putAgent(cmd, h, flags, a, "changed")
	}
	return cmd
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func outcomeOf(n *dream.Record) string {
	if n.Outcome == dream.Dreaming {
		return "dreaming"
	}
	return string(n.Outcome)
}
