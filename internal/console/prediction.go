package console

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/prediction"
)

func (app *App) predictions() *cobra.Command {
	cmd := &cobra.Command{
		Use: "predictions", Short: "Predictions, and what came true", GroupID: minds,
		Long: `Everything a dream makes is a prediction too: a claim with a confidence, what would show it true, and by when.
Persons and tools may foretell as well. Reality resolves them all alike: a person or a tool says what came of one
(resolve), a rule over the agent's feed does (watch), or its time runs out. No dream resolves anything.`,
	}
	cmd.AddCommand(
		app.predictionList(), app.show(dream.KindPrediction, "Show one prediction whole"), app.predictionResolve(),
		app.predictionWatch(),
		app.predictionAdd(), app.predictionScore(),
	)
	for _, sub := range cmd.Commands() {
		if sub.Name() == "show" {
			sub.ValidArgsFunction = app.completePredictions()
		}
	}
	return cmd
}

func (app *App) predictionList() *cobra.Command {
	return app.list("list", listing{
		kind: dream.KindPrediction, short: "List predictions, the soonest due first", sort: memory.SoonestDue,
		nothing: "%s has foretold nothing yet.",
		columns: []column{
			idColumn(),
			{title: "DUE"},
			{title: "STATUS"},
			{title: "CONFIDENCE", right: true, drop: 1},
			{title: "PHASE", drop: 2},
			{title: "RESIDUAL", right: true, drop: 3},
			{title: "SOURCE", drop: 4},
			{title: "WATCHES", drop: 5},
			{title: "CLAIM", flex: true},
		},
		row: func(item dream.Item, a dream.Agent) []string {
			p := item.(*dream.Prediction)
			watches := "-"
			if p.Watch != nil {
				watches = p.Watch.Feed + "/" + p.Watch.Rule
			}
			return []string{
				short(p.ID, a), day(p.Horizon, a.Zone), p.Status, score(p.Confidence), orDash(string(p.Phase)),
				residual(p), p.Source, watches, p.Claim,
			}
		},
	})
}

func residual(p *dream.Prediction) string {
	if p.Residual == nil {
		return "-"
	}
	return signed(*p.Residual)
}

// reckoning compares predictions with what happened.
func (app *App) reckoning(h *Deployment) activities.Resolver {
	return activities.Resolver{Memory: h.Store, Feeds: h.Feeds, Now: app.Now}
}

// predictionOf finds a prediction by its id, or by a part of it.
func (app *App) predictionOf(cmd *cobra.Command, id string) (*Deployment, dream.Agent, *dream.Prediction, error) {
	h, a, item, err := app.itemOf(cmd, id, dream.KindPrediction)
	if err != nil {
		return h, a, nil, err
	}
	p, ok := item.(*dream.Prediction)
	if !ok {
		return h, a, nil, exit(NotFound, "%q is no prediction; oneiros predictions list names them", id)
	}
	return h, a, p, nil
}

// completePredictions completes predictions of some statuses, or of all, those due soonest first; then the words that
// may follow.
func (app *App) completePredictions(then ...string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 1 {
			return then, cobra.ShellCompDirectiveNoFileComp
		}
		if len(args) > 1 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		cmd.SetContext(existing(cmd))
		var ids []string
		err := app.each(cmd, func(h *Deployment, a dream.Agent) error {
			found, err := h.Store.Find(cmd.Context(),
				memory.Query{
					Agent: a.ID, Kinds: []dream.Kind{dream.KindPrediction}, Sort: memory.SoonestDue,
					Limit: dreamsOffered,
				})
			for _, item := range found {
				ids = append(ids, item.Header().ID)
			}
			return err
		})
		if err != nil { // no completion when the store cannot be read
			ids = nil
		}
		return ids, cobra.ShellCompDirectiveNoFileComp
	}
}

// watchFlags name a rule and what it means.
type watchFlags struct{ feed, rule, means string }

func (app *App) addWatchFlags(cmd *cobra.Command, w *watchFlags) {
	fs := cmd.Flags()
	fs.StringVar(&w.feed, "feed", "", "the `feed` to watch; the one that the agent follows when left out")
	fs.StringVar(&w.rule, "rule", "", "the `rule` of that feed which resolves it")
	fs.StringVar(&w.means, "means", "", "what the rule says when it fires: correct or incorrect")
	app.completes(cmd, "feed", app.feedNames)
	app.completes(cmd, "means", fixed([]string{dream.PredictionRight, dream.PredictionWrong}))
	app.completes(cmd, "rule", app.ruleNames)
}

// ruleNames completes the rules of the named feed, or of all feeds.
func (app *App) ruleNames(cmd *cobra.Command) []string {
	cmd.SetContext(existing(cmd))
	h, err := app.within(cmd.Context())
	if err != nil {
		return nil
	}
	feeds, err := h.Feeds.Feeds(cmd.Context())
	if err != nil {
		return nil
	}
	of, _ := cmd.Flags().GetString("feed")
	var names []string
	for _, f := range feeds {
		for _, r := range f.Rules {
			if (of == "" || of == f.Name) && !oneOf(r.Name, names) {
				names = append(names, r.Name)
			}
		}
	}
	return names
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
			exit(Usage, "%s follows no feed; let it follow one with oneiros agents edit %s --feed NAME", a.Handle,
				a.Handle)
	}
	if w.rule == "" {
		return nil, exit(Usage, "--rule is missing: name the rule of feed %s that resolves it", w.feed)
	}
	if w.means != dream.PredictionRight && w.means != dream.PredictionWrong {
		return nil,
			exit(Usage, "--means is %q; it must be %s or %s: what the rule says of the prediction when it fires",
				w.means, dream.PredictionRight, dream.PredictionWrong)
	}
	return &dream.Watch{Feed: w.feed, Rule: w.rule, Means: w.means}, nil
}

// predictionError adds an exit code and advice to an error about a prediction.
func predictionError(ctx context.Context, h *Deployment, a dream.Agent, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, activities.ErrNotFollowed):
		return exit(Usage, "%w; let it follow: oneiros agents edit %s --feed NAME%s", err, a.Handle, h.option())
	case errors.Is(err, memory.ErrNotFound):
		return &Exit{Code: NotFound, Err: err}
	case errors.Is(err, prediction.ErrResolved), errors.Is(err, activities.ErrOverdue):
		return &Exit{Code: Refused, Err: err}
	case errors.Is(err, memory.ErrStale), errors.Is(err, memory.ErrAway), ctx.Err() != nil:
		return err
	}
	return usage(err)
}

// toolName checks the name of a tool.
func toolName(name string) error {
	if name != "" &&
		(len(name) > longestRuleName || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "") {
		return exit(Usage, "--tool is %q; a tool's name is made of a-z, 0-9, - and _, %d at most", name,
			longestRuleName)
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
