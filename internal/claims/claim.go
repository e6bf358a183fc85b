package claims

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// How long and how many claims are watched.
const (
	// MostTried is how many claims of an agent are tried at once; the claims that have passed come on top.
	MostTried = 40
	// Lapse is how long a claim waits for an outcome.
	Lapse = 90 * 24 * time.Hour
	// Length is how long one trial of a claim without a condition takes.
	Length = 7 * 24 * time.Hour
	// LongestTerms is how many words a name of a claim may have, so that no sentence passes as a name.
	LongestTerms = 4

	mostSources = 20
	enoughMiss  = 4  // outcomes that did not come true, before a claim is dropped
	poor        = .2 // the wealth below which it is
)

// Claimable says whether a check may become a claim.
func Claimable(c dream.Check) bool {
	return Validate(c) == nil && len(NameOf(c.When)) <= LongestTerms && len(NameOf(c.Then)) <= LongestTerms
}

// ID is the id of the claim that all predictions of an agent with this check make.
func ID(agent string, c dream.Check) string {
	sum := sha256.Sum256([]byte(agent + "\x00" + Key(c)))
	return "cl_" + hex.EncodeToString(sum[:8])
}

// New makes the claim of a prediction that carries a check. lived are the agent's episodes that may be evidence, oldest
// first: the decoys name things that were named as often before.
func New(p *dream.Prediction, lived []Episode) *dream.Claim {
	check := *p.Check
	c := &dream.Claim{
		Head: dream.Head{
			ID:      ID(p.Agent, check),
			Agent:   p.Agent,
			Kind:    dream.KindClaim,
			At:      p.At,
			State:   dream.Live,
			Taint:   p.Taint,
			Sources: []string{p.ID},
		},
		Check:  check,
		Says:   Statement(check),
		Status: dream.ClaimTried,
		From:   p.At,
		Chance: 1,
		Wealth: 1,
	}
	dice := rand.New(rand.NewPCG(seedOf(c.ID), 13))
	for _, name := range DecoyNames(check, lived, p.At, dice) {
		c.Decoys = append(c.Decoys, dream.Decoy{Name: name, From: p.At})
	}
	return c
}

func seedOf(id string) uint64 {
	sum := sha256.Sum256([]byte(id))
	var seed uint64
	for _, b := range sum[:8] {
		seed = seed<<8 | uint64(b)
	}
	return seed
}

// Say adds a prediction to those that make a claim, and tries a lapsed claim again. It returns whether that changed
// anything.
func Say(c *dream.Claim, p *dream.Prediction) bool {
	again := c.Status == dream.ClaimLapsed && p.At.After(c.Ended)
	if again {
		c.Status, c.State, c.From = dream.ClaimTried, dream.Live, p.At
		c.Reason, c.Ended = "", time.Time{}
		for i := range c.Decoys {
			c.Decoys[i].From = p.At
		}
	}
	if slices.Contains(c.Sources, p.ID) || len(c.Sources) >= mostSources {
		return again
	}
	c.Sources = append(c.Sources, p.ID)
	return true
}

// Advance counts what became of a claim and of its decoys since it was last looked at, and returns its new outcomes.
// It drops a claim that comes true no more often than chance, lets one lapse that nothing decides, and retires one that
// has passed and has stopped holding. lived are the episodes that may be evidence, oldest first.
func Advance(c *dream.Claim, now time.Time, lived []Episode,
	covered func(from, to time.Time) bool,
) []dream.ClaimOutcome {
	decoys, compared := c.DecoyHits+c.DecoyMisses, c.Chance < 1
	for i := range c.Decoys {
		d := &c.Decoys[i]
		for _, r := range Trials(DecoyOf(c.Check, d.Name), d.From, now, Length, lived, covered) {
			d.From = r.At
			switch r.Outcome {
			case Right:
				c.DecoyHits++
			case Wrong:
				c.DecoyMisses++
			case Open, Void:
			}
		}
	}
	if c.DecoyHits+c.DecoyMisses != decoys || !compared {
		c.Chance = Chance(c.DecoyHits, c.DecoyHits+c.DecoyMisses, Sure)
		c.Wealth = Wealth(c.Chance, c.Hits, c.Misses)
	}
	var found []dream.ClaimOutcome
	for _, r := range Trials(c.Check, c.From, now, Length, lived, covered) {
		c.From = r.At
		if r.Outcome != Right && r.Outcome != Wrong {
			continue
		}
		o := dream.ClaimOutcome{At: r.At, Right: r.Outcome == Right, Evidence: r.Evidence}
		count(c, &o)
		found = append(found, o)
		if !c.Watched() {
			return found
		}
	}
	if c.Status == dream.ClaimTried && now.Sub(lastOf(c)) > Lapse {
		end(c, dream.ClaimLapsed, now, fmt.Sprintf("nothing decided it for %d days", int(Lapse.Hours()/24)))
	}
	return found
}

