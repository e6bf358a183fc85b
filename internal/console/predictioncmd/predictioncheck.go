package predictioncmd

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/config"
	"github.com/seed-56a03226/oneiros/internal/claims"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/review"
)

// checkFlags say what a program looks up in what is lived.
type checkFlags struct {
	when, then, within string
	least              int
	not                bool
}

func addCheckFlags(app *cli.App, cmd *cobra.Command, c *checkFlags) {
	fs := cmd.Flags()
	fs.StringVar(&c.then, "then", "", "it comes true when an episode names this (`name`)")
	fs.StringVar(&c.when, "when", "", "counted from the next episode that names this (`name`)")
	fs.StringVar(&c.within, "within", "", "how long after that (`span`, such as 3d); the same episode when left out")
	fs.IntVar(&c.least, "at-least", 0, "only when so many episodes name it (`number`)")
	fs.BoolVar(&c.not, "not", false, "it comes true when that does not happen")
	for _, flag := range []string{"then", "when", "within", "at-least"} {
		view.Completes(app, cmd, flag, cli.Nothing)
	}
}

// check reads the flags; nil when none was given.
func (c checkFlags) check() (*dream.Check, error) {
	if c == (checkFlags{}) {
		return nil, nil
	}
	check := &dream.Check{When: c.when, Then: c.then, Least: c.least, Not: c.not}
	if c.then == "" {
		return nil, exit.Usagef("--then is missing: name what an episode must name for it to come true")
	}
	if c.within != "" {
		within, err := config.ParseSpan(c.within)
		if err != nil || within < time.Second {
			return nil, exit.Usagef("--within is %q; it must be a span such as 3d or 12h", c.within)
		}
		check.Within = within
	}
	return check, exit.AsUsage(claims.Validate(*check))
}

func predictionCheck(app *cli.App) *cobra.Command {
	var lookOnly bool
	cmd := &cobra.Command{
		Use: "check", Short: "Resolve the predictions that can be decided by now",
		Long: `Check looks up every open prediction that carries a check (predictions add --then) in what was lived since, and
resolves those that can be decided by now; it counts what became of the claims, too. Of those in prose it asks
the agent's observer, by at most predictions.judge_daily a day: a verdict counts only with a whole sentence that a
program finds word for word in an episode that was shown. A server does both by itself. Only episodes that a person
or a tool gave are evidence.`,
	}
	cmd.Flags().BoolVar(&lookOnly, "look-only", false, "ask no model, and spend nothing")
	return view.ForAgent(app, cmd, func(ctx context.Context, a dream.Agent, _ []string) error {
		var answer review.Checked
		var err error
		if app.Judge == nil {
			answer.LookedUp, err = resolverOf(app).LookUp(ctx, a.ID)
		} else {
			answer, err = app.Judge().Check(ctx, a, lookOnly)
		}
		if err != nil {
			return predictionError(ctx, app, a, err)
		}
		if app.Json {
			answer.Decided = cli.OrEmpty(answer.Decided)
			return app.Answer(answer)
		}
		reportChecked(app, answer, a)
		return nil
	})
}

func reportChecked(app *cli.App, answer review.Checked, a dream.Agent) {
	decided := answer.Decided
	if answer.Judged != nil {
		decided = append(decided, answer.Judged.Decided...)
	}
	if len(decided)+len(answer.Claims)+len(answer.Hypotheses) == 0 {
		app.Say("Nothing can be decided yet. What is open: oneiros predictions list -a %s --status open%s", a.Handle,
			app.Option())
	}
	for _, p := range decided {
		app.Say("%s is %s: %s", cli.Short(p.ID, a), p.Status, p.Claim)
		app.Say("  %s", p.Evidence)
	}
	for _, c := range answer.Claims {
		app.Say("Claim %s: %s %s", c.ID, c.Says, verdictOn(c, a))
	}
	for _, h := range answer.Hypotheses {
		app.Say("Hypothesis %s: %s %s", cli.Short(h.ID, a), h.Claim, verdictOnHypothesis(h, a, app.Predictions))
	}
	if answer.Judged == nil {
		return
	}
	j := answer.Judged
	if j.Compared > 0 {
		app.Say("%s compared %s with what was lived, in %s, for %s.", j.Model, cli.Count(j.Compared, "prediction"),
			cli.Count(j.Calls, "call"), j.Cost)
	}
	for _, i := range j.Ignored {
		app.Say("Its verdict on %s does not count: %s.", cli.Short(i.Prediction, a), i.Reason)
	}
	switch {
	case j.Reason != "" && j.Left > 0:
		app.Say("%s left: %s.", cli.Count(j.Left, "prediction"), j.Reason)
	case j.Reason != "":
		app.Say("Predictions in prose were not judged: %s.", j.Reason)
	}
}
