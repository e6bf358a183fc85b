package dreamcmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/onset"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/starter"
)

// rehearse describes a dream without running it.
func rehearse(ctx context.Context, app *cli.App, a dream.Agent, w starter.DreamRequest) error {
	r, err := app.Planner.Rehearse(ctx, w)
	if err != nil {
		return err
	}
	if app.Json {
		return app.Answer(publicRehearsalOf(r))
	}
	app.Say("A dry run for %s: nothing is written, and no model is called.", a.Handle)
	app.Say("")
	app.Fields(app.Out, "tier", string(r.Estimate.Tier), "would gather", gatherWords(r.Gather), "depth",
		depthWords(r), "loosening", looseningText(r), "hooks", cli.OrDash(strings.Join(hooksAsked(r.Hooks), "; ")),
		"policy", cli.OrDash(strings.Join(r.Policy, "; ")), "review", reviewWords(r.Review), "stands against it",
		strings.Join(r.Against, "; "))
	app.Say("")
	if err := showEstimate(app, r.Estimate); err != nil || r.Estimate.Free {
		return err
	}
	app.Say("")
	showCaps(app, r)
	return nil
}

// publicRehearsal is a rehearsal for --json: durations are in milliseconds, and missing lists are empty.
type publicRehearsal struct {
	starter.Rehearsal
	Loosening string       `json:"loosening"`
	Why       string       `json:"loosening_why"`
	Hooks     []publicHook `json:"hooks"`
}

type publicHook struct {
	activities.HookRule
	Timeout   *int64  `json:"timeout,omitempty"` // never set; hides the field in nanoseconds
	TimeoutMS float64 `json:"timeout_ms"`
}

func publicRehearsalOf(r starter.Rehearsal) publicRehearsal {
	p := publicRehearsal{
		Rehearsal: r,
		Loosening: string(r.Loosening.Way),
		Why:       r.Loosening.Why,
		Hooks:     make([]publicHook, len(r.Hooks)),
	}
	p.Policy, p.Against, p.Caps = cli.OrEmpty(r.Policy), cli.OrEmpty(r.Against), cli.OrEmpty(r.Caps)
	for i, rule := range r.Hooks {
		p.Hooks[i] = publicHook{HookRule: rule, TimeoutMS: cli.Millis(rule.Timeout)}
	}
	return p
}

// gatherWords counts the material for the onset.
func gatherWords(g onset.Gathering) string {
	text := fmt.Sprintf("%s and %s of knowledge about to fade, in %s, of which %d fit the window; mood %s",
		cli.Count(g.Episodes, "episode"), cli.Plural(g.Knowledge, "entry", "entries"),
		cli.Count(g.Pieces, "piece"), g.Shown, g.Bias)
	if g.WithoutVector > 0 {
		text += fmt.Sprintf("; %s would be placed by the embedder first", cli.Plural(g.WithoutVector, "memory", "memories"))
	}
	return text
}

// depthWords says how deep the dream would go, and why.
func depthWords(r starter.Rehearsal) string {
	if r.Skipped != "" {
		return "no onset: " + r.Skipped
	}
	if r.Estimate.Tier == dream.Core {
		return "one induction call, no Dali cycles"
	}
	if r.Depth == nil {
		return "to the peak, as dream.depth says"
	}
	aim, policy := r.Depth.Aim, "the prior"
	if aim.Learned {
		policy = "a policy learned from " + cli.Count(aim.Outcomes, "dream")
	}
	return fmt.Sprintf("to %s, %s, by %s; surprise %s, change of regime %s",
		strings.ReplaceAll(string(aim.Stage), "_", " "), cli.Plural(aim.Cycles, "Dali cycle", "Dali cycles"), policy,
		cli.Score(aim.Surprise), cli.Score(aim.Change))
}

// looseningText says how the generator would be loosened, and why.
func looseningText(r starter.Rehearsal) string {
	if r.Loosening.Way == "" {
		return ""
	}
	return string(r.Loosening.Way) + ": " + r.Loosening.Why
}

// hooksAsked lists each hook, where it is called and what its silence means.
func hooksAsked(rules []activities.HookRule) []string {
	texts := make([]string, len(rules))
	for i, r := range rules {
		texts[i] = fmt.Sprintf("%s at %s, its silence after %s is %s", r.Name, cli.Listed(r.At), r.Timeout, r.Silent)
	}
	return texts
}

func reviewWords(r dream.Review) string {
	switch r {
	case dream.ReviewAsk:
		return "review: nothing of it counts until a person accepts it"
	case dream.JournalOnly:
		return "journal-only: it writes its journal and its record, and nothing else"
	case dream.ReviewAuto:
	}
	return "auto: what it makes counts at once"
}

// showCaps compares what the dream may cost with every cap that applies.
func showCaps(app *cli.App, r starter.Rehearsal) {
	t := cli.NewTable("CAP,flex,least=12", "LIMIT,right", "LEFT,right", "EXPECTED LEAVES,right,drop=1",
		"WORST LEAVES,right")
	for _, c := range r.Caps {
		t.Add(c.Scope, limitText(c.Limit), limitText(c.Left), leftAfter(c, r.Estimate.Expected),
			leftAfter(c, r.Estimate.Worst))
	}
	app.Draw(t)
}

func limitText(m budget.Micros) string {
	if m == budget.Unlimited {
		return "none"
	}
	return cli.Money(m)
}

func leftAfter(c starter.CapLeft, cost budget.Micros) string {
	if c.Left == budget.Unlimited {
		return "none"
	}
	if cost >= c.Left && cost > 0 {
		return "nothing"
	}
	return cli.Money(c.Left - cost)
}
