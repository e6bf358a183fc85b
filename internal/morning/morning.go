// Package morning says what an agent knows now that it did not know before a time, what it no longer believes, and what
// it waits to see, each with the days on which that was said.
package morning

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Limits of a report.
const (
	Usual     = 24 * time.Hour     // what a report covers unless another time is asked for
	Soon      = 7 * 24 * time.Hour // a prediction that is due within this time is waited for
	MostWaits = 5                  // predictions that are listed; all are counted
	MostSeen  = 3                  // sightings of a finding, the newest
)

// Memory is what a report is made from.
type Memory struct {
	Agent    string              // the handle
	Claims   []*dream.Claim      // all that were ever made
	Playbook []*dream.Playbook   // live entries
	Open     []*dream.Prediction // open predictions
	Dreams   []*dream.Record     // all dreams
}

// Report is what is new for an agent between two times.
type Report struct {
	Agent   string    `json:"agent"` // the handle
	Since   time.Time `json:"since"`
	Until   time.Time `json:"until"`
	Learned []Finding `json:"learned"` // what it knows now and did not before, the newest first
	Stopped []Finding `json:"stopped"` // what it no longer believes, the newest first
	Waiting []Finding `json:"waiting"` // what is due soon, the soonest first; at most MostWaits

	// open predictions that are due within a week; those that say the same count once
	Due     int      `json:"due"`
	Open    int      `json:"open"`              // all open predictions
	Tried   int      `json:"tried"`             // claims that have not shown yet whether they hold
	Dropped int      `json:"dropped"`           // claims given up in this time that never passed
	Nearest *Finding `json:"nearest,omitempty"` // of the claims that are tried, the one nearest to passing
	Dreams  int      `json:"dreams"`            // dreams in this time
	Ever    int      `json:"dreams_ever"`       // all dreams
}

// Finding is one thing that an agent knows, stopped believing, or waits to see.
type Finding struct {
	ID       string     `json:"id"`       // of a claim, a playbook entry or a prediction
	Kind     dream.Kind `json:"kind"`     // which of them
	Says     string     `json:"says"`     // what is known, was believed, or is foretold
	Status   string     `json:"status"`   // passed, written, retired, lapsed, tried or open
	At       time.Time  `json:"at"`       // when it passed, was written or ended; when a prediction is due
	Because  string     `json:"because"`  // how often it held, why it ended, what would show it
	Sighted  []Sighting `json:"sighted"`  // the days on which it was said, the newest first; at most MostSeen
	Outcomes int        `json:"outcomes"` // how many outcomes a claim has in all

	Names []string `json:"-"` // what to look for in an episode to quote the sentence that shows it
}

// Sighting is a day on which something was said that shows a finding, or that a prediction rests on.
type Sighting struct {
	At       time.Time `json:"at"`
	Episodes []string  `json:"episodes"` // ids
	Says     string    `json:"says"`     // the sentences that show it; empty where they were forgotten
}

// Of makes the report of what is new after since, until now. The sightings have ids and no sentences yet.
func Of(m Memory, since, now time.Time) Report {
	r := Report{
		Agent:   m.Agent,
		Since:   since.UTC(),
		Until:   now.UTC(),
		Learned: []Finding{},
		Stopped: []Finding{},
		Waiting: []Finding{},
		Open:    len(m.Open),
		Ever:    len(m.Dreams),
	}
	within := func(t time.Time) bool { return t.After(since) && !t.After(now) }
	for _, d := range m.Dreams {
		if within(d.AsOf) {
			r.Dreams++
		}
	}
	r.addClaims(m.Claims, within)
	for _, p := range m.Playbook {
		if p.Claim == "" && within(p.At) {
			r.Learned = append(r.Learned, written(p))
		}
	}
	newest := func(a, b Finding) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.ID, b.ID)) }
	slices.SortFunc(r.Learned, newest)
	slices.SortFunc(r.Stopped, newest)
	r.addWaiting(m.Open, now)
	return r
}

// addClaims sorts the claims into what was learned, what is no longer believed, and what is still tried.
func (r *Report) addClaims(all []*dream.Claim, within func(time.Time) bool) {
	var nearest *dream.Claim
	for _, c := range all {
		switch {
		case c.Status == dream.ClaimPassed && within(c.Passed):
			r.Learned = append(r.Learned, ofClaim(c, c.Passed, true))
		case c.Status == dream.ClaimRetired && within(c.Ended):
			r.Stopped = append(r.Stopped, ofClaim(c, c.Ended, false))
		case c.Status == dream.ClaimLapsed && within(c.Ended) && !c.Passed.IsZero():
			r.Stopped = append(r.Stopped, ofClaim(c, c.Ended, false))
		case (c.Status == dream.ClaimDropped || c.Status == dream.ClaimLapsed) && within(c.Ended):
			r.Dropped++
		case c.Status == dream.ClaimTried:
			r.Tried++
			if c.Hits > 0 && (nearest == nil || c.Wealth > nearest.Wealth) {
				nearest = c
			}
		}
	}
	if nearest != nil {
		f := ofClaim(nearest, nearest.At, true)
		r.Nearest = &f
	}
}

