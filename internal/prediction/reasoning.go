package prediction

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/recall/words"
)

// ReviewedFor is how long after its outcome the reasoning behind a prediction may be reviewed.
const ReviewedFor = 30 * 24 * time.Hour

// ToReview are the resolved predictions whose reasoning is to be reviewed: of those with a reasoning that was not
// reviewed and an outcome of the last month, at most so many, the largest residuals first.
func ToReview(resolved []*dream.Prediction, now time.Time, most int) []*dream.Prediction {
	var all []*dream.Prediction
	for _, p := range resolved {
		if judged(p) && p.Residual != nil && p.Reasoning == nil && strings.TrimSpace(p.Trace) != "" &&
			now.Sub(*p.ResolvedAt) <= ReviewedFor {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b *dream.Prediction) int {
		return cmp.Or(cmp.Compare(math.Abs(*b.Residual), math.Abs(*a.Residual)), cmp.Compare(a.ID, b.ID))
	})
	return all[:min(len(all), most)]
}

// Shares of words for a reasoning in prose to be aligned, where a program reviews it. Our choice.
const (
	claimFounded = .5 // of the claim's words, in what it rests on or in the reasoning
	traceFounded = .5 // of the reasoning's words, in what it rests on
)

// ReviewByProgram says whether the reasoning behind a prediction is founded in the memories that it rests on, and
// otherwise why not. With a check, the memories must name what it names. In prose, at least half of the words of the
// reasoning must stand in the memories, and half of those of the claim there or in the reasoning.
func ReviewByProgram(p *dream.Prediction, memories []string) (aligned bool, reason string) {
	if len(memories) == 0 {
		return false, "it rests on no memory that is left"
	}
	if p.Guessed {
		return false, guessedSources
	}
	found := map[string]bool{}
	for _, text := range memories {
		for _, term := range words.Of(text).Terms {
			found[term] = true
		}
	}
	if p.Check != nil {
		for _, name := range []string{p.Check.When, p.Check.Then} {
			if name != "" && shareIn(words.Of(name).Terms, found) < 1 {
				return false, "no memory that it rests on names " + name
			}
		}
		return true, "the memories that it rests on name what it claims"
	}
	trace := words.Of(p.Trace).Terms
	if share := shareIn(trace, found); share < traceFounded {
		return false, fmt.Sprintf("the memories that it rests on hold %.0f %% of the reasoning's words", 100*share)
	}
	for _, term := range trace {
		found[term] = true
	}
	if share := shareIn(words.Of(p.Claim).Terms, found); share < claimFounded {
		return false, fmt.Sprintf("the reasoning and its memories hold %.0f %% of the claim's words", 100*share)
	}
	return true, "its words stand in the memories that it rests on"
}

// shareIn is the share of terms that are in a set; 0 without terms.
func shareIn(terms []string, set map[string]bool) float64 {
	if len(terms) == 0 {
		return 0
	}
	n := 0
	for _, term := range terms {
		if set[term] {
			n++
		}
	}
	return float64(n) / float64(len(terms))
}
