package console

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/dream"
)

// Rehearsal describes a dream without running it: what it would gather, how deep it would go, which hooks it would
// call and what it would cost.
type Rehearsal struct {
	Estimate  Estimate                `json:"estimate"`
	Seed      uint64                  `json:"seed"` // as requested, or drawn for this description alone
	Gather    activities.Gathering    `json:"gather"`
	Depth     *activities.DepthChoice `json:"depth,omitempty"` // absent: always to the deepest stage
	Skipped   string                  `json:"onset_skipped,omitempty"`
	Loosening string                  `json:"loosening"`
	Why       string                  `json:"loosening_why"`
	Hooks     []activities.HookRule   `json:"hooks"`
	Policy    []string                `json:"policy"`
	Review    dream.Review            `json:"review"`
	Caps      []Cap                   `json:"caps"`
	Against   []string                `json:"against"` // what would prevent it now, as far as the store knows
}

// Cap is one cap on a dream and what is left under it.
type Cap struct {
	Scope string        `json:"scope"`
	Limit budget.Micros `json:"limit_micros"`
	Left  budget.Micros `json:"left_micros"`
}

// rehearse describes a dream without running it.
func (app *App) rehearse(ctx context.Context, h *Deployment, a dream.Agent, w DreamRequest) error {
	r, err := app.Dream.Rehearse(ctx, h, w)
	if err != nil {
		return err
	}
	if app.json {
		return app.answer(r.public())
	}
	app.say("A dry run for %s: nothing is written, and no model is asked.", a.Handle)
	app.say("")
	app.fields(app.Out,
		"tier", string(r.Estimate.Tier), "would gather", gatherWords(r.Gather), "depth", r.depth(), "loosening",
		r.loosening(),
		"hooks", orDash(strings.Join(hooksAsked(r.Hooks), "; ")), "policy", orDash(strings.Join(r.Policy, "; ")),
		"review", reviewWords(r.Review),
		"stands against it", strings.Join(r.Against, "; "),
	)
	app.say("")
	if err := app.showEstimate(r.Estimate); err != nil || r.Estimate.Free {
		return err
	}
	app.say("")
	app.showCaps(r)
	return nil
}

// publicRehearsal is a rehearsal for --json: durations are in milliseconds, and missing lists are empty.
type publicRehearsal struct {
	Rehearsal
	Hooks []publicHook `json:"hooks"`
}

type publicHook struct {
	activities.HookRule
	Timeout   *int64  `json:"timeout,omitempty"` // never set; hides the field in nanoseconds
	TimeoutMS float64 `json:"timeout_ms"`
}

func (r Rehearsal) public() publicRehearsal {
	p := publicRehearsal{Rehearsal: r, Hooks: make([]publicHook, len(r.Hooks))}
	p.Policy, p.Against = orEmpty(r.Policy), orEmpty(r.Against)
	for i, rule := range r.Hooks {
		p.Hooks[i] = publicHook{HookRule: rule, TimeoutMS: millis(rule.Timeout)}
	}
	return p
}

// gatherWords counts the material for the onset.
func gatherWords(g activities.Gathering) string {
	text := fmt.Sprintf("%s and %s of knowledge about to fade, in %s, of which %d fit the window; mood %s",
		plural(g.Episodes, "episode", "episodes"), plural(g.Knowledge, "entry", "entries"),
		plural(g.Pieces, "piece", "pieces"), g.Shown, g.Bias)
	if g.Bare > 0 {
		text += fmt.Sprintf("; %s would be placed by the embedder first", plural(g.Bare, "memory", "memories"))
	}
	return text
}

func (r Rehearsal) depth() string {
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
		policy = "a policy learned from " + plural(aim.Outcomes, "night", "nights")
	}
	return fmt.Sprintf("to %s, %s, by %s; surprise %s, change of regime %s",
		strings.ReplaceAll(string(aim.Stage), "_", " "), plural(aim.Cycles, "Dali cycle", "Dali cycles"), policy,
		score(aim.Surprise), score(aim.Change))
}

func (r Rehearsal) loosening() string {
	if r.Loosening == "" {
		return ""
	}
	return r.Loosening + ": " + r.Why
}

// hooksAsked lists each hook, where it is called and what its silence means.
func hooksAsked(rules []activities.HookRule) []string {
	texts := make([]string, len(rules))
	for i, r := range rules {
		at := make([]string, len(r.At))
		for j, border := range r.At {
			at[j] = string(border)
		}
		texts[i] = fmt.Sprintf("%s at %s, its silence after %s is %s", r.Name, strings.Join(at, ", "), r.Timeout,
			r.Silent)
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
func (app *App) showCaps(r Rehearsal) {
	t := &table{columns: []column{
		{title: "CAP", flex: true, least: 12},
		{title: "LIMIT", right: true},
		{title: "LEFT", right: true},
		{title: "EXPECTED LEAVES", right: true, drop: 1},
		{title: "WORST LEAVES", right: true},
	}}
	for _, c := range r.Caps {
		t.add(c.Scope, limitText(c.Limit), limitText(c.Left), leaves(c, r.Estimate.Expected),
			leaves(c, r.Estimate.Worst))
	}
	t.draw(app.Out, app.Width, app.bold)
}

func limitText(m budget.Micros) string {
	if m == budget.Unlimited {
		return "none"
	}
	return money(m)
}

func leaves(c Cap, cost budget.Micros) string {
	if c.Left == budget.Unlimited {
		return "none"
	}
	if cost >= c.Left && cost > 0 {
		return "nothing"
	}
	return money(c.Left - cost)
}
