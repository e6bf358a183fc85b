package claims

import (
	"math"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// The gate's settings, chosen on planted worlds (testsuite/worlds).
const (
	// Alpha bounds the mean share of false claims among those that pass.
	Alpha = .10
	// Alone is the least wealth of a claim that passes, however many pass with it: chance reaches it once in 25.
	Alone = 25
	// Confirmations is how often a claim must have come true to pass, however seldom chance does.
	Confirmations = 3
	// Decoys is how many decoys each claim is compared with.
	Decoys = 16
	// Sure is the confidence with which the true rate of the decoys lies below Chance.
	Sure = .90
	// Declined is how many times likelier chance than knowledge must make the outcomes since a claim passed, for it to
	// be retired.
	Declined = 50
)

// Rate is the share of a claim's outcomes that came true, drawn towards one half where they are few.
func Rate(c *dream.Claim) float64 { return float64(c.Hits+1) / float64(c.Trials()+2) }

// promote returns which claims pass now. wealth holds one value for each claim that was ever made.
func promote(wealth []float64) []int {
	var passed []int
	for _, i := range Passing(wealth, Alpha) {
		if wealth[i] >= Alone {
			passed = append(passed, i)
		}
	}
	return passed
}

// newDecline watches a claim from its outcomes at the time it passed, for the day on which it stops holding. The watch
// adds up how much likelier chance makes each outcome than a rate a quarter below the claim's own does, and starts
// again whenever that favours the claim (CUSUM: Page 1954).
func newDecline(c *dream.Claim) *dream.Decline {
	return &dream.Decline{Chance: c.Chance, Keep: c.Chance + .75*(max(Rate(c), c.Chance)-c.Chance), Level: 1}
}

// decline is the watch after one more outcome.
func decline(d dream.Decline, hit bool) *dream.Decline {
	ratio := (1 - d.Chance) / math.Max(1-d.Keep, 1e-9)
	if hit {
		ratio = d.Chance / math.Max(d.Keep, 1e-9)
	}
	d.Level = math.Max(1, d.Level) * ratio
	return &d
}
