package feedcmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/circadian"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/triggers"
	"github.com/seed-56a03226/oneiros/workflows"
)

// Triggers builds the command oneiros triggers.
func Triggers(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "triggers", Aliases: []string{"trigger"}, Short: "What makes an agent dream by itself", GroupID: cli.DreamGroup,
		Long: `An agent that may dream by itself (oneiros agents edit HANDLE --auto) does so when it has been idle for long enough;
with triggers, also at times of its own zone, after so many new episodes, and after events. They are kept with the agent
and in its workflow on Temporal: no restart loses one, and a schedule that was missed calls once. A call that comes while
the agent is awake or dreams waits, and one dream answers all that wait.

No trigger begins a dream before agent.urgent_idle of quiet and agent.min_gap have passed, outside agent.windows, in
agent.quiet, over a cap, or on a paid provider unless consent.auto_paid is on.`,
	}
	cmd.AddCommand(triggersList(app), triggersAdd(app), triggersDrop(app), triggersFire(app))
	return cmd
}

func triggersList(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "List an agent's triggers: what is due when, and why not now"}

	return view.ForAgent(app, cmd, func(ctx context.Context, a dream.Agent, _ []string) error {
		agentState, err := view.AgentStateOf(ctx, app, a)
		if err != nil {
			return err
		}
		t := cli.NewTable("TRIGGER", "CALLS,drop=2", "NEXT,drop=1", "NOW,flex,least=48")
		for _, line := range agentState.Next.Triggers {
			next := "-"
			switch {
			case line.Due == nil:
			case line.Due.After(app.Now()):
				next = cli.Clock(*line.Due, app.Now(), a.Zone)
			default:
				next = "now"
			}
			t.Add(line.Name, view.Calls(line.Trigger), next, line.Now)
		}
		if err := app.Rows(agentState.Next.Triggers, t, ""); err != nil {
			return err
		}
		if len(agentState.Next.Against) > 0 {
			app.Note("What speaks against a dream now: %s.", strings.Join(agentState.Next.Against, "; "))
		}
		return nil
	})
}

// triggerFlags say when a trigger fires.
type triggerFlags struct {
	schedule, event, rule string
	episodes              int
	residual              float64
}

func triggersAdd(app *cli.App) *cobra.Command {
	f := triggerFlags{}
	replace := false
	cmd := &cobra.Command{
		Use: "add NAME", Short: "Add a trigger to an agent", Args: cobra.ExactArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		Long: `Add gives an agent a trigger, of which exactly one flag says when it calls. A schedule is a time, with days before it or
without, or the five fields of cron, by the clock of the agent's own zone. The one named idle needs no flag.`,
	}

	fs := cmd.Flags()
	fs.StringVar(&f.schedule, "schedule", "", "`when`, as in \"mon-fri 03:30\" or \"30 3 * * 1-5\"")
	fs.IntVar(&f.episodes, "episodes", 0, "after so many new episodes since the last dream (`number`)")
	fs.StringVar(&f.event, "event", "", "after an event of this `type` in the agent's log, written by no dream")
	fs.Float64Var(
		&f.residual,
		"residual",
		0,
		"of --event PredictionResolved: of at least this size, 0 to 1 (`number`)",
	)
	fs.StringVar(&f.rule, "rule", "", "after this `rule` over the feed that the agent follows")
	fs.BoolVar(&replace, "replace", false, "put it in the place of the trigger of that name")
	for _, flag := range []string{"schedule", "episodes", "residual"} {
		view.Completes(app, cmd, flag, cli.Nothing)
	}
	view.Completes(app, cmd, "event", func(*cobra.Command) []string { return eventTypes() })
	view.Completes(app, cmd, "rule", view.With(app, view.RuleNames))
	return view.ForAgent(app, cmd, func(ctx context.Context, a dream.Agent, args []string) error {
		t, err := f.trigger(cmd, args[0], a)
		if err != nil {
			return exit.AsUsage(err)
		}
		if err := ruled(ctx, app, t); err != nil {
			return err
		}
		had := slices.ContainsFunc(a.Triggered(), calledBy(t.Name))
		if had && !replace {
			return exit.Usagef("%s has a trigger %q already; --replace puts this one in its place", a.Handle, t.Name)
		}
		a.Triggers = append(slices.DeleteFunc(slices.Clone(a.Triggered()), calledBy(t.Name)), t)
		did := "added"
		if had {
			did = "replaced"
		}
		return putTriggers(ctx, app, a, t, did)
	})
}

