package dreamcmd

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/onset"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

// Depth builds the command oneiros depth.
func Depth(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "depth",
		Short:   "How deep the next onset would go, and why",
		GroupID: cli.MemoryGroup,
	}
	explain := view.ForAgent(app, &cobra.Command{
		Use: "explain", Short: "Show the depth term by term, and what the policy has learned",
		Long: "Explain says how deep the onset of an agent would go if it began now: what was sensed, what each term adds, whether the\npolicy is the prior or learned, from how many dreams, and within which limits. A random\nnumber that is drawn when the dream begins moves the depth a little either way. Nothing is written and nothing is spent.",
	}, func(ctx context.Context, a dream.Agent, _ []string) error {
		d, err := depthOf(ctx, app, a)
		if err != nil {
			return err
		}
		if app.Json {
			return app.Answer(d)
		}
		showDepth(app, d, a)
		return nil
	})
	cmd.AddCommand(explain)
	return cmd
}

// depthText is the depth of the next onset, for --json.
type depthText struct {
	Agent  string `json:"agent"`
	Policy string `json:"policy"` // prior, learned or fixed
	onset.DepthChoice
	Terms        []hypnagogia.Term `json:"terms"`
	Parameters   []depthParameter  `json:"parameters"`
	Between      [2]dream.Stage    `json:"between"`      // the range within which chance moves it
	Chance       float64           `json:"chance"`       // how far chance moves the depth, either way
	Temperatures [2]float64        `json:"temperatures"` // of the cycles, coolest and hottest
	Behaviour    dream.Behaviour   `json:"behaviour,omitempty"`
	Tier         dream.Tier        `json:"tier"`
	cycles       int
	knobs        dream.Knobs // of the deployment
}

// depthParameter is one learned number.
type depthParameter struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Prior float64 `json:"prior"`
	Least float64 `json:"least"`
	Most  float64 `json:"most"`
}

func depthOf(ctx context.Context, app *cli.App, a dream.Agent) (depthText, error) {
	now := app.Now()
	d := depthText{
		Agent:  a.Handle,
		Tier:   a.Tier,
		Chance: hypnagogia.DepthNoise,
		Policy: "prior",
		knobs:  app.Knobs,
	}
	var l view.AgentView
	if err := l.ReadCaps(ctx, app, a, now); err != nil {
		return d, err
	}
	if !view.Free(app, a) || a.Vitality != nil { // bounded as a dream's spec would be
		d.Behaviour = l.Behaviour
	}
	k := hypnagogia.Bounded(app.Knobs, d.Behaviour)
	d.cycles = k.Cycles
	if a.Tier == dream.Core {
		d.cycles = 0
	}
	prior := hypnagogia.Prior(app.Knobs.Cycles)
	var err error
	d.DepthChoice, err = onset.ChooseDepth(ctx, app.Store, a.ID, now, prior, 0, d.Behaviour, d.cycles)
	if err != nil {
		return d, err
	}
	p := d.Learning.Policy
	d.Terms = p.Terms(d.Input)
	at := func(chance float64) dream.Stage { return p.Aim(d.Input, chance, d.Behaviour, d.cycles).Stage }
	d.Between = [2]dream.Stage{at(-hypnagogia.DepthNoise), at(hypnagogia.DepthNoise)}
	d.Temperatures = [2]float64{hypnagogia.Floor(d.Aim.Stage), hypnagogia.Ceiling(d.Aim.Stage, k)}
	d.Parameters = parametersOf(p, prior)
	switch {
	case app.Knobs.Depth != dream.DepthAdaptive:
		d.Policy = dream.DepthFixed
	case d.Learning.Learned:
		d.Policy = "learned"
	}
	return d, nil
}

// cyclesOf is the prefix of the parameters that count cycles.
const cyclesOf = "cycles, "

func parametersOf(p, prior hypnagogia.Policy) []depthParameter {
	row := func(name string, value, was float64, limit hypnagogia.Limit) depthParameter {
		return depthParameter{name, value, was, limit.Least, limit.Most}
	}
	rows := []depthParameter{
		row("intercept", p.Intercept, prior.Intercept, hypnagogia.InterceptLimit),
		row("surprise", p.Surprise, prior.Surprise, hypnagogia.SurpriseLimit),
		row("change", p.Change, prior.Change, hypnagogia.ChangeLimit),
	}
	for _, stage := range []dream.Stage{dream.Shallow, dream.Transitional, dream.Peak} {
		limit := hypnagogia.Limit{Least: float64(min(1, prior.Cycles.Peak)), Most: float64(prior.Cycles.Peak)}
		rows = append(rows,
			row(cyclesOf+string(stage), float64(p.Cycles.At(stage)), float64(prior.Cycles.At(stage)), limit))
	}
	return rows
}

