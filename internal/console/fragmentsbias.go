package console

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

func (app *App) fragmentsBias() *cobra.Command {
	cmd := &cobra.Command{
		Use: "bias", Short: "Say how far the observer's verdicts are corrected by what came true", Args: cobra.NoArgs,
		Long: "Every 50 outcomes of fragments the observer is looked at again: where those that came true had scored above the average its\n" +
			"composites are raised, where they had scored below they are lowered, between x 0.80 and x 1.25. Until then it is x 1.\n" +
			"Nothing is written and nothing is spent.",
	}
	app.addAgentFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		h, a, err := app.agentOf(cmd)
		if err != nil {
			return err
		}
		result, err := app.biasOf(cmd, h, a)
		switch {
		case err != nil:
			return err
		case app.json:
			return app.answer(result)
		}
		app.showBias(result)
		return nil
	}
	return cmd
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

func (app *App) biasOf(cmd *cobra.Command, h *Deployment, a dream.Agent) (biasText, error) {
	result := biasText{
		Agent: a.Handle,
		Judge: hypnagogia.Measured,
		Every: hypnagogia.BiasEvery,
		Least: hypnagogia.LeastBias,
		Most:  hypnagogia.MostBias,
	}
	model := a.Models[dream.Observer]
	if model == "" {
		model = h.Roles[dream.Observer]
	}
	if model != "" {
		spec, err := h.Catalog.Lookup(model)
		if err != nil {
			return result, err
		}
		if spec.Judges {
			result.Judge = spec.Name
		}
	}
	var err error
	result.Bias, err = activities.ObserverBias(cmd.Context(), h.Store, activities.Spec{Agent: a.ID, AsOf: app.Now()},
		result.Judge)
	if err != nil {
		return result, err
	}
	result.Markers, err = h.Store.Count(cmd.Context(), memory.Query{Agent: a.ID, Kinds: []dream.Kind{dream.KindMarker}})
	return result, err
}

func (app *App) showBias(b biasText) {
	if b.Blocks == 0 {
		app.say(
			"The bias of %s as the observer of %s is x 1: it is first looked at after %d outcomes of its fragments, and %d are known.",
			b.Judge, b.Agent, b.Every, b.Outcomes)
	} else {
		app.say("The verdicts of %s on the fragments of %s are multiplied by %s.", b.Judge, b.Agent, score(b.Factor))
		app.say("")
		app.fields(app.Out,
			"outcomes",
			fmt.Sprintf("%d, the last %d of them not looked at yet; that is done every %d", b.Outcomes,
				b.Outcomes-b.Every*b.Blocks, b.Every),
			"came true",
			fmt.Sprintf("%d of the %d looked at last; their mean composite %s, of all %s", b.Right, b.Every,
				score(b.MeanRight), score(b.Mean)),
			"asks for",
			fmt.Sprintf("x %s, within x %s and x %s; %s from what held", score(b.Requested), score(b.Least),
				score(b.Most), score(b.Drift)),
			"order",
			fmt.Sprintf("of a right and a wrong one the right one scored higher in %s of pairs (0.50 is chance)",
				score(b.Ordered)),
			"validated", fmt.Sprintf("%s of them were promoted and came true", score(b.Validated)),
		)
		for _, alarm := range b.Alarms {
			app.say("Alarm: %s.", alarm)
		}
	}
	app.say("Somatic markers: %d.", b.Markers)
}
