// Package predictioncmd has the commands on predictions.
package predictioncmd

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/prediction"
	"github.com/seed-56a03226/oneiros/internal/review"
)

// Predictions builds the command oneiros predictions.
func Predictions(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "predictions", Short: "Predictions, and what came true", GroupID: cli.MemoryGroup,
		Long: `Everything a dream makes is a prediction too: a claim with a confidence, what would show it true, and by when.
Persons and tools may foretell as well. Reality resolves them all alike: a person or a tool says what came of one
(resolve), a rule over the agent's feed does (watch), what was lived shows it to a program or to a model that quotes it
(check), or its time runs out. No dream resolves anything.`,
	}
	cmd.AddCommand(predictionList(app), view.Show(app, dream.KindPrediction, "Show one prediction whole"),
		predictionResolve(app), predictionWatch(app), predictionCheck(app), predictionAdd(app), predictionScore(app))
	for _, sub := range cmd.Commands() {
		if sub.Name() == "show" {
			sub.ValidArgsFunction = completePredictions(app)
		}
	}
	return cmd
}

func predictionList(app *cli.App) *cobra.Command {
	return view.List(app, "list", view.Listing{
		Kind: dream.KindPrediction, Short: "List predictions, the soonest due first", Sort: memory.SoonestDue,
		Nothing: "%s has foretold nothing yet.",
		Columns: cli.Columns("ID,flex,least=30", "DUE", "STATUS", "CONFIDENCE,right,drop=1", "PHASE,drop=2",
			"RESIDUAL,right,drop=3", "SOURCE,drop=4", "FEED RULE,drop=5", "CLAIM,flex"),
		Row: func(item dream.Item, a dream.Agent) []string {
			p := item.(*dream.Prediction)
			watches := "-"
			if p.Watch != nil {
				watches = p.Watch.Feed + "/" + p.Watch.Rule
			}
			return []string{
				cli.Short(p.ID,
					a), cli.Day(p.Horizon, a.Zone), p.Status, cli.Score(p.Confidence), cli.OrDash(string(p.Phase)),
				residual(p), p.Source, watches, p.Claim,
			}
		},
	})
}

func residual(p *dream.Prediction) string {
	if p.Residual == nil {
		return "-"
	}
	return cli.Signed(*p.Residual)
}

// resolverOf compares predictions with what happened.
func resolverOf(app *cli.App) review.Resolver {
	return review.Resolver{Memory: app.Store, Feeds: app.Feeds, Now: app.Now, Rules: app.Predictions}
}

// predictionOf finds a prediction by its id, or by a part of it.
func predictionOf(app *cli.App, cmd *cobra.Command, id string) (dream.Agent, *dream.Prediction, error) {
	a, item, err := view.ItemOf(app, cmd, id, dream.KindPrediction)
	if err != nil {
		return a, nil, err
	}
	p, ok := item.(*dream.Prediction)
	if !ok {
		return a, nil, exit.NotFoundf("%q is no prediction; oneiros predictions list names them", id)
	}
	return a, p, nil
}

// completePredictions completes predictions, those due soonest first; then the words that may follow.
func completePredictions(app *cli.App, then ...string) cobra.CompletionFunc {
	first := completeItems(app, dream.KindPrediction, memory.SoonestDue)
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 1 {
			return then, cobra.ShellCompDirectiveNoFileComp
		}
		return first(cmd, args, typed)
	}
}

func completeItems(app *cli.App, kind dream.Kind, sort memory.SortOrder) cobra.CompletionFunc {
	return view.CompleteItems(app, memory.Query{Kinds: []dream.Kind{kind}, Sort: sort})
}

// watchFlags name a rule and what it means.
type watchFlags struct{ feed, rule, means string }

func addWatchFlags(app *cli.App, cmd *cobra.Command, w *watchFlags) {
	fs := cmd.Flags()
	fs.StringVar(&w.feed, "feed", "", "the `feed` to watch; the one that the agent follows when left out")
	fs.StringVar(&w.rule, "rule", "", "the `rule` of that feed which resolves it")
	fs.StringVar(&w.means, "means", "", "what the rule says when it fires: correct or incorrect")
	view.Completes(app, cmd, "feed", view.With(app, view.FeedNames))
	view.Completes(app, cmd, "means", view.Fixed([]string{dream.PredictionRight, dream.PredictionWrong}))
	view.Completes(app, cmd, "rule", view.With(app, view.RuleNames))
}

// watch reads the flags for an agent; nil when none was given.
func (w watchFlags) watch(a dream.Agent) (*dream.Watch, error) {
	if w == (watchFlags{}) {
		return nil, nil
	}
	if w.feed == "" {
		w.feed = a.Feed
	}
	if w.feed == "" {
		return nil,
			exit.Usagef("%s follows no feed; let it follow one with oneiros agents edit %s --feed NAME", a.Handle,
				a.Handle)
	}
	if w.rule == "" {
		return nil, exit.Usagef("--rule is missing: name the rule of feed %s that resolves it", w.feed)
	}
	if w.means != dream.PredictionRight && w.means != dream.PredictionWrong {
		return nil,
			exit.Usagef("--means is %q; it must be %s or %s: what the rule says of the prediction when it fires",
				w.means, dream.PredictionRight, dream.PredictionWrong)
	}
	return &dream.Watch{Feed: w.feed, Rule: w.rule, Means: w.means}, nil
}

// predictionError adds an exit code and advice to an error about a prediction.
func predictionError(ctx context.Context, app *cli.App, a dream.Agent, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, review.ErrNotFollowed):
		return exit.Usagef("%w; let it follow: oneiros agents edit %s --feed NAME%s", err, a.Handle, app.Option())
	case errors.Is(err, memory.ErrNotFound):
		return &exit.Error{Code: exit.NotFound, Err: err}
	case errors.Is(err, prediction.ErrResolved), errors.Is(err, review.ErrOverdue):
		return &exit.Error{Code: exit.Refused, Err: err}
	case errors.Is(err, memory.ErrStale), errors.Is(err, memory.ErrAway), ctx.Err() != nil:
		return err
	}
	return exit.AsUsage(err)
}

// toolName checks the name of a tool.
func toolName(name string) error {
	if name != "" &&
		(len(name) > cli.LongestRuleName || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "") {
		return exit.Usagef("--tool is %q; a tool's name is made of a-z, 0-9, - and _, %d at most", name,
			cli.LongestRuleName)
	}
	return nil
}

// seer is the source of a statement or prediction.
func seer(tool string) string {
	if tool == "" {
		return dream.ByPerson
	}
	return dream.ByTool + tool
}