// ofClaim makes the finding of a claim, with its newest outcomes of one kind.
func ofClaim(c *dream.Claim, at time.Time, right bool) Finding {
	f := Finding{
		ID:       c.ID,
		Kind:     dream.KindClaim,
		Says:     c.Says,
		Status:   c.Status,
		At:       at.UTC(),
		Because:  held(c),
		Outcomes: c.Trials(),
		Names:    slices.DeleteFunc([]string{c.Check.When, c.Check.Then}, func(s string) bool { return s == "" }),
		Sighted:  []Sighting{},
	}
	if c.Reason != "" {
		f.Because = c.Reason + "; " + f.Because
	}
	for _, o := range slices.Backward(c.Outcomes) {
		if o.Right != right || len(o.Evidence) == 0 || len(f.Sighted) == MostSeen {
			continue
		}
		f.Sighted = append(f.Sighted, Sighting{At: o.At.UTC(), Episodes: slices.Clone(o.Evidence)})
	}
	return f
}

// held says how often a claim came true, and how often its decoys did.
func held(c *dream.Claim) string {
	text := fmt.Sprintf("held %d of %d times", c.Hits, c.Trials())
	if n := c.DecoyHits + c.DecoyMisses; n > 0 {
		text += fmt.Sprintf("; the same of other things held %d of %d times", c.DecoyHits, n)
	}
	return text
}

// written makes the finding of a playbook entry that a person wrote or imported.
func written(p *dream.Playbook) Finding {
	return Finding{
		ID:      p.ID,
		Kind:    dream.KindPlaybook,
		Says:    p.Content,
		Status:  "written",
		At:      p.At.UTC(),
		Because: "written into the playbook",
		Sighted: []Sighting{},
	}
}

// addWaiting adds the open predictions that are due soon. Those that something resolves by itself come first, and what
// several predictions say is listed once.
func (r *Report) addWaiting(open []*dream.Prediction, now time.Time) {
	var due []*dream.Prediction
	listed := map[string]bool{}
	for _, p := range open {
		if !p.Horizon.After(now) || p.Horizon.After(now.Add(Soon)) {
			continue
		}
		if !listed[p.Claim] && p.Claim != "" {
			listed[p.Claim] = true
			due = append(due, p)
		}
	}
	slices.SortFunc(due, func(a, b *dream.Prediction) int {
		return cmp.Or(rank(a)-rank(b), a.Horizon.Compare(b.Horizon), cmp.Compare(a.ID, b.ID))
	})
	r.Due = len(due)
	for _, p := range due[:min(len(due), MostWaits)] {
		f := Finding{
			ID:      p.ID,
			Kind:    dream.KindPrediction,
			Says:    p.Claim,
			Status:  p.Status,
			At:      p.Horizon.UTC(),
			Because: p.Criterion,
			Sighted: []Sighting{},
		}
		if p.Check != nil {
			f.Names = slices.DeleteFunc([]string{p.Check.When, p.Check.Then}, func(s string) bool { return s == "" })
		}
		for _, id := range p.Episodes[:min(len(p.Episodes), MostSeen)] {
			f.Sighted = append(f.Sighted, Sighting{Episodes: []string{id}})
		}
		r.Waiting = append(r.Waiting, f)
	}
}

// rank orders open predictions: those that a check or a rule resolves come before those that somebody has to judge.
func rank(p *dream.Prediction) int {
	if p.Check != nil || p.Watch != nil {
		return 0
	}
	return 1
}

// Findings returns all findings of a report, to be filled in.
func (r *Report) Findings() []*Finding {
	var all []*Finding
	for _, list := range [][]Finding{r.Learned, r.Stopped, r.Waiting} {
		for i := range list {
			all = append(all, &list[i])
		}
	}
	return all
}

// Quote fills in what the episodes of all sightings say. episode returns the time of an episode and its sentences that
// name something; false where it was forgotten. A sighting without any episode left stays, without words.
func (r *Report) Quote(episode func(id string, names []string) (time.Time, string, bool)) {
	for _, f := range r.Findings() {
		for i := range f.Sighted {
			s := &f.Sighted[i]
			for _, id := range s.Episodes {
				at, says, ok := episode(id, f.Names)
				if !ok {
					continue
				}
				if s.At.IsZero() {
					s.At = at.UTC()
				}
				if s.Says != "" {
					s.Says += " … "
				}
				s.Says += says
			}
		}
		slices.SortStableFunc(f.Sighted, func(a, b Sighting) int { return b.At.Compare(a.At) })
	}
}

// IsQuiet says whether nothing was learned and nothing is believed no longer.
func (r Report) IsQuiet() bool { return len(r.Learned)+len(r.Stopped) == 0 }
