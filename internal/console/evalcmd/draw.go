package evalcmd

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/eval"
)

// showPlan says what will be done, what it may cost and what it could see.
func showPlan(app *cli.App, e *deploy.Evaluation) {
	p := e.Plan
	app.Say("%s: %s with entries, from %s to %s. The last %d only judge.", p.Subject,
		cli.Count(p.Days, "day"), p.From.Format(time.DateOnly), p.To.Format(time.DateOnly), p.JudgingDays)
	app.Say("Arms: %s; %s in each that dreams; %s of recall.", strings.Join(e.Arms, ", "),
		cli.Count(p.Nights, "night"), cli.Count(p.Questions, "question"))
	app.Say("Models: %s.", strings.Join(slices.Compact(slices.Sorted(maps.Values(p.Models))), ", "))
	switch spent := e.Spent(); {
	case e.Free:
		app.Say("It costs nothing.")
	case spent.Paid+spent.Open > 0:
		app.Say("It may cost up to %s, of which %s is spent already; each arm may spend %s.", e.Most,
			spent.Paid+spent.Open, p.Budget)
	default:
		app.Say("It may cost up to %s; each arm may spend %s.", e.Most, p.Budget)
	}
	app.Say("%s", detectable(e.Detectable))
	app.Say("%s", app.Dim("Plan "+p.Hash()[:16]+", seed "+fmt.Sprint(p.Seed)+"."))
	for _, a := range e.Result.Arms {
		app.Say("Done before: %s.", a.Name)
	}
}

// detectable says which differences an evaluation will see.
func detectable(s eval.Detectable) string {
	var parts []string
	if s.Lift > 0 {
		parts = append(parts, fmt.Sprintf("what is foretold coming true %.0f points more often than chance", 100*s.Lift))
	}
	if s.Lost > 0 {
		parts = append(parts, fmt.Sprintf("the loss of %s in 100", cli.Plural(int(math.Ceil(100*s.Loss)), "memory", "memories")))
	}
	if len(parts) == 0 {
		return "This is too little to see any difference: give it more days, more entries or more questions."
	}
	text := "In four of five runs it will see " + strings.Join(parts, " and ") + "."
	if s.Lift == 0 {
		text += " It is not likely to see whether what is foretold comes true: too little recurs."
	}
	return text
}

// showVerdict shows what a result means.
func showVerdict(app *cli.App, v eval.Verdict) {
	app.Say("")
	t := cli.NewTable("arm", "verdict", "came true", "decoys", "lift", "recall@10", "lost")
	t.Add(eval.Raw, "-", "-", "-", "-", found(v.Raw), "-")
	for _, a := range v.Arms {
		came, chance := "-", "-"
		if a.Outcomes > 0 {
			came, chance = fmt.Sprintf("%d of %d", a.Hits, a.Outcomes), fmt.Sprintf("%.0f %%", 100*a.Chance)
		}
		t.Add(a.Name, string(a.Word), came, chance, points(a.Lift), found(a.Recall), fmt.Sprint(a.Lost))
	}
	app.Draw(t)
	app.Say("")
	for _, a := range v.Arms {
		app.Say("%s: %s", a.Name, a.Reason)
		if a.Spent > 0 {
			app.Say("  Its dreams cost %s.", cli.Money(a.Spent))
		}
	}
}

// mostShown is how many claims are named.
const mostShown = 8

// showClaims names what whole nights had foretold and what became of it, what came true most often first.
func showClaims(app *cli.App, r eval.Result) {
	i := slices.IndexFunc(r.Arms, func(a eval.Arm) bool { return a.Name == eval.All })
	if i < 0 {
		return
	}
	decided := slices.DeleteFunc(slices.Clone(r.Arms[i].Claims), func(c eval.Claim) bool { return c.Trials == 0 })
	if len(decided) == 0 {
		return
	}
	slices.SortStableFunc(decided, func(a, b eval.Claim) int { return cmp.Compare(b.Hits, a.Hits) })
	app.Say("")
	app.Say("What whole nights had foretold, on the days that judged:")
	for _, c := range decided[:min(mostShown, len(decided))] {
		app.Say("  %s %s", c.Says, app.Dim(fmt.Sprintf("(%d of %d; decoys %d of %d; %s)", c.Hits, c.Trials, c.DecoyHits,
			c.DecoyTrials, c.Status)))
	}
	if more := len(decided) - mostShown; more > 0 {
		app.Say("  and %d more", more)
	}
}

// points is a difference of shares with its interval, in points.
func points(e *eval.Estimate) string {
	if e == nil {
		return "-"
	}
	return fmt.Sprintf("%+.0f (%+.0f,%+.0f)", 100*e.Mean, 100*e.Low, 100*e.High)
}

func found(r eval.Recall) string {
	if r.Questions == 0 {
		return "-"
	}
	return fmt.Sprintf("%d of %d", r.Found, r.Questions)
}

// progress shows how far an evaluation is.
type progress struct {
	app        *cli.App
	evaluation *deploy.Evaluation
	began      time.Time
	nights     int // dreamt in this process, in all arms
	all        int // that this process has to dream
}

func newProgress(app *cli.App, e *deploy.Evaluation) *progress {
	p := &progress{app: app, evaluation: e, began: app.Now()}
	for _, arm := range e.Arms {
		if !e.Done(arm) {
			p.all += p.weight(arm)
		}
	}
	return p
}

// weight is how long an arm takes, in nights; days without a dream take next to nothing.
func (p *progress) weight(arm string) int {
	if !eval.Dreams(arm) {
		return 0
	}
	return p.evaluation.Plan.Nights
}

// day shows that an arm has lived a day.
func (p *progress) day(s deploy.Progress) {
	if s.Night != "" {
		p.nights++
	}
	if !p.app.Terminal || p.app.Json {
		return
	}
	text := fmt.Sprintf("%s: day %d of %d", s.Arm, s.Day, s.Days)
	if p.nights > 0 {
		each := p.app.Now().Sub(p.began) / time.Duration(p.nights)
		text += fmt.Sprintf(", about %s left", (each * time.Duration(max(0, p.all-p.nights))).Round(time.Second))
	}
	fmt.Fprintf(p.app.Err, "\r\x1b[K%s", cli.Cut(text, p.app.Width-1))
}

// clear removes the line of a running arm.
func (p *progress) clear() {
	if p.app.Terminal && !p.app.Json {
		fmt.Fprint(p.app.Err, "\r\x1b[K")
	}
}

// done says what an arm came to.
func (p *progress) done(a eval.Arm) {
	if p.app.Json {
		return
	}
	passed := 0
	for _, c := range a.Claims {
		if c.Status == dream.ClaimPassed {
			passed++
		}
	}
	line := a.Name + ":"
	if len(a.Nights) > 0 {
		line += fmt.Sprintf(" %s, %s, of which %d passed;", cli.Count(len(a.Nights), "night"),
			cli.Count(len(a.Claims), "claim"), passed)
	}
	right := 0
	for _, r := range a.Answers {
		if r.Place > 0 {
			right++
		}
	}
	p.app.Say("%s found %d of %d memories", line, right, len(a.Answers))
	short := slices.DeleteFunc(slices.Clone(a.Nights), func(n eval.Night) bool { return n.Outcome == string(dream.Completed) })
	if len(short) > 0 {
		p.app.Say("  %d of %s not completed; the first, %s: %s, %s", len(short),
			cli.Plural(len(a.Nights), "night was", "nights were"), short[0].Day, short[0].Outcome, short[0].Reason)
	}
}
