package prediction

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

const (
	// StagedAtLeast is how long a hypothesis stays staged before a newer one may replace it, or before it lapses since no
	// prediction can decide it. Our choice: within a week its subject can occur on every weekday.
	StagedAtLeast = 7 * 24 * time.Hour
	// LapsesAfter is how long a staged hypothesis waits for an outcome, as a claim does.
	LapsesAfter = 90 * 24 * time.Hour
)

// Replaceable are the staged hypotheses that may be archived for newer ones, the first to go first, all staged at least
// StagedAtLeast ago. First those without any outcome, and those that cannot be promoted any more; then those that
// claims decide, since their claims are tried on without them. In each group the least confident go first, then the
// oldest. Other hypotheses in prose with an outcome are kept until they are promoted, refuted or lapse.
func Replaceable(staged []*dream.Hypothesis, now time.Time) []*dream.Hypothesis {
	var may []*dream.Hypothesis
	for _, h := range staged {
		if h.State == dream.Live && now.Sub(h.At) >= StagedAtLeast && (isHopeless(h) || !h.InProse()) {
			may = append(may, h)
		}
	}
	slices.SortFunc(may, func(a, b *dream.Hypothesis) int {
		return cmp.Or(cmp.Compare(rank(!isHopeless(a)), rank(!isHopeless(b))), cmp.Compare(a.Confidence, b.Confidence),
			a.At.Compare(b.At), strings.Compare(a.ID, b.ID))
	})
	return may
}

// FullReason says why no hypothesis can be staged, with how many are and how many may be.
func FullReason(staged, most int) string {
	return fmt.Sprintf("%d hypotheses are staged already, no more than %d may be (dream.max_staged), and none that was "+
		"staged %d days ago may give way to a newer one", staged, most, int(StagedAtLeast.Hours()/24))
}

// isHopeless says whether a hypothesis has no outcome, or in prose one that keeps it from being promoted.
func isHopeless(h *dream.Hypothesis) bool {
	if len(h.Confirmed)+len(h.Contradicted) == 0 {
		return true
	}
	first := Independent(h)
	first = first[:min(len(first), Attempts)]
	return h.InProse() && rights(first) < len(first)
}

// Prospect is what can still come of a staged hypothesis.
type Prospect struct {
	Open   bool // a prediction that it rests on is open
	Tried  bool // a claim that decides it is tried
	Strict bool // it may be promoted in prose
}

// Lapse says why nothing can come of a staged hypothesis any more; empty while something can. One that a person
// restored waits anew for an outcome.
func Lapse(h *dream.Hypothesis, p Prospect, now time.Time) string {
	last := h.At
	if h.Restored.After(last) {
		last = h.Restored
	}
	if n := len(h.Outcomes); n > 0 && h.Outcomes[n-1].At.After(last) {
		last = h.Outcomes[n-1].At
	}
	restored := now.Sub(h.Restored) <= LapsesAfter
	came := fmt.Sprintf("%d of its predictions came true and %d did not", len(h.Confirmed), len(h.Contradicted))
	switch {
	case p.Tried || now.Sub(h.At) < StagedAtLeast:
		return ""
	case now.Sub(last) > LapsesAfter:
		return fmt.Sprintf("it had no outcome for %d days", int(LapsesAfter.Hours()/24))
	case p.Open || restored:
		return ""
	case len(h.Outcomes) == 0:
		return "no prediction that it rests on is open any more"
	case h.InProse() && !p.Strict:
		return came + ", none is open, and what is in prose is not promoted (predictions.gate is " +
			dream.GateMeasured + ")"
	case !h.InProse() || isHopeless(h) || len(Independent(h)) == 0:
		return came + ", and none is open any more"
	}
	return "" // strict: it waits for a prediction that says the same
}
