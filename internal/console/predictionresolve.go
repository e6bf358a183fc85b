package console

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/prediction"
)

var verdicts = []string{dream.PredictionRight, dream.PredictionWrong, dream.PredictionVoid}

func (app *App) predictionResolve() *cobra.Command {
	var because, tool string
	var again bool
	cmd := &cobra.Command{
		Use: "resolve ID correct|incorrect|void", Short: "Say what came of a prediction", Args: cobra.ExactArgs(2),
		ValidArgsFunction: app.completePredictions(verdicts...),
		Long: `Resolve says that a prediction came true, that it did not, or that nobody can say (void). Its residual is 1 or 0
minus its confidence. The hypotheses that rest on it rise by .10 or fall by .05.

The same verdict twice changes nothing. Another one is refused unless --again; the revisions keep both
(oneiros memory show ID --revisions), and what the first had moved is moved back.`,
	}
	app.addAgentFlag(cmd)
	fs := cmd.Flags()
	fs.StringVar(&because, "because", "", "what was seen (`text`)")
	fs.StringVar(&tool, "tool", "", "it is said by this tool (`name`), not by a person")
	fs.BoolVar(&again, "again", false, "turn round what was said before")
	app.completes(cmd, "because", nothing)
	app.completes(cmd, "tool", nothing)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !oneOf(args[1], verdicts) {
			return exit(Usage, "the verdict is %q; it must be %s, %s or %s", args[1], verdicts[0], verdicts[1],
				verdicts[2])
		}
		if err := errors.Join(toolName(tool), checkUTF8("--because", because)); err != nil {
			return usage(err)
		}
		h, a, p, err := app.predictionOf(cmd, args[0])
		if err != nil {
			return err
		}
		done, err := app.reckoning(h).Resolve(cmd.Context(), a.ID, p.ID,
			prediction.Verdict{Status: args[1], By: seer(tool), Evidence: because, Again: again})
		switch {
		case errors.Is(err, prediction.ErrResolved):
			return exit(Refused, "%w; --again turns it round, and its revisions keep both", err)
		case err != nil:
			return predictionError(cmd.Context(), h, a, err)
		case app.json:
			return app.answer(done)
		}
		app.reportResolved(done, a)
		return nil
	}
	return cmd
}

func (app *App) reportResolved(done activities.Resolved, a dream.Agent) {
	p := done.Prediction
	if !done.Changed {
		app.say("%s was %s already; nothing changes.", short(p.ID, a), p.Status)
		return
	}
	text := fmt.Sprintf("%s is %s", short(p.ID, a), p.Status)
	if p.Residual != nil {
		text += fmt.Sprintf(": its confidence was %s, its residual is %s", score(p.Confidence), residual(p))
	}
	app.say("%s.", text)
	for _, moved := range done.Moved {
		app.say("Hypothesis %s is at confidence %s now (%s).", short(moved.ID, a), score(moved.Confidence),
			moved.Status)
	}
}

func (app *App) predictionWatch() *cobra.Command {
	var flags watchFlags
	var off bool
	cmd := &cobra.Command{
		Use: "watch ID", Short: "Let a rule over the agent's feed resolve a prediction", Args: cobra.ExactArgs(1),
		ValidArgsFunction: app.completePredictions(),
		Long: `From now on the rule resolves the prediction when it fires; when the horizon passes and it did not, the prediction is
the opposite. A prediction that nothing watches becomes void at its horizon.

A rule wakes the agents that follow the feed as well, unless it was added to the feed with --quiet-rule. It fires when it becomes
true: one that is true already fires only after it was false. oneiros feed show NAME names the rules.`,
	}
	app.addAgentFlag(cmd)
	app.addWatchFlags(cmd, &flags)
	cmd.Flags().BoolVar(&off, "off", false, "watch nothing any more")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if off == (flags != watchFlags{}) {
			return exit(Usage, "name the rule and what it means (--rule NAME --means correct), or --off")
		}
		h, a, p, err := app.predictionOf(cmd, args[0])
		if err != nil {
			return err
		}
		w, err := flags.watch(a)
		if err != nil {
			return err
		}
		p, err = app.reckoning(h).Watch(cmd.Context(), a, p.ID, w)
		if err != nil {
			return predictionError(cmd.Context(), h, a, err)
		}
		if app.json {
			return app.answer(p)
		}
		app.reportWatch(p, a)
		return nil
	}
	return cmd
}