// count adds one outcome to a claim, and ends it if that shows that it does not hold.
func count(c *dream.Claim, o *dream.ClaimOutcome) {
	if o.Right {
		c.Hits++
	} else {
		c.Misses++
	}
	c.Wealth = Wealth(c.Chance, c.Hits, c.Misses)
	o.Wealth = c.Wealth
	c.Outcomes = append(c.Outcomes, *o)
	c.Outcomes = c.Outcomes[max(0, len(c.Outcomes)-dream.MostOutcomes):]
	switch {
	case c.Decline != nil:
		c.Decline = decline(*c.Decline, o.Right)
		if c.Decline.Level >= Declined {
			end(c, dream.ClaimRetired, o.At, "it comes true too seldom since it passed")
		}
	case c.Misses >= enoughMiss && c.Wealth < poor:
		end(c, dream.ClaimDropped, o.At, "it comes true no more often than chance")
	}
}

// End ends a claim for another reason than its outcomes.
func End(c *dream.Claim, now time.Time, reason string) { end(c, dream.ClaimLapsed, now, reason) }

func end(c *dream.Claim, status string, at time.Time, reason string) {
	c.Status, c.Reason, c.Ended = status, reason, at
}

// lastOf is when a claim had its last outcome, or began.
func lastOf(c *dream.Claim) time.Time {
	if n := len(c.Outcomes); n > 0 && c.Outcomes[n-1].At.After(c.At) {
		return c.Outcomes[n-1].At
	}
	return c.At
}

// Promote lets claims pass, and returns those that do. all are the claims that were ever made, also those that have
// ended: they keep counting, so that dropping claims makes none of the others likelier to pass.
func Promote(all []*dream.Claim, now time.Time) []*dream.Claim {
	wealth := make([]float64, len(all))
	for i, c := range all {
		wealth[i] = c.Wealth
	}
	var passed []*dream.Claim
	for _, i := range promote(wealth) {
		if c := all[i]; c.Status == dream.ClaimTried && c.Hits >= Confirmations {
			c.Status, c.Passed, c.Decline = dream.ClaimPassed, now, newDecline(c)
			passed = append(passed, c)
		}
	}
	return passed
}

// Statement says what a claim says, in a sentence for people and models.
func Statement(c dream.Check) string {
	then := c.Then + " comes up"
	switch {
	case c.Not && c.Least > 1:
		then += fmt.Sprintf(" fewer than %d times", c.Least)
	case c.Not:
		then = c.Then + " does not come up"
	case c.Least > 1:
		then += fmt.Sprintf(" at least %d times", c.Least)
	}
	switch {
	case c.When == "":
		return capital(then + " in a week")
	case c.Within == 0 && c.Not:
		return capital("where " + c.When + " comes up, " + then)
	case c.Within == 0:
		return capital("where " + c.When + " comes up, " + then + " too")
	}
	return capital(fmt.Sprintf("within %s after %s comes up, %s", span(c.Within), c.When, then))
}

func capital(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(first)) + s[size:] + "."
}

// TrackRecord is how a claim has held, for a reader who is to weigh it.
func TrackRecord(c *dream.Claim) string {
	return fmt.Sprintf("held %d of %d times since %s; by chance at most %.0f %%", c.Hits, c.Trials(),
		c.At.UTC().Format("2 January 2006"), 100*c.Chance)
}