// ruled checks the rule that a trigger waits for.
func ruled(ctx context.Context, app *cli.App, t dream.Trigger) error {
	if t.Rule == "" {
		return nil
	}
	feed, err := app.Feeds.Feed(ctx, t.Feed)
	switch {
	case errors.Is(err, memory.ErrNotFound):
		return exit.NotFoundf("--rule is %q, and there is no feed %s; oneiros feed list names them", t.Rule, t.Feed)
	case err != nil:
		return fmt.Errorf("read feed %s: %w", t.Feed, err)
	case !slices.ContainsFunc(feed.Rules, func(r dream.Rule) bool { return r.Name == t.Rule }):
		return exit.NotFoundf("--rule is %q, and feed %s has no such rule; oneiros feed show %s names them", t.Rule,
			t.Feed, t.Feed)
	}
	return nil
}

func calledBy(name string) func(dream.Trigger) bool {
	return func(t dream.Trigger) bool { return t.Name == name }
}

func (f triggerFlags) trigger(cmd *cobra.Command, name string, a dream.Agent) (dream.Trigger, error) {
	t := dream.Trigger{Name: name}
	given := 0
	for _, each := range []struct {
		flag string
		fill func()
	}{
		{"schedule", func() { t.Kind, t.Schedule = dream.OnSchedule, strings.Join(strings.Fields(f.schedule), " ") }},
		{"episodes", func() { t.Kind, t.Episodes = dream.OnEpisodes, f.episodes }},
		{"event", func() { t.Kind, t.Event, t.Residual = dream.OnEvent, event.CurrentType(f.event), f.residual }},
		{"rule", func() { t.Kind, t.Feed, t.Rule = dream.OnEvent, a.Feed, strings.TrimPrefix(f.rule, a.Feed+"/") }},
	} {
		if cmd.Flags().Changed(each.flag) {
			each.fill()
			given++
		}
	}
	switch {
	case given == 0 && name == dream.IdleTrigger.Name:
		return dream.IdleTrigger, nil
	case name == string(dream.OnRequest):
		return t, fmt.Errorf("every agent has the trigger %s: oneiros triggers fire calls it", name)
	case given != 1:
		return t, errors.New("say when it calls with one of --schedule, --episodes, --event and --rule")
	case f.residual != 0 && f.event != event.PredictionResolved{}.EventType():
		return t, fmt.Errorf("--residual is %v; only --event PredictionResolved has one", f.residual)
	case t.Event != "" && !slices.Contains(eventTypes(), t.Event):
		return t,
			fmt.Errorf("--event is %q; it must be the type of an event that no dream writes: %s", t.Event,
				strings.Join(eventTypes(), ", "))
	case t.Kind == dream.OnEvent && t.Event == "" && a.Feed == "":
		return t,
			fmt.Errorf(
				"--rule is %q, and %s follows no feed; let it follow one with oneiros agents edit %s --feed NAME",
				f.rule, a.Handle, a.Handle)
	}
	if t.Kind == dream.OnSchedule {
		if _, err := circadian.ParseSchedule(t.Schedule); err != nil {
			return t, fmt.Errorf("--schedule: %w", err)
		}
	}
	if err := t.Validate(); err != nil {
		return t, fmt.Errorf("trigger %s: %w", name, err)
	}
	return t, nil
}

// eventTypes are the types of events that are written while no dream runs.
func eventTypes() []string {
	return []string{
		event.PredictionResolved{}.EventType(), event.HypothesisChanged{}.EventType(), event.AlarmRaised{}.EventType(),
		event.AgentAwake{}.EventType(), event.AgentAsleep{}.EventType(),
	}
}

