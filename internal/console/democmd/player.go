package democmd

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/claims"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/morning"
	"github.com/seed-56a03226/oneiros/internal/review"
)

// player plays a life and draws it.
type player struct {
	app       *cli.App
	chronicle *deploy.Chronicle
	nights    int // days that end with a dream; the others only judge
	last      snapshot
	before    snapshot // when the days that only judge began
	result    result
}

// day is what one day and its night brought.
type day struct {
	Day      string        `json:"day"`
	Entries  int           `json:"entries"`
	CameTrue score         `json:"came_true"` // outcomes of claims on this day
	Decoys   score         `json:"decoys"`    // those of their decoys
	Passed   []string      `json:"passed,omitempty"`
	Retired  []string      `json:"retired,omitempty"`
	Foretold []string      `json:"foretold,omitempty"` // claims that were made for the first time
	Dream    string        `json:"dream,omitempty"`    // empty on a day that only judges
	Outcome  string        `json:"outcome,omitempty"`
	Recall   *dream.Recall `json:"recall,omitempty"` // the probe before and after the dream
	Took     float64       `json:"seconds"`
}

// judgement is what the days without dreams say about what was learned before them.
type judgement struct {
	Days         int   `json:"days"`
	Passed       score `json:"passed"`        // claims that had passed before
	PassedDecoys score `json:"passed_decoys"` // and their decoys
	Tried        score `json:"tried"`         // claims that had not passed
	TriedDecoys  score `json:"tried_decoys"`
}

func (p *player) play(ctx context.Context, question string) error {
	began := p.app.Now()
	p.result = result{Chronicle: p.chronicle.Name, Agent: p.chronicle.Agent.Handle}
	p.say(
		"%s: %s of a diary, one line each. %d nights are dreamt, and each knows only the days before it. "+
			"The last %d days only judge.",
		p.chronicle.Name, cli.Count(len(p.chronicle.Days), "day"), p.nights, len(p.chronicle.Days)-p.nights)
	p.say("CAME TRUE: outcomes of what was foretold. DECOYS: the same foretold of other things. " +
		"RECALL: questions about its own memories that find them after the night. FORETOLD ANEW: a + b, where a is " +
		"named b is too; a > b (12h), b is named within 12 hours after a. All of this is about words: a day that says " +
		"that the fuse did not blow names the fuse.")
	p.head()
	for i := range p.chronicle.Days {
		if i == p.nights {
			p.before = p.last
			p.say("From here on no dream: these days only judge.")
		}
		d, err := p.liveDay(ctx, i)
		if err != nil {
			return err
		}
		p.result.Days = append(p.result.Days, d)
		p.row(i, d)
	}
	p.judge()
	if err := p.knows(ctx); err != nil {
		return err
	}
	if err := p.ask(ctx, question); err != nil {
		return err
	}
	p.result.Seconds = p.app.Now().Sub(began).Seconds()
	if p.app.Json {
		return p.app.Answer(p.result)
	}
	p.end()
	return nil
}

// end says how long it took and what to look at next, with commands that run as they stand.
func (p *player) end() {
	p.say("")
	p.say("%s in %.0f s. To look closer:", cli.Count(p.nights, "night"), p.result.Seconds)
	for _, command := range []string{
		"claims list -a " + p.chronicle.Agent.Handle,
		"morning -a " + p.chronicle.Agent.Handle + " --since " + p.chronicle.Days[0].Format(time.DateOnly),
	} {
		fmt.Fprintf(p.app.Out, "  %s %s%s\n", cli.Program(), command, p.chronicle.Option())
	}
	p.say("docs/demo.md says what dice had put into the lives that ship, and what was not found.")
}

// liveDay lives a day, compares what was foretold with it, and dreams its night unless the day only judges.
func (p *player) liveDay(ctx context.Context, i int) (day, error) {
	began := p.app.Now()
	a := p.chronicle.Agent
	d := day{Day: p.chronicle.Days[i].Format(time.DateOnly)}
	var err error
	d.Entries, err = p.chronicle.Live(ctx, a, i)
	if err != nil {
		return d, err
	}
	for _, other := range p.others(i) {
		if _, err := p.chronicle.Live(ctx, other, i); err != nil {
			return d, err
		}
	}
	found, err := p.chronicle.LookUp(ctx, a)
	if err != nil {
		return d, fmt.Errorf("compare %s with what was foretold: %w", d.Day, err)
	}
	for _, c := range found.Claims {
		switch c.Status {
		case dream.ClaimPassed:
			d.Passed = append(d.Passed, c.Says)
		case dream.ClaimRetired:
			d.Retired = append(d.Retired, c.Says)
		}
	}
	if i < p.nights {
		if err := p.dreamNight(ctx, i, &d); err != nil {
			return d, err
		}
		if _, err := p.chronicle.LookUp(ctx, a); err != nil { // the new predictions become claims, with their decoys
			return d, err
		}
	}
	now, err := review.Claims(ctx, p.chronicle.Store, a.ID)
	if err != nil {
		return d, err
	}
	d.count(p.last, now)
	p.last = now
	d.Took = p.app.Now().Sub(began).Seconds()
	return d, nil
}

