package view

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/internal/hermes/api"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

// passingWealth is the wealth from which on a claim may pass.
const passingWealth = 25

// claimGroup is a group of claims.
type claimGroup struct {
	title    string
	statuses []string
	mark     string
	ink      screen.Ink
}

// claimGroups are the groups in the order in which they are shown.
var claimGroups = []claimGroup{
	{"In the playbook: it beat chance", []string{"passed"}, "+", screen.Green},
	{"Still tried", []string{"tried"}, "?", screen.Blue},
	{"No longer believed", []string{"retired", "lapsed"}, "-", screen.Amber},
	{"Given up: it held no more often than chance", []string{"dropped"}, "-", screen.Faint},
}

// Claims shows what keeps coming true, by its standing.
func Claims(claims []api.Claim, s Sheet) []string {
	d := draw(s)
	if len(claims) == 0 {
		return d.nothing("Nothing is claimed yet. Dreams foretell, and what they foretell is tried; begin one with /dream now.")
	}
	for _, g := range claimGroups {
		titled := false
		for _, c := range claims {
			if !slices.Contains(g.statuses, c.Status) {
				continue
			}
			if !titled {
				d.heading(g.title)
				titled = true
			}
			d.item(g.mark, g.ink, c.Says)
			d.note(standingOf(c, d) + " · " + c.ID)
		}
	}
	titled := false
	for _, c := range claims {
		if slices.ContainsFunc(claimGroups, func(g claimGroup) bool { return slices.Contains(g.statuses, c.Status) }) {
			continue
		}
		if !titled { // a newer server has further statuses
			d.heading("Of another status")
			titled = true
		}
		d.item("·", screen.Unpainted, c.Says)
		d.note(c.Status + " · " + standingOf(c, d) + " · " + c.ID)
	}
	return d.lines
}

// standingOf says how often a claim held since when, by chance, and what became of it.
func standingOf(c api.Claim, d *drawing) string {
	trials := c.Hits + c.Misses
	if trials == 0 {
		return "nothing has decided it" + sinceText(c.From, d)
	}
	text := fmt.Sprintf("held %d of %s%s", c.Hits, screen.Count(trials, "time"), sinceText(c.From, d))
	if c.Chance < 1 && c.Chance > 0 {
		text += ", by chance at most " + screen.Score(c.Chance)
	}
	text += " · wealth " + wealth(c.Wealth)
	switch {
	case c.Status == "passed" && !c.Passed.IsZero():
		text += " · passed " + d.when(c.Passed)
	case c.Status == "tried":
		text += fmt.Sprintf(" of %d", passingWealth)
	case !c.Ended.IsZero():
		text += " · " + c.Status + " " + d.when(c.Ended)
	}
	if c.Reason != "" {
		text += ": " + c.Reason
	}
	return text
}

// sinceText is a month where that is exact enough: "since March", "since March 2025"; a day within the last month.
func sinceText(from time.Time, d *drawing) string {
	if from.IsZero() {
		return ""
	}
	now := d.sheet.Now
	switch {
	case now.IsZero():
		return " since " + d.st.Time(from, "2 January 2006")
	case now.Sub(from) < 31*24*time.Hour:
		return " since " + d.st.Time(from, "2 January")
	case d.st.Time(from, "2006") == d.st.Time(now, "2006"):
		return " since " + d.st.Time(from, "January")
	}
	return " since " + d.st.Time(from, "January 2006")
}

func decoysOf(n int) string {
	if n == 1 {
		return "1 decoy"
	}
	return fmt.Sprintf("%d decoys", n)
}

func wealth(w float64) string {
	switch {
	case w >= 1e6:
		return "over a million"
	case w < 1:
		return strconv.FormatFloat(w, 'f', 2, 64)
	}
	return strconv.FormatFloat(w, 'f', 1, 64)
}

