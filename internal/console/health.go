package console

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/dream"
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

// notChecked begins the line of a thing that could not be checked.
const notChecked = "not checked: "

func (app *App) health() *cobra.Command {
	cmd := &cobra.Command{
		Use: "health", Short: "Compare what was planned and announced with what the store holds", GroupID: deployment,
		Args: cobra.NoArgs,
		Long: `Health holds what was planned and told against what there is: nights that were due, empty and failed ones in a row,
when a night last kept something, what nights said they made against what lies in the store, what they said they spent
against the ledger, reservations that nobody closes, predictions past their time, what waits for a review, feeds that
have fallen silent, events that wait to be archived. Each line is fine, to look at, or wrong, with what to do. It writes nothing and asks no model.

Without a Temporal server it says which lines could not be looked at, and tells the rest from the store.

Exit codes: 0 when nothing is wrong, 7 when something is.`,
	}
	cmd.Flags().StringP("agent", "a", "", "only this agent, by its `handle`")
	app.completes(cmd, "agent", app.handles)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		lines, err := app.examine(cmd.Context(), cmd)
		if err != nil {
			return err
		}
		return app.reportHealth(lines)
	}
	return cmd
}

// examine runs every check. A store that does not answer is a result, not an error.
func (app *App) examine(ctx context.Context, cmd *cobra.Command) ([]healthLine, error) {
	h, err := app.within(ctx)
	if err != nil {
		if Code(err) == Usage || ctx.Err() != nil {
			return nil, err
		}
		return []healthLine{
			{Name: "store", State: Wrong, Found: err.Error(), Advice: "oneiros doctor says what to do about it."},
			{Name: "all else", State: Look, Found: notChecked + "the store does not answer"},
		}, nil
	}
	agents, err := app.examined(cmd, h)
	if err != nil {
		return nil, err
	}
	e := app.examineTemporal(ctx, h)
	defer e.leave()
	lines := []healthLine{
		{Name: "store", State: Fine, Found: "it answers; " + plural(len(agents), "agent", "agents") + " looked at"},
	}
	lines = append(lines, e.temporal(), e.worker(ctx, agents))
	more, err := e.reservations(ctx, agents)
	if err != nil {
		return nil, err
	}
	lines = append(append(lines, more...), e.feeds(ctx, agents)...)
	lines = append(lines, e.archive(ctx, agents)...)
	for _, a := range agents {
		of, err := e.agent(ctx, a)
		if err != nil {
			return nil, fmt.Errorf("look at %s: %w", a.Handle, err)
		}
		for _, l := range of {
			l.Agent = a.Handle
			lines = append(lines, l)
		}
	}
	return lines, ctx.Err()
}

// examined are the named agent, or all.
func (app *App) examined(cmd *cobra.Command, h *Deployment) ([]dream.Agent, error) {
	if name, _ := cmd.Flags().GetString("agent"); name != "" {
		a, err := findAgent(cmd.Context(), h, name)
		return []dream.Agent{a}, err
	}
	return h.Store.Agents(cmd.Context())
}

// agent runs the checks of one agent.
func (e *examination) agent(ctx context.Context, a dream.Agent) ([]healthLine, error) {
	records, err := e.recordsOf(ctx, a)
	if err != nil {
		return nil, err
	}
	var lines []healthLine
	for _, look := range []func(context.Context, dream.Agent, []*dream.Record) (healthLine, error){
		e.planned, e.outcomes, e.recall, e.kept, e.recorded, e.spent, e.overdue, e.reviews,
	} {
		l, err := look(ctx, a, records)
		if err != nil {
			return nil, err
		}
		lines = append(lines, l)
	}
	return lines, nil
}

func (app *App) reportHealth(lines []healthLine) error {
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
	if app.json {
		if err := app.answer(map[string]any{"lines": lines, "wrong": wrong, "look": look}); err != nil {
			return err
		}
	} else {
		app.drawHealth(lines)
	}
	if wrong > 0 {
		return exit(Unwell, "%s wrong, %s to look at", plural(wrong, "thing is", "things are"),
			plural(look, "thing", "things"))
	}
	if look > 0 {
		app.note("Nothing is wrong, %s to look at.", plural(look, "thing", "things"))
		return nil
	}
	app.note("All is as it should be.")
	return nil
}

func (app *App) drawHealth(lines []healthLine) {
	const indent = "                    "
	agent := ""
	for _, l := range lines {
		if l.Agent != agent {
			agent = l.Agent
			app.say("")
			app.say("%s", app.bold(agent))
		}
		colour := map[Healthy]string{Fine: "32", Look: "33", Wrong: "31"}[l.State]
		text := strings.TrimPrefix(wrap(l.Found, app.Width, indent), indent)
		fmt.Fprintf(app.Out, "%s %-14s%s\n", app.paint(colour, fmt.Sprintf("%-5s", l.State)), l.Name, text)
		if l.Advice != "" {
			fmt.Fprintf(app.Out, "%s\n", app.dim(wrap(l.Advice, app.Width, indent)))
		}
	}
}