func showDepth(app *cli.App, d depthText, a dream.Agent) {
	if d.Policy == dream.DepthFixed {
		app.Say(
			"Every onset of %s goes to the peak, because dream.depth is fixed. This is what it would be if it were adaptive:",
			a.Handle)
	}
	cycles := cli.Plural(d.Aim.Cycles, "Dali cycle", "Dali cycles")
	if d.Aim.Cycles > 0 {
		cycles += fmt.Sprintf(" at temperatures %.1f to %.1f", d.Temperatures[0], d.Temperatures[1])
	} else if d.Tier == dream.Core {
		cycles = "none: the core tier has one induction and no Dali cycle"
	}
	bounds := "none: nothing it dreams with costs anything"
	if d.Behaviour != "" {
		bounds = fmt.Sprintf("%s: %s", d.Behaviour, view.OnsetText(d.Behaviour, d.knobs, d.Tier))
	}
	app.Fields(
		app.Out,
		"target",
		fmt.Sprintf("%s, depth %s; chance moves it by up to %s: %s", d.Aim.Stage, cli.Score(d.Aim.Depth),
			cli.Score(d.Chance), d.stageRange()),
		"cycles",
		cycles,
		"bounds",
		bounds,
		"surprise",
		d.surprise(),
		"regime",
		d.regime(),
		"policy",
		d.Learning.Why,
	)
	app.Say("")
	terms := cli.NewTable("INPUT", "MEASURED,right", "WEIGHT,right", "CONTRIBUTION,right")
	for _, t := range d.Terms {
		terms.Add(t.Name, cli.Score(t.Sensed), cli.Score(t.Weight), cli.Score(t.Adds))
	}
	terms.Total = []string{"depth, from 0 to 1", "", "", cli.Score(d.Aim.Depth)}
	app.Draw(terms)
	app.Say("")
	parameters := cli.NewTable("PARAMETER", "VALUE,right", "PRIOR,right", "LEAST,right", "MOST,right")
	for _, p := range d.Parameters {
		write := cli.Score
		if strings.HasPrefix(p.Name, cyclesOf) {
			write = func(v float64) string { return fmt.Sprint(int(v)) }
		}
		parameters.Add(p.Name, write(p.Value), write(p.Prior), write(p.Least), write(p.Most))
	}
	app.Draw(parameters)
}

func (d depthText) stageRange() string {
	if d.Between[0] == d.Between[1] {
		return fmt.Sprintf("%s either way", d.Between[0])
	}
	return fmt.Sprintf("%s to %s", d.Between[0], d.Between[1])
}

// surprise says what the surprise is the mean of.
func (d depthText) surprise() string {
	s := d.Input
	episodes := fmt.Sprintf("%s of the newest %s", cli.Score(s.OfEpisodes),
		cli.Count(s.Episodes, "episode"))
	outcomes := fmt.Sprintf("%s, the mean surprise of the newest %s", cli.Score(s.OfPredictions),
		cli.Count(s.Predictions, "prediction"))
	switch {
	case s.Predictions == 0 && s.Episodes == 0:
		return "nothing is known of it yet"
	case s.Weight >= 1:
		return outcomes
	case s.Predictions == 0:
		return episodes + "; no prediction is resolved yet"
	}
	return fmt.Sprintf("%s: %s (weight %s), and %s", cli.Score(s.Surprise), outcomes, cli.Score(s.Weight), episodes)
}

// regime says whether the level of surprise itself has changed.
func (d depthText) regime() string {
	if d.Input.Change == 0 {
		return "no change found"
	}
	of := cmp.Or(map[bool]string{true: "outcomes"}[d.Input.ChangeOfPredictions >= d.Input.ChangeOfEpisodes],
		"episodes")
	return fmt.Sprintf("it has changed for the worse, by the surprise of %s; of 1 when found, %s is left", of,
		cli.Score(d.Input.Change))
}
