package dreamcmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/onset"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

func fragmentsBias(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "bias", Short: "Say how far the observer's verdicts are corrected by what came true",
		Long: "Every 50 outcomes of fragments the observer is looked at again: where those that came true had scored above the average its\n" +
			"composites are raised, where they had scored below they are lowered, between x 0.80 and x 1.25. Until then it is x 1.\n" +
			"Nothing is written and nothing is spent.",
	}
	return view.ForAgent(app, cmd, func(ctx context.Context, a dream.Agent, _ []string) error {
		result, err := biasOf(app, cmd, a)
		switch {
		case err != nil:
			return err
		case app.Json:
			return app.Answer(result)
		}
		showBias(app, result)
		return nil
	})
}

// biasText is the observer's bias, for --json.
type biasText struct {
	Agent string `json:"agent"`
	Judge string `json:"judge"`
	hypnagogia.Bias
	Every   int     `json:"every"`
	Least   float64 `json:"least"`
	Most    float64 `json:"most"`
	Markers int     `json:"markers"` // somatic markers that it may consult
}

func biasOf(app *cli.App, cmd *cobra.Command, a dream.Agent) (biasText, error) {
	result := biasText{
		Agent: a.Handle,
		Judge: hypnagogia.Measured,
		Every: hypnagogia.BiasEvery,
		Least: hypnagogia.LeastBias,
		Most:  hypnagogia.MostBias,
	}
	if model := view.ModelOf(app, a, dream.Observer); model != "" {
		spec, err := app.Catalog.Lookup(model)
		if err != nil {
			return result, err
		}
		if spec.Judges {
			result.Judge = spec.Name
		}
	}
	var err error
	result.Bias, err = onset.ObserverBias(
		cmd.Context(),
		app.Store,
		activities.Spec{Agent: a.ID, AsOf: app.Now()},
		result.Judge,
	)
	if err != nil {
		return result, err
	}
	result.Markers, err = app.Store.Count(
		cmd.Context(),
		memory.Query{Agent: a.ID, Kinds: []dream.Kind{dream.KindMarker}},
	)
	return result, err
}

func showBias(app *cli.App, b biasText) {
	if b.Blocks == 0 {
		app.Say(
			"The bias of %s as the observer of %s is x 1: it is first looked at after %d outcomes of its fragments, and %d are known.",
			b.Judge,
			b.Agent,
			b.Every,
			b.Outcomes,
		)
	} else {
		app.Say("The verdicts of %s on the fragments of %s are multiplied by %s.", b.Judge, b.Agent,
			cli.Score(b.Factor))
		app.Say("")
		app.Fields(app.Out,
			"outcomes",
			fmt.Sprintf("%d, the last %d of them not looked at yet; that is done every %d", b.Outcomes,
				b.Outcomes-b.Every*b.Blocks, b.Every),
			"came true",
			fmt.Sprintf("%d of the %d looked at last; their mean composite %s, of all %s", b.Right, b.Every,
				cli.Score(b.MeanRight), cli.Score(b.Mean)),
			"asks for",
			fmt.Sprintf("x %s, within x %s and x %s; %s from what held", cli.Score(b.Requested), cli.Score(b.Least),
				cli.Score(b.Most), cli.Score(b.Drift)),
			"order",
			fmt.Sprintf("of a right and a wrong one the right one scored higher in %s of pairs (0.50 is chance)",
				cli.Score(b.Ordered)),
			"validated", fmt.Sprintf("%s of them were promoted and came true", cli.Score(b.Validated)),
		)
		for _, alarm := range b.Alarms {
			app.Say("Alarm: %s.", alarm)
		}
	}
	app.Say("Somatic markers: %d.", b.Markers)
}