func triggersDrop(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "drop NAME",
		Aliases:           []string{"remove", "cancel"},
		Short:             "Take a trigger, and its call that waits, from an agent",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeTriggers(app),
		Long: `Drop takes a trigger from an agent. A call of it that waits is forgotten; a dream that it began goes on. An agent
without any dreams only on request. Dropping manual forgets what oneiros triggers fire requested.`,
	}

	return view.ForAgent(app, cmd, func(ctx context.Context, a dream.Agent, args []string) error {
		if args[0] == string(dream.OnRequest) {
			return call(ctx, app, a, triggers.Fire{Trigger: args[0], Kind: dream.OnRequest, Drop: true},
				"What was requested of %s is forgotten.")
		}
		at := slices.IndexFunc(a.Triggered(), calledBy(args[0]))
		if at < 0 {
			return exit.NotFoundf("%s has no trigger %q; oneiros triggers list --agent %s names them", a.Handle,
				args[0], a.Handle)
		}
		t := a.Triggered()[at]
		a.Triggers = append([]dream.Trigger{}, slices.DeleteFunc(slices.Clone(a.Triggered()), calledBy(t.Name))...)
		return putTriggers(ctx, app, a, t, "dropped")
	})
}

func triggersFire(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "fire", Short: "Ask for a dream as soon as the agent sleeps",
		Long: `Fire asks for a dream once: at once when the agent sleeps, else when it has fallen asleep or its dream has ended. Quiet
time, gap and hours are not waited for; caps hold. On a paid provider it needs consent.auto_paid, since nobody watches
then; oneiros dream needs none. oneiros triggers drop manual forgets it.`,
	}

	return view.ForAgent(app, cmd, func(ctx context.Context, a dream.Agent, _ []string) error {
		f := triggers.Fire{
			Trigger: string(dream.OnRequest), Kind: dream.OnRequest, At: app.Now().UTC(),
			Reason: "a person asked",
		}
		return call(ctx, app, a, f,
			"%s dreams as soon as it may; oneiros triggers list shows what it waits for.")
	})
}

// call sends a request for a dream to the agent's workflow, which needs Temporal.
func call(ctx context.Context, app *cli.App, a dream.Agent, f triggers.Fire, did string) error {
	err := withWorkflows(ctx, app, func(w deploy.Workflows) error { return w.Call(ctx, a, f) })
	switch {
	case errors.Is(err, deploy.ErrNoServer):
		return &exit.Error{Code: exit.Unreachable, Err: err}
	case err != nil:
		return err
	case app.Json:
		return app.Answer(f)
	}
	app.Say(did, a.Handle)
	return nil
}

// sendSettings sends the settings of the agent's record to its workflow: whether it dreams by itself, and its
// triggers. An agent that has no workflow and does not dream by itself needs none.
func sendSettings(ctx context.Context, w deploy.Workflows, a dream.Agent) error {
	if !a.Auto {
		runs, err := w.Running(ctx, workflows.AgentID(a.Handle))
		if err != nil || !runs {
			return err
		}
	}
	return w.EnsureWorkflow(ctx, a)
}

// putTriggers stores an agent's triggers and notifies its workflow where it can be reached; otherwise a worker does
// so within a minute.
func putTriggers(ctx context.Context, app *cli.App, a dream.Agent, t dream.Trigger, did string) error {
	if err := a.Validate(); err != nil {
		return exit.AsUsage(fmt.Errorf("agent %s: %w", a.Handle, err))
	}
	if err := app.Store.PutAgent(ctx, a); err != nil {
		return fmt.Errorf("trigger %s of %s was not %s: %w", t.Name, a.Handle, did, err)
	}
	err := withWorkflows(ctx, app, func(w deploy.Workflows) error { return sendSettings(ctx, w, a) })
	if app.Json {
		return app.Answer(t)
	}
	app.Say("Trigger %s of %s is %s.", t.Name, a.Handle, did)
	switch {
	case errors.Is(err, deploy.ErrNoServer):
		app.Note("No Temporal server runs: the next worker processes it (oneiros up%s).", app.Option())
	case err != nil:
		app.Note("The agent's workflow could not be notified; a worker does so within a minute (%v).", err)
	}
	if did != "dropped" && !a.Auto && !app.Settings.Auto {
		app.Note("%s does not dream by itself yet: oneiros agents edit %s --auto%s", a.Handle, a.Handle, app.Option())
	}
	return nil
}

func completeTriggers(app *cli.App) cobra.CompletionFunc {
	return cli.FirstArgument(func(cmd *cobra.Command) []string {
		a, err := view.AgentOf(app, cmd)
		if err != nil {
			return nil
		}
		names := []string{}
		for _, t := range a.Triggered() {
			names = append(names, t.Name)
		}
		return append(names, string(dream.OnRequest))
	})
}
