package worlds

import (
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/claims"
)

// Gate is how claims are judged while a world is played. The zero value is the product's.
type Gate struct {
	NoDecoys  bool // a control: chance is taken to be small instead of measured
	Dependent bool // a control: each later night counts the same outcomes again
}

// Fate is what became of one claim.
type Fate struct {
	*dream.Claim
	True        bool
	Drifts      bool // it is a rule that stops
	Trials      int  // outcomes when it passed, or at the end
	Retired     bool
	SinceEnd    int  // outcomes between the end of a rule and its retirement
	RetiredTrue bool // it was retired while it held
	Kept        int  // outcomes while it had passed and held

	ends time.Time // of the rule
}

// HasPassed says whether the claim passed the gate at any time.
func (f *Fate) HasPassed() bool { return !f.Passed.IsZero() }

// Play lets an inducer make claims of a world night after night, resolves them and their decoys by what is lived, and
// returns what became of each.
func Play(w World, inducer *Inducer, g Gate) []*Fate {
	fates := map[string]*Fate{}
	var all []*dream.Claim
	for day := 3; day < w.Days; day++ {
		now := Start.Add(time.Duration(day)*Day + 2*time.Hour)
		tried := 0
		for _, c := range all {
			fates[c.ID].advance(w, g, now)
		}
		for _, c := range claims.Promote(all, now) {
			fates[c.ID].Trials = c.Trials()
		}
		for _, c := range all {
			if c.Status == dream.ClaimTried {
				tried++
			}
		}
		for _, check := range inducer.Night(w) {
			id := claims.ID("world", check)
			if fates[id] != nil || tried >= claims.MostTried {
				continue
			}
			fates[id] = watch(w, check, now, g)
			all = append(all, fates[id].Claim)
			tried++
		}
	}
	ended := make([]*Fate, len(all))
	for i, c := range all {
		ended[i] = fates[c.ID]
		if !ended[i].HasPassed() {
			ended[i].Trials = c.Trials()
		}
	}
	return ended
}

func watch(w World, check dream.Check, now time.Time, g Gate) *Fate {
	p := &dream.Prediction{Head: dream.Head{ID: "pr", Agent: "world", At: now}, Check: &check}
	f := &Fate{Claim: claims.New(p, w.Lived)}
	rule, holds := w.Holds(check)
	f.True, f.ends = holds, rule.Until
	f.Drifts = holds && !rule.Until.IsZero()
	if f.Drifts && !now.Before(rule.Until) {
		f.True, f.Drifts = false, false // it has stopped holding before it was claimed
	}
	if g.NoDecoys {
		f.Decoys, f.DecoyHits, f.DecoyMisses = nil, 5, 95
	}
	return f
}

// advance counts the outcomes of a claim and of its decoys since the last night.
func (f *Fate) advance(w World, g Gate, now time.Time) {
	if !f.Watched() {
		return
	}
	if g.Dependent {
		f.From = f.At
	}
	for _, o := range claims.Advance(f.Claim, now, w.Lived, func(time.Time, time.Time) bool { return true }) {
		if f.HasPassed() {
			f.follow(o)
		}
	}
}

// follow watches a claim that has passed.
func (f *Fate) follow(o dream.ClaimOutcome) {
	holds := f.True && (f.ends.IsZero() || o.At.Before(f.ends))
	if holds {
		f.Kept++
	} else if f.Drifts {
		f.SinceEnd++
	}
	if f.Status == dream.ClaimRetired && o.At.Equal(f.Ended) {
		f.Retired, f.RetiredTrue = true, holds
	}
}
