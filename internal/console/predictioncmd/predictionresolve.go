package predictioncmd

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/config"
	"github.com/seed-56a03226/oneiros/internal/claims"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/prediction"
	"github.com/seed-56a03226/oneiros/internal/review"
)

var verdicts = []string{dream.PredictionRight, dream.PredictionWrong, dream.PredictionVoid}

func predictionResolve(app *cli.App) *cobra.Command {
	var because, tool string
	var again bool
	cmd := &cobra.Command{
		Use: "resolve ID correct|incorrect|void", Short: "Say what came of a prediction", Args: cobra.ExactArgs(2),
		ValidArgsFunction: completePredictions(app, verdicts...),
		Long: `Resolve says that a prediction came true, that it did not, or that nobody can say (void). Its residual is 1 or 0
minus its confidence. The hypotheses that rest on it rise by .10 or fall by .05.

The same verdict twice changes nothing. Another one is refused unless --again; the revisions keep both
(oneiros memory show ID --revisions), and what the first had moved is moved back.`,
	}
	view.AddAgentFlag(app, cmd)
	fs := cmd.Flags()
	fs.StringVar(&because, "because", "", "what was seen (`text`)")
	fs.StringVar(&tool, "tool", "", "it is said by this tool (`name`), not by a person")
	fs.BoolVar(&again, "again", false, "turn round what was said before")
	view.Completes(app, cmd, "because", cli.Nothing)
	view.Completes(app, cmd, "tool", cli.Nothing)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !cli.OneOf(args[1], verdicts) {
			return exit.Usagef("the verdict is %q; it must be %s, %s or %s", args[1], verdicts[0], verdicts[1],
				verdicts[2])
		}
		if err := errors.Join(toolName(tool), cli.CheckUTF8("--because", because)); err != nil {
			return exit.AsUsage(err)
		}
		a, p, err := predictionOf(app, cmd, args[0])
		if err != nil {
			return err
		}
		done, err := resolverOf(app).Resolve(cmd.Context(), a.ID, p.ID,
			prediction.Verdict{Status: args[1], By: seer(tool), Evidence: because, Again: again})
		switch {
		case errors.Is(err, prediction.ErrResolved):
			return exit.Refusedf("%w; --again turns it round, and its revisions keep both", err)
		case err != nil:
			return predictionError(cmd.Context(), app, a, err)
		case app.Json:
			return app.Answer(done)
		}
		reportResolved(app, done, a)
		return nil
	}
	return cmd
}

func reportResolved(app *cli.App, done review.Resolution, a dream.Agent) {
	p := done.Prediction
	if !done.Changed {
		app.Say("%s was %s already; nothing changes.", cli.Short(p.ID, a), p.Status)
		return
	}
	text := fmt.Sprintf("%s is %s", cli.Short(p.ID, a), p.Status)
	if p.Residual != nil {
		text += fmt.Sprintf(": its confidence was %s, its residual is %s", cli.Score(p.Confidence), residual(p))
	}
	app.Say("%s.", text)
	for _, moved := range done.Moved {
		app.Say("Hypothesis %s is at confidence %s now (%s).", cli.Short(moved.ID, a), cli.Score(moved.Confidence),
			moved.Status)
	}
}

func predictionWatch(app *cli.App) *cobra.Command {
	var flags watchFlags
	var off bool
	cmd := &cobra.Command{
		Use: "watch ID", Short: "Let a rule over the agent's feed resolve a prediction", Args: cobra.ExactArgs(1),
		ValidArgsFunction: completePredictions(app),
		Long: `From now on the rule resolves the prediction when it fires; when the horizon passes and it did not, the prediction is
the opposite. A prediction that nothing watches becomes void at its horizon, unless it has a check (predictions add --then):
the check waits while a rule watches.

A rule wakes the agents that follow the feed as well, unless it was added to the feed with --quiet-rule. It fires when it becomes
true: one that is true already fires only after it was false. oneiros feed show NAME names the rules.`,
	}
	view.AddAgentFlag(app, cmd)
	addWatchFlags(app, cmd, &flags)
	cmd.Flags().BoolVar(&off, "off", false, "watch nothing any more")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if off == (flags != watchFlags{}) {
			return exit.Usagef("name the rule and what it means (--rule NAME --means correct), or --off")
		}
		a, p, err := predictionOf(app, cmd, args[0])
		if err != nil {
			return err
		}
		w, err := flags.watch(a)
		if err != nil {
			return err
		}
		p, err = resolverOf(app).Watch(cmd.Context(), a, p.ID, w)
		if err != nil {
			return predictionError(cmd.Context(), app, a, err)
		}
		if app.Json {
			return app.Answer(p)
		}
		reportWatch(app, p, a)
		return nil
	}
	return cmd
}