// ClaimExplanation shows why a claim passed or did not, with the wealth after each outcome.
func ClaimExplanation(e api.ClaimExplanation, s Sheet) []string {
	d := draw(s)
	c := e.Claim
	d.text("", cmp.Or(c.Says, "(no words)"), screen.Bold)
	d.text("", c.Status+": "+standingOf(c, d)+".", screen.Unpainted)
	if c.Playbook != "" {
		d.text("", "The playbook has it as "+c.Playbook+".", screen.Unpainted)
	}
	if decoys := c.DecoyHits + c.DecoyMisses; decoys > 0 {
		d.text("", fmt.Sprintf("Of %s of its %s %d came true: chance is at most %s.", screen.Count(decoys, "outcome"),
			decoysOf(len(c.Decoys)), c.DecoyHits, screen.Score(c.Chance)), screen.Unpainted)
	}
	if len(e.SaidBy) > 0 {
		d.heading("Foretold as")
		for _, source := range e.SaidBy {
			d.item("·", screen.Blue, cmp.Or(source.Text, "forgotten since"))
		}
	}
	if len(c.Outcomes) == 0 {
		d.blank()
		return d.nothing("Nothing has decided it yet. It is tried each time that its condition is met.")
	}
	title := "Outcome by outcome"
	if hidden := c.Hits + c.Misses - len(c.Outcomes); hidden > 0 {
		title += fmt.Sprintf(", the newest %d of %d", len(c.Outcomes), c.Hits+c.Misses)
	}
	d.heading(title)
	words := map[string]string{}
	for _, source := range e.Evidence {
		words[source.ID] = source.Text
	}
	for _, o := range c.Outcomes {
		d.outcome(o)
		for _, id := range o.Evidence {
			d.note(cmp.Or(words[id], "forgotten since"))
		}
	}
	d.blank()
	d.text("", fmt.Sprintf("The wealth is that of a bettor who began with 1 and bet on the claim against chance. A full bar is "+
		"%d, from where on a claim may pass.", passingWealth), screen.Faint)
	return d.lines
}

// barCells is the width of the bar of a wealth.
const barCells = 16

func (d *drawing) outcome(o api.ClaimOutcome) {
	came, ink := "did not", screen.Red
	if o.Right {
		came, ink = "came true", screen.Green
	}
	filled := 0
	if o.Wealth > 0 && !math.IsNaN(o.Wealth) { // from one twenty-fifth over 1 in the middle to twenty-five
		share := (math.Log(o.Wealth)/math.Log(passingWealth) + 1) / 2
		filled = int(math.Round(barCells * max(0, min(1, share))))
	}
	bar := strings.Repeat("■", filled) + strings.Repeat("·", barCells-filled)
	at := screen.Pad(d.st.Time(o.At, "2006-01-02 15:04"), 16)
	line := "  " + at + "  " + d.st.Paint(ink, came)
	amount := "wealth " + wealth(o.Wealth)
	const least = 2 + 16 + 2 + 9 + 2 + len("wealth over a million")
	if d.st.Columns() < least {
		d.raw(line)
		d.note(amount)
		return
	}
	line += strings.Repeat(" ", 9-len(came)) + "  "
	if d.st.Columns() >= least+barCells+2 {
		line += d.st.Paint(screen.Teal, bar) + "  "
	}
	d.raw(line + amount)
}

// Morning shows what is new.
func Morning(m api.Morning, s Sheet) []string {
	d := draw(s)
	d.text("", fmt.Sprintf("%s since %s, after %s", cmp.Or(m.Agent, "the agent"), d.when(m.Since),
		screen.Count(m.Dreams, "dream")), screen.Bold)
	if len(m.Learned)+len(m.Stopped)+len(m.Waiting) == 0 {
		d.text("", nothingNew(m), screen.Unpainted)
	}
	d.findings("Knows now", "+", screen.Green, m.Learned)
	d.findings("No longer believes", "-", screen.Amber, m.Stopped)
	d.findings("Waits to see", "?", screen.Blue, m.Waiting)
	if m.Nearest != nil {
		d.findings("Nearest to passing", "·", screen.Teal, []api.Finding{*m.Nearest})
	}
	d.blank()
	d.text("", fmt.Sprintf("%s given up; %s still tried; %s open, %d due within a week.",
		guesses(m.Dropped), screen.Count(m.Tried, "claim"),
		screen.Count(m.Open, "prediction"), m.Due), screen.Faint)
	return d.lines
}

func guesses(n int) string {
	if n == 1 {
		return "1 guess"
	}
	return fmt.Sprintf("%d guesses", n)
}

func nothingNew(m api.Morning) string {
	switch {
	case m.Ever == 0:
		return "Nothing is new: it has not dreamt yet. Begin a dream with /dream."
	case m.Open == 0 && m.Tried == 0:
		return "Nothing is new: it foretells nothing that a program can look up. More dreams may; begin one with /dream now."
	}
	return "Nothing is new: its claims have not come true often enough yet. They are tried as it lives."
}

func (d *drawing) findings(title, mark string, ink screen.Ink, all []api.Finding) {
	if len(all) == 0 {
		return
	}
	d.heading(title)
	for _, f := range all {
		d.item(mark, ink, f.Says)
		note := d.when(f.At)
		if f.Status == "open" {
			note = "due " + note
		}
		if f.Because != "" {
			note += ": " + f.Because
		}
		d.note(note)
		for _, seen := range f.Sighted {
			words := "forgotten since"
			if says := screen.Clean(seen.Says); says != "" {
				words = "“" + says + "”"
			}
			d.note(d.st.Time(seen.At, time.DateOnly) + " " + words)
		}
	}
}