// others are the agents that live a day beside the one that dreams.
func (p *player) others(day int) []dream.Agent {
	if day == 0 {
		return []dream.Agent{p.chronicle.Sleepless, p.chronicle.Novice}
	}
	return []dream.Agent{p.chronicle.Sleepless}
}

// dreamNight dreams the night of a day. In the first night the novice, who will live no other day, dreams too.
func (p *player) dreamNight(ctx context.Context, i int, d *day) error {
	if i == 0 {
		if _, err := p.chronicle.Dream(ctx, p.chronicle.Novice, i); err != nil {
			return err
		}
	}
	record, err := p.chronicle.Dream(ctx, p.chronicle.Agent, i)
	if err != nil {
		return err
	}
	d.Dream, d.Outcome, d.Recall = record.ID, string(record.Outcome), record.Recall
	if record.Outcome == dream.Aborted || record.Outcome == dream.Canceled {
		return exit.Errorf(exit.Unfinished, "the dream of %s ended as %s: %s", d.Day, record.Outcome, record.Reason)
	}
	return nil
}

// count fills in what the claims brought between two snapshots.
func (d *day) count(before, now snapshot) {
	earlier, earlierDecoys := before.outcomes(nil)
	d.CameTrue, d.Decoys = now.outcomes(nil)
	d.CameTrue, d.Decoys = d.CameTrue.minus(earlier), d.Decoys.minus(earlierDecoys)
	for _, c := range now.newIn(before) {
		d.Foretold = append(d.Foretold, short(c))
	}
}

// judge compares what was known and what was tried before the last days with what these brought.
func (p *player) judge() {
	j := judgement{Days: len(p.chronicle.Days) - p.nights}
	since := func(ids map[string]bool) (score, score) {
		then, thenDecoys := p.before.outcomes(ids)
		now, nowDecoys := p.last.outcomes(ids)
		return now.minus(then), nowDecoys.minus(thenDecoys)
	}
	j.Passed, j.PassedDecoys = since(p.before.with(dream.ClaimPassed))
	j.Tried, j.TriedDecoys = since(p.before.with(dream.ClaimTried))
	p.result.Judged = j
	p.say("")
	p.say("In the last %d days, which no dream knew of:", j.Days)
	p.say("  what had passed came true %s; the same of other things (decoys): %s", j.Passed.percent(),
		j.PassedDecoys.percent())
	p.say("  what was still tried came true %s; its decoys: %s", j.Tried.percent(), j.TriedDecoys.percent())
}

// knows shows what the agent knows at the end, with the day on which it was last seen.
func (p *player) knows(ctx context.Context) error {
	last := len(p.chronicle.Days) - 1
	r, err := review.Morning(ctx, p.chronicle.Store, p.chronicle.Agent, p.chronicle.Days[0], p.chronicle.Evening(last))
	if err != nil {
		return err
	}
	slices.SortStableFunc(r.Learned, func(a, b morning.Finding) int {
		return cmp.Compare(p.last.wealth(b.ID), p.last.wealth(a.ID))
	})
	for _, f := range r.Learned {
		p.result.Knows = append(p.result.Knows, lesson{Claim: f.ID, Says: f.Says, Held: f.Because})
	}
	p.say("")
	if len(r.Learned)+len(r.Stopped) == 0 {
		p.say("%s", p.nothingPassed(r))
	}
	var often, seldom []morning.Finding
	for _, f := range r.Learned {
		if c := p.last.claim(f.ID); c != nil && 2*c.Hits < c.Trials() {
			seldom = append(seldom, f)
		} else {
			often = append(often, f)
		}
	}
	p.findings(fmt.Sprintf("What %s knows now and did not on the first evening, the surest first:",
		p.chronicle.Agent.Handle), often)
	p.findings("More often than chance, but true less than every second time:", seldom)
	p.findings("Believed for a while, and no longer:", r.Stopped)
	p.failed()
	return nil
}

