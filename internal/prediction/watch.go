package prediction

import (
	"errors"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Grace is how long after the horizon of a watched prediction its rule counts as not fired: the delivery of an alarm
// is retried for ten minutes.
const Grace = 15 * time.Minute

// CheckWatch returns what is wrong with a watch, except whether the feed and the rule exist.
func CheckWatch(w dream.Watch) error {
	var faults []error
	if w.Feed == "" {
		faults = append(faults,
			errors.New("the feed of a watch is missing; it must be the name of the feed that the agent follows"))
	}
	if w.Rule == "" {
		faults = append(faults,
			errors.New("the rule of a watch is missing; it must be the name of a rule of that feed"))
	}
	if w.Means != dream.PredictionRight && w.Means != dream.PredictionWrong {
		faults = append(faults,
			fmt.Errorf("the watched rule means %q; it must mean %s or %s", w.Means, dream.PredictionRight,
				dream.PredictionWrong))
	}
	return errors.Join(faults...)
}

// Fired is the verdict of a rule that fired at a time, as of now. False for a prediction that does not watch the
// rule, is resolved, was not watched yet, or whose horizon had passed.
func Fired(p *dream.Prediction, feed, rule, what string, at, now time.Time) (Verdict, bool) {
	w := p.Watch
	if p.Status != dream.PredictionOpen || w == nil || w.Feed != feed || w.Rule != rule {
		return Verdict{}, false
	}
	if at.Before(p.At) || at.Before(w.Since) || at.After(p.Horizon) {
		return Verdict{}, false
	}
	evidence := fmt.Sprintf("the rule fired at %s", at.UTC().Format(time.RFC3339))
	if what != "" {
		evidence += " (" + what + ")"
	}
	return Verdict{Status: w.Means, By: dream.ByRule + feed + "/" + rule, Evidence: evidence, At: now}, true
}

// Lapsed is the verdict of a horizon that has passed by now; false before, for a resolved prediction, and for one that
// a check decides. A watched one gets the opposite of its rule's meaning, unless cannotFire says why the rule could not
// have fired: then it becomes void, as one that nothing watches does.
func Lapsed(p *dream.Prediction, cannotFire string, now time.Time) (Verdict, bool) {
	due := p.Horizon
	if p.Watch != nil {
		due = due.Add(Grace)
	}
	if p.Status != dream.PredictionOpen || p.Horizon.IsZero() || p.Checked() || now.Before(due) {
		return Verdict{}, false
	}
	v := Verdict{
		Status: dream.PredictionVoid, By: dream.ByHorizon, At: now,
		Evidence: "its horizon passed without a verdict",
	}
	switch {
	case p.Watch == nil:
	case cannotFire != "":
		v.Evidence = "its horizon passed, and it could not be watched: " + cannotFire
	default:
		v.Status = Opposite(p.Watch.Means)
		v.Evidence = fmt.Sprintf("the rule %s/%s did not fire before its horizon", p.Watch.Feed, p.Watch.Rule)
	}
	return v, true
}
