package console

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

func (app *App) depth() *cobra.Command {
	cmd := &cobra.Command{Use: "depth", Short: "How deep the next onset would go, and why", GroupID: minds}
	explain := &cobra.Command{
		Use: "explain", Short: "Show the depth term by term, and what the policy has learned", Args: cobra.NoArgs,
		Long: "Explain says how deep the onset of an agent would go if it began now: what was sensed, what each term adds, whether the\npolicy is the prior or learned, from how many nights, and within which limits. The dream's own dice, drawn when it\nlies down, move the depth a little either way. Nothing is written and nothing is spent.",
	}
	app.addAgentFlag(explain)
	explain.RunE = func(cmd *cobra.Command, _ []string) error {
		h, a, err := app.agentOf(cmd)
		if err != nil {
			return err
		}
		d, err := app.depthOf(cmd, h, a)
		if err != nil {
			return err
		}
		if app.json {
			return app.answer(d)
		}
		app.showDepth(d, a)
		return nil
	}
	cmd.AddCommand(explain)
	return cmd
}

// depthText is the depth of the next onset, for --json.
type depthText struct {
	Agent  string `json:"agent"`
	Policy string `json:"policy"` // prior, learned or fixed
	activities.DepthChoice
	Terms        []hypnagogia.Term `json:"terms"`
	Parameters   []depthParameter  `json:"parameters"`
	Between      [2]dream.Stage    `json:"between"`      // the range that the dream's dice may choose from
	Chance       float64           `json:"chance"`       // how far the dice move the depth, either way
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

func (app *App) depthOf(cmd *cobra.Command, h *Deployment, a dream.Agent) (depthText, error) {
	now := app.Now()
	d := depthText{
		Agent:  a.Handle,
		Tier:   a.Tier,
		Chance: hypnagogia.Chance,
		Policy: "prior",
		knobs:  h.Knobs,
	}
	var l agentView
	if err := l.readCaps(cmd.Context(), h, a, now); err != nil {
		return d, err
	}
	if !free(h, a) || a.Vitality != nil { // bounded as a dream's spec would be
		d.Behaviour = l.Behaviour
	}
	k := hypnagogia.Bounded(h.Knobs, d.Behaviour)
	d.cycles = k.Cycles
	if a.Tier == dream.Core {
		d.cycles = 0
	}
	prior := hypnagogia.Prior(h.Knobs.Cycles)
	var err error
	d.DepthChoice, err = activities.ChooseDepth(cmd.Context(), h.Store, a.ID, now, prior, 0, d.Behaviour, d.cycles)
	if err != nil {
		return d, err
	}
	p := d.Learning.Policy
	d.Terms = p.Terms(d.Input)
	at := func(chance float64) dream.Stage { return p.Aim(d.Input, chance, d.Behaviour, d.cycles).Stage }
	d.Between = [2]dream.Stage{at(-hypnagogia.Chance), at(hypnagogia.Chance)}
	d.Temperatures = [2]float64{hypnagogia.Floor(d.Aim.Stage), hypnagogia.Ceiling(d.Aim.Stage, k)}
	d.Parameters = parametersOf(p, prior)
	switch {
	case h.Knobs.Depth != dream.DepthAdaptive:
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

func (app *App) showDepth(d depthText, a dream.Agent) {
	if d.Policy == dream.DepthFixed {
		app.say(
			"Every onset of %s goes to the peak, because dream.depth is fixed. This is what it would be if it were adaptive:",
			a.Handle)
	}
	cycles := plural(d.Aim.Cycles, "Dali cycle", "Dali cycles")
	if d.Aim.Cycles > 0 {
		cycles += fmt.Sprintf(" at heats %.1f to %.1f", d.Temperatures[0], d.Temperatures[1])
	} else if d.Tier == dream.Core {
		cycles = "none: the core tier has one induction and no Dali cycle"
	}
	bounds := "none: nothing it dreams with costs anything"
	if d.Behaviour != "" {
		bounds = fmt.Sprintf("%s: %s", d.Behaviour, onsetText(d.Behaviour, d.knobs, d.Tier))
	}
	app.fields(app.Out,
		"target",
		fmt.Sprintf("%s, depth %s; the dream's dice move it by up to %s: %s", d.Aim.Stage, score(d.Aim.Depth),
			score(d.Chance), d.between()),
		"cycles", cycles, "bounds", bounds, "surprise", d.surprise(), "regime", d.regime(), "policy", d.Learning.Why,
	)
	app.say("")
	terms := &table{
		columns: []column{
			{title: "TERM"},
			{title: "SENSED", right: true},
			{title: "WEIGHT", right: true},
			{title: "ADDS", right: true},
		},
	}
	for _, t := range d.Terms {
		terms.add(t.Name, score(t.Sensed), score(t.Weight), score(t.Adds))
	}
	terms.total = []string{"depth, from 0 to 1", "", "", score(d.Aim.Depth)}
	terms.draw(app.Out, app.Width, app.bold)
	app.say("")
	parameters := &table{
		columns: []column{
			{title: "PARAMETER"},
			{title: "VALUE", right: true},
			{title: "PRIOR", right: true},
			{title: "LEAST", right: true},
			{title: "MOST", right: true},
		},
	}
	for _, p := range d.Parameters {
		write := score
		if strings.HasPrefix(p.Name, cyclesOf) {
			write = func(v float64) string { return fmt.Sprint(int(v)) }
		}
		parameters.add(p.Name, write(p.Value), write(p.Prior), write(p.Least), write(p.Most))
	}
	parameters.draw(app.Out, app.Width, app.bold)
}

func (d depthText) between() string {
	if d.Between[0] == d.Between[1] {
		return fmt.Sprintf("%s either way", d.Between[0])
	}
	return fmt.Sprintf("%s to %s", d.Between[0], d.Between[1])
}

// surprise says what the surprise is the mean of.
func (d depthText) surprise() string {
	s := d.Input
	episodes := fmt.Sprintf("%s of the newest %s", score(s.OfEpisodes), plural(s.Episodes, "episode", "episodes"))
	residuals := fmt.Sprintf("%s, the mean residual of the newest %s", score(s.OfPredictions),
		plural(s.Predictions, "prediction", "predictions"))
	switch {
	case s.Predictions == 0 && s.Episodes == 0:
		return "nothing is known of it yet"
	case s.Weight >= 1:
		return residuals
	case s.Predictions == 0:
		return episodes + "; no prediction is resolved yet"
	}
	return fmt.Sprintf("%s: %s (weight %s), and %s", score(s.Surprise), residuals, score(s.Weight), episodes)
}

// regime says whether the level of surprise itself has changed.
func (d depthText) regime() string {
	if d.Input.Change == 0 {
		return "no change found"
	}
	of := cmp.Or(map[bool]string{true: "residuals"}[d.Input.ChangeOfPredictions >= d.Input.ChangeOfEpisodes],
		"episodes")
	return fmt.Sprintf("it has changed for the worse, by the surprise of %s; of 1 when found, %s is left", of,
		score(d.Input.Change))
}