func reportWatch(app *cli.App, p *dream.Prediction, a dream.Agent) {
	switch {
	case p.Checked():
		app.Say("Its check resolves %s: %s", cli.Short(p.ID, a), claims.Describe(*p.Check))
		return
	case p.Watch == nil:
		app.Say("Nothing watches %s; it becomes void at %s.", cli.Short(p.ID, a), cli.When(p.Horizon, a.Zone))
		return
	}
	app.Say("When %s/%s fires by %s, %s is %s; if it does not, it is %s.",
		p.Watch.Feed, p.Watch.Rule, cli.When(p.Horizon, a.Zone), cli.Short(p.ID, a), p.Watch.Means,
		prediction.Opposite(p.Watch.Means))
}

func predictionAdd(app *cli.App) *cobra.Command {
	var flags watchFlags
	var check checkFlags
	var due, tool string
	f := review.PredictionRequest{}
	cmd := &cobra.Command{
		Use: "add CLAIM", Short: "Add a prediction of your own, or of a tool", Args: cobra.ExactArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		Long: `Add keeps an analytical prediction. It is judged as those of dreams are. The same claim with the same criterion, due at the
same time, is kept once; a span such as 14d is another time each time it is said.

With --then it resolves itself: by the first episode that a person or a tool gave and that names what you say.`,
	}
	view.AddAgentFlag(app, cmd)
	fs := cmd.Flags()
	fs.StringVar(&f.Criterion, "criterion", "", "what would show it true or false (`text`)")
	fs.StringVar(&due, "due", "", "by `when`: 2026-12-04 (that day included), 2026-12-04T18:00, or 14d from now")
	fs.Float64Var(&f.Confidence, "confidence", 0, "how sure it is, 0 to 1 (`number`)")
	fs.StringVar(&f.Trace, "because", "", "the reasoning (`text`)")
	fs.StringSliceVar(&f.Episodes, "from", nil, "`ids` of the episodes it rests on")
	fs.StringVar(&tool, "tool", "", "the prediction is by this tool (`name`), not by a person")
	addWatchFlags(app, cmd, &flags)
	addCheckFlags(app, cmd, &check)
	for _, flag := range []string{"criterion", "due", "confidence", "because", "from", "tool"} {
		view.Completes(app, cmd, flag, cli.Nothing)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		required := []string{"criterion", "due", "confidence"}
		if check.then != "" {
			required = required[1:]
		}
		if err := errors.Join(missing(cmd, required...), toolName(tool),
			cli.CheckUTF8("the claim", args[0]), cli.CheckUTF8("--criterion", f.Criterion),
			cli.CheckUTF8("--because", f.Trace)); err != nil {
			return exit.AsUsage(err)
		}
		a, err := view.AgentOf(app, cmd)
		if err != nil {
			return err
		}
		f.Claim, f.By = args[0], seer(tool)
		f.Horizon, err = dueTime(app, due, a.Zone)
		if err != nil {
			return err
		}
		f.Watch, err = flags.watch(a)
		if err != nil {
			return err
		}
		f.Check, err = check.check()
		if err != nil {
			return err
		}
		if f.Watch != nil && f.Check != nil {
			return exit.Usagef("--rule and --then are two ways to resolve it; give one")
		}
		p, fresh, err := resolverOf(app).AddPrediction(cmd.Context(), a, f)
		switch {
		case err != nil:
			return predictionError(cmd.Context(), app, a, err)
		case app.Json:
			return app.Answer(p)
		case !fresh:
			app.Say("%s is known already: %s, due %s.", p.ID, p.Status, cli.When(p.Horizon, a.Zone))
			return nil
		}
		app.Say("%s is kept, due %s.", p.ID, cli.When(p.Horizon, a.Zone))
		if p.Watch != nil {
			reportWatch(app, p, a)
		}
		if p.Check != nil {
			app.Say("It resolves itself: %s", p.Criterion)
		}
		return nil
	}
	return cmd
}

// missing lists every required flag that was not given.
func missing(cmd *cobra.Command, flags ...string) error {
	var faults []error
	for _, name := range flags {
		if f := cmd.Flags().Lookup(name); !f.Changed || f.Value.String() == "" {
			faults = append(faults, fmt.Errorf("--%s is missing: %s", name, meant(f)))
		}
	}
	return errors.Join(faults...)
}

// meant is what a flag is for.
func meant(f *pflag.Flag) string {
	_, text := cli.FlagText(f)
	return text
}

// dueTime parses a horizon: a time, a whole day, or a duration from now.
func dueTime(app *cli.App, text, zone string) (time.Time, error) {
	if d, err := config.ParseSpan(text); err == nil {
		return app.Now().Add(d).UTC(), nil
	}
	if day, err := time.ParseInLocation(time.DateOnly, text, cli.Location(zone)); err == nil {
		return day.AddDate(0, 0, 1).UTC(), nil
	}
	at, err := cli.ReadTime(text, zone, app.Now())
	if err != nil {
		return at,
			exit.Usagef(
				"--due is %q; it must be a day such as 2026-12-04, a time such as 2026-12-04T18:00, or a span from now such as 14d",
				text)
	}
	return at, nil
}