// findings shows findings, how often each held, in all and in the days that only judge, and a day that shows it.
func (p *player) findings(title string, list []morning.Finding) {
	if len(list) == 0 {
		return
	}
	p.say("%s", title)
	for _, f := range list {
		p.say("  %s", f.Says)
		p.hang(f.Because + p.since(f.ID))
		if len(f.Sighted) > 0 {
			s := f.Sighted[0]
			p.hang(fmt.Sprintf("%s  “%s”", s.At.Format("2 Jan"), s.Says))
		}
	}
}

// since is how often a claim held in the days that only judge; empty for what is no claim.
func (p *player) since(id string) string {
	now := p.last.claim(id)
	if now == nil {
		return ""
	}
	held := score{now.Hits, now.Trials()}
	if then := p.before.claim(id); then != nil {
		held = held.minus(score{then.Hits, then.Trials()})
		if then.Status == dream.ClaimTried && now.Status == dream.ClaimPassed {
			return fmt.Sprintf("; in the last %d days, in which it passed: %s", p.result.Judged.Days, held)
		}
	}
	return fmt.Sprintf("; in the last %d days: %s", p.result.Judged.Days, held)
}

// failed names guesses that were given up.
func (p *player) failed() {
	var dropped []string
	for _, c := range p.last {
		if c.Status == dream.ClaimDropped || c.Status == dream.ClaimLapsed {
			dropped = append(dropped, fmt.Sprintf("%s (%s)", short(c), score{c.Hits, c.Trials()}))
		}
	}
	p.result.GivenUp = dropped
	if len(dropped) == 0 {
		return
	}
	p.say("Guesses that were given up: %s.", strings.Join(dropped, ", "))
}

// nothingPassed says that nothing was learned, and what was nearest to it.
func (p *player) nothingPassed(r morning.Report) string {
	text := fmt.Sprintf(
		"Nothing passed the gate in these weeks: %s foretold, and none came true often enough to be no chance",
		cli.Plural(len(p.last), "claim was", "claims were"))
	if r.Nearest != nil {
		text += fmt.Sprintf(". The nearest: %s (%s; a wealth of %d is needed)", r.Nearest.Says, r.Nearest.Because,
			claims.Alone)
	}
	return text + "."
}

// ask asks the agents the same question.
func (p *player) ask(ctx context.Context, question string) error {
	if question == "" {
		question = askAbout(p.last)
	}
	if question == "" {
		p.say("No question is left to ask about what was learned; --ask puts one of yours.")
		return nil
	}
	p.result.Question = question
	p.say("")
	p.title("Question: " + question)
	for _, one := range []struct {
		agent dream.Agent
		title string
	}{
		{p.chronicle.Agent, fmt.Sprintf("after %s and %s", cli.Count(len(p.chronicle.Days), "day"),
			cli.Count(p.nights, "night"))},
		{p.chronicle.Sleepless, "the same days, and no night"},
		{p.chronicle.Novice, "the first day and night alone"},
	} {
		answer, err := p.chronicle.Ask(ctx, one.agent, question)
		if err != nil {
			return err
		}
		p.result.Answers = append(p.result.Answers, response{
			Agent: one.agent.Handle, Answer: answer.Text, Background: answer.Background,
		})
		p.say("  %s: %s", one.title, cli.Flat(answer.Text))
		p.background(answer)
	}
	return nil
}

// background shows what stood before the model, a line for each memory, without the frame around them.
func (p *player) background(answer deploy.Answer) {
	memories := quotedIn(answer.Background)
	if len(memories) == 0 {
		p.hang("it was reminded of nothing")
		return
	}
	p.hang("it was reminded of:")
	for _, m := range memories {
		p.hang("| " + m)
	}
}

// quotedIn are the memories of a background, each with its origin and its words on one line.
func quotedIn(background string) []string {
	var all []string
	for line := range strings.Lines(background) {
		line = strings.TrimSpace(line)
		words, quoted := strings.CutPrefix(line, ">")
		switch {
		case quoted && len(all) > 0:
			all[len(all)-1] += " " + strings.TrimSpace(words)
		case strings.HasPrefix(line, "("):
			all = append(all, line)
		}
	}
	return all
}
