package circadian

import (
	"errors"
	"fmt"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Cap is a spending limit and what is left under it.
type Cap struct {
	Left  budget.Micros
	Limit budget.Micros // budget.Unlimited means no limit; zero means nothing may be spent
}

// share is what is left, from 0 to 1.
func (c Cap) share() float64 {
	switch {
	case c.Limit == budget.Unlimited:
		return 1
	case c.Limit <= 0 || c.Left <= 0:
		return 0
	}
	return min(1, float64(c.Left)/float64(c.Limit))
}

// Vitality is how well an agent can afford to dream, from 0 to 1: the value set from outside, or the smallest share
// left of its day's and month's caps. Without caps, as with free models, it is 1.
func Vitality(set *float64, caps ...Cap) float64 {
	if set != nil {
		return max(0, min(1, *set))
	}
	least := 1.0
	for _, c := range caps {
		least = min(least, c.share())
	}
	return least
}

// Thresholds are the least vitality of each behaviour; below Declining an agent is terminal.
type Thresholds struct {
	Thriving     float64 `json:"thriving"`
	Stable       float64 `json:"stable"`
	Conservation float64 `json:"conservation"`
	Declining    float64 `json:"declining"`
}

// DefaultThresholds are shares of the default day's cap of $2.00, measured in dreams of $0.50. Our choice.
var DefaultThresholds = Thresholds{
	Thriving:     .5,   // $1.00: two whole dreams are left
	Stable:       .25,  // $0.50: one whole dream is left
	Conservation: .125, // $0.25: half a dream is left, which a long onset would use up
	Declining:    .025, // $0.05: less than the onset's share (10 %) of a dream is left
}

// BehaviourOf is the behaviour of a vitality. NaN is terminal.
func BehaviourOf(vitality float64, t Thresholds) dream.Behaviour {
	switch {
	case vitality >= t.Thriving:
		return dream.Thriving
	case vitality >= t.Stable:
		return dream.Stable
	case vitality >= t.Conservation:
		return dream.Conservation
	case vitality >= t.Declining:
		return dream.Declining
	}
	return dream.Terminal
}

// Validate returns every threshold outside [0, 1] or above that of the better behaviour.
func (t Thresholds) Validate() error {
	var faults []error
	above, better := 1.0, "the whole"
	for _, each := range []struct {
		name string
		at   float64
	}{{"thriving", t.Thriving}, {"stable", t.Stable}, {"conservation", t.Conservation}, {"declining", t.Declining}} {
		switch {
		case !(each.at >= 0 && each.at <= 1):
			faults = append(faults, fmt.Errorf("%s is %v; it must lie between 0 and 1", each.name, each.at))
			continue
		case each.at > above:
			faults = append(faults,
				fmt.Errorf("%s is %v and %s is %v; a worse phase must not begin above a better one", each.name,
					each.at, better, above))
		}
		above, better = each.at, each.name
	}
	return errors.Join(faults...)
}