func (app *App) reportWatch(p *dream.Prediction, a dream.Agent) {
	if p.Watch == nil {
		app.say("Nothing watches %s; it becomes void at %s.", short(p.ID, a), when(p.Horizon, a.Zone))
		return
	}
	app.say("When %s/%s fires by %s, %s is %s; if it does not, it is %s.",
		p.Watch.Feed, p.Watch.Rule, when(p.Horizon, a.Zone), short(p.ID, a), p.Watch.Means,
		prediction.Opposite(p.Watch.Means))
}

func (app *App) predictionAdd() *cobra.Command {
	var flags watchFlags
	var due, tool string
	f := activities.PredictionRequest{}
	cmd := &cobra.Command{
		Use: "add CLAIM", Short: "Add a prediction of your own, or of a tool", Args: cobra.ExactArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		Long: `Add keeps an analytical prediction. It is judged as those of dreams are. The same claim with the same criterion, due at the
same time, is kept once; a span such as 14d is another time each time it is said.`,
	}
	app.addAgentFlag(cmd)
	fs := cmd.Flags()
	fs.StringVar(&f.Criterion, "criterion", "", "what would show it true or false (`text`)")
	fs.StringVar(&due, "due", "", "by `when`: 2026-12-04 (that day included), 2026-12-04T18:00, or 14d from now")
	fs.Float64Var(&f.Confidence, "confidence", 0, "how sure it is, 0 to 1 (`number`)")
	fs.StringVar(&f.Trace, "because", "", "the reasoning (`text`)")
	fs.StringSliceVar(&f.Episodes, "from", nil, "`ids` of the episodes it rests on")
	fs.StringVar(&tool, "tool", "", "the prediction is by this tool (`name`), not by a person")
	app.addWatchFlags(cmd, &flags)
	for _, flag := range []string{"criterion", "due", "confidence", "because", "from", "tool"} {
		app.completes(cmd, flag, nothing)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := errors.Join(missing(cmd, "criterion", "due", "confidence"), toolName(tool),
			checkUTF8("the claim", args[0]), checkUTF8("--criterion", f.Criterion),
			checkUTF8("--because", f.Trace)); err != nil {
			return usage(err)
		}
		h, a, err := app.agentOf(cmd)
		if err != nil {
			return err
		}
		f.Claim, f.By = args[0], seer(tool)
		f.Horizon, err = app.dueTime(due, a.Zone)
		if err != nil {
			return err
		}
		f.Watch, err = flags.watch(a)
		if err != nil {
			return err
		}
		p, fresh, err := app.reckoning(h).Foretell(cmd.Context(), a, f)
		switch {
		case err != nil:
			return predictionError(cmd.Context(), h, a, err)
		case app.json:
			return app.answer(p)
		case !fresh:
			app.say("%s is known already: %s, due %s.", p.ID, p.Status, when(p.Horizon, a.Zone))
			return nil
		}
		app.say("%s is kept, due %s.", p.ID, when(p.Horizon, a.Zone))
		if p.Watch != nil {
			app.reportWatch(p, a)
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
	_, text := flagText(f)
	return text
}

// dueTime parses a horizon: a time, a whole day, or a duration from now.
func (app *App) dueTime(text, zone string) (time.Time, error) {
	parse := time.ParseDuration
	if app.Span != nil {
		parse = app.Span
	}
	if d, err := parse(text); err == nil {
		return app.Now().Add(d).UTC(), nil
	}
	if day, err := time.ParseInLocation(time.DateOnly, text, location(zone)); err == nil {
		return day.AddDate(0, 0, 1).UTC(), nil
	}
	at, err := readTime(text, zone, app.Now())
	if err != nil {
		return at,
			exit(Usage,
				"--due is %q; it must be a day such as 2026-12-04, a time such as 2026-12-04T18:00, or a span from now such as 14d",
				text)
	}
	return at, nil
}
