// Package healthcmd has the commands that examine a deployment, its configuration and its spending.
package healthcmd

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

// Healthy is the state of one thing that was checked.
type Healthy string

// The states of a check.
const (
	Fine  Healthy = "fine"
	Look  Healthy = "look"  // a person may want to look at it
	Wrong Healthy = "wrong" // it is not as it should be
)

// healthLine is the result of one check.
type healthLine struct {
	Agent  string  `json:"agent,omitempty"` // empty: of the deployment
	Name   string  `json:"name"`
	State  Healthy `json:"state"`
	Found  string  `json:"found"`
	Advice string  `json:"advice,omitempty"`
}

// is sets what was found, and what to do about it.
func (l *healthLine) is(state Healthy, found, advice string) {
	l.State, l.Found, l.Advice = state, found, advice
}

// notChecked begins the line of a thing that could not be checked.
const notChecked = "not checked: "

// Health builds the command oneiros health.
func Health(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "health", Short: "Compare what was planned and announced with what the store holds", GroupID: cli.DeploymentGroup,
		Long: `Health compares what was planned and announced with what there is: dreams that were due, empty and failed ones in a
row, when a dream last kept something, what dreams announced with what is in the store and in the ledger, reservations
that nobody closes, predictions past their time, what waits for a review, the metrics of the newest dreams, feeds that
have fallen silent, events that wait to be archived, memory, disk, replicas and clock of a Redis server, servers that
refuse requests because they are full, or did within 15 minutes. Each line is fine, to look at, or wrong, with what to
do. It writes nothing and asks no model.

With --problems it lists only what is not fine, of all agents at once. It looks closely at those agents of
which the newest five dreams, due predictions and waiting reviews show that something can be wrong, and
says what it leaves out.

Without a Temporal server it says which lines could not be checked, and reads the rest from the store.

Exit codes: 0 when nothing is wrong, 7 when something is.`,
	}
	cmd.Flags().StringP("agent", "a", "", "only this agent, by its `handle`")
	view.Completes(app, cmd, "agent", view.With(app, view.Handles))
	problems := cmd.Flags().Bool("problems", false, "list only what is not fine, of very many agents too")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		lines, err := examine(cmd.Context(), app, cmd, *problems)
		if err != nil {
			return err
		}
		return reportHealth(app, lines)
	}
	return cmd
}

// examine runs every check. A store that does not answer is a result, not an error.
func examine(ctx context.Context, app *cli.App, cmd *cobra.Command, problems bool) ([]healthLine, error) {
	err := app.Within(ctx)
	if err != nil {
		if cli.Code(err) == exit.Usage || ctx.Err() != nil {
			return nil, err
		}
		return []healthLine{
			{Name: "store", State: Wrong, Found: err.Error(), Advice: "oneiros doctor says what to do about it."},
			{Name: "all else", State: Look, Found: notChecked + "the store does not answer"},
		}, nil
	}
	agents, err := examined(app, cmd)
	if err != nil {
		return nil, err
	}
	e := examineTemporal(ctx, app)
	defer e.leave()
	if problems {
		return e.problems(ctx, agents)
	}
	lines := []healthLine{
		{
			Name:  "store",
			State: Fine,
			Found: "it answers; " + cli.Count(len(agents), "agent") + " looked at",
		},
	}
	lines = slices.Concat(lines, e.server(ctx), e.losses(ctx), e.overload(ctx))
	lines = append(lines, e.temporal(), e.worker(ctx, agents))
	more, err := e.reservations(ctx, agents)
	if err != nil {
		return nil, err
	}
	lines = append(append(lines, more...), e.feeds(ctx, agents)...)
	lines = append(lines, e.archive(ctx, agents)...)
	closely, err := e.closely(ctx, agents)
	if err != nil {
		return nil, err
	}
	return append(lines, closely...), ctx.Err()
}

// server reports how the server of the store is doing, where it has one.
func (e *examination) server(ctx context.Context) []healthLine {
	f, ok := e.app.StoreServer(ctx)
	if !ok {
		return nil
	}
	return []healthLine{lineOf("redis", f)}
}

// losses reports of which time the store has lost what was written.
func (e *examination) losses(ctx context.Context) []healthLine {
	f, ok := e.app.StoreLosses(ctx)
	if !ok {
		return nil
	}
	return []healthLine{lineOf("losses", f)}
}

// overload reports which servers refuse requests because they are full.
func (e *examination) overload(ctx context.Context) []healthLine {
	f, ok := e.app.Overload(ctx)
	if !ok {
		return nil
	}
	return []healthLine{lineOf("overload", f)}
}

// lineOf is a finding of the doctor as a line.
func lineOf(name string, f deploy.Finding) healthLine {
	state := map[deploy.State]Healthy{deploy.Well: Fine, deploy.Warning: Look, deploy.Ill: Wrong}
	return healthLine{Name: name, State: state[f.State], Found: f.Found, Advice: f.Advice}
}

// examined are the named agent, or all.
func examined(app *cli.App, cmd *cobra.Command) ([]dream.Agent, error) {
	if name, _ := cmd.Flags().GetString("agent"); name != "" {
		a, err := view.FindAgent(cmd.Context(), app.Deployment, name)
		return []dream.Agent{a}, err
	}
	return app.Store.Agents(cmd.Context())
}

// agent runs the checks of one agent.
func (e *examination) agent(ctx context.Context, a dream.Agent) ([]healthLine, error) {
	records, err := e.recordsOf(ctx, a)
	if err != nil {
		return nil, err
	}
	var lines []healthLine
	for _, look := range []func(context.Context, dream.Agent, []*dream.Record) (healthLine, error){
		e.planned, e.outcomes, e.recall, e.lastKept, e.recorded, e.spent, e.overdue, e.reviews, e.staging,
		e.quality,
	} {
		l, err := look(ctx, a, records)
		if err != nil {
			return nil, err
		}
		lines = append(lines, l)
	}
	return lines, nil
}

func reportHealth(app *cli.App, lines []healthLine) error {
	wrong, look := 0, 0
	for _, l := range lines {
		switch l.State {
		case Wrong:
			wrong++
		case Look:
			look++
		case Fine:
		}
	}
	if app.Json {
		if err := app.Answer(map[string]any{"lines": lines, "wrong": wrong, "look": look}); err != nil {
			return err
		}
	} else {
		drawHealth(app, lines)
	}
	if wrong > 0 {
		return exit.Errorf(exit.Unwell, "%s wrong, %s to look at", cli.Plural(wrong, "thing is", "things are"),
			cli.Count(look, "thing"))
	}
	if look > 0 {
		app.Note("Nothing is wrong, %s to look at.", cli.Count(look, "thing"))
		return nil
	}
	app.Note("All is as it should be.")
	return nil
}

func drawHealth(app *cli.App, lines []healthLine) {
	agent := ""
	for _, l := range lines {
		if l.Agent != agent {
			agent = l.Agent
			app.Say("")
			app.Say("%s", app.Bold(agent))
		}
		colour := map[Healthy]string{Fine: "32", Look: "33", Wrong: "31"}[l.State]
		mark := app.Paint(colour, fmt.Sprintf("%-5s", l.State))
		printFinding(app, fmt.Sprintf("%s %-13s", mark, l.Name), 20, l.Found, l.Advice)
	}
}
