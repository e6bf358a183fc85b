package core

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/claims"
	"github.com/seed-56a03226/oneiros/internal/prediction"
)

// Keep writes what a step made. Kinds that distances are measured against are embedded; the others are not, which
// saves the call.
func (r *Run) Keep(ctx context.Context, c Call, result activities.CallOutcome, items []dream.Item,
	w memory.Write,
) (activities.StepResult, error) {
	items, err := r.Sift(ctx, items, &w)
	if err != nil {
		return activities.StepResult{}, err
	}
	var placed []dream.Item
	for _, item := range items {
		if slices.Contains(Measurable, item.Header().Kind) {
			placed = append(placed, item)
		}
	}
	vectors, done, err := r.Place(ctx, c, c.Step+"/embed", placed)
	if err != nil {
		return activities.StepResult{}, err
	}
	// if a cap is reached or the call is interrupted, the items are kept without vectors
	w.Add, w.Vectors = append(w.Add, items...), vectors
	made := make([]activities.MadeItem, len(items))
	for i, item := range items {
		made[i] = activities.MadeItem{
			ID: item.Header().ID, Score: item.Marks().Score,
			Kept: r.Spec.Review != dream.JournalOnly || item.Header().Kind == dream.KindJournal,
		}
	}
	done.Reused = result.Reused
	return activities.StepResult{CallOutcome: done, Made: made}, r.Write(ctx, w)
}

// Ratings of lucid capture.
const (
	Promote = "promote"
	Stage   = "stage"
	Discard = "discard"
)

// defaultHorizon is the horizon in days of a claim that names none.
const defaultHorizon = 14

// Foretell makes a complete prediction, with the confidence held in the range of its phase.
func (r *Run) Foretell(phase dream.Phase, step, claim, criterion string, days int, confidence float64, trace string,
	episodes []string,
) *dream.Prediction {
	if days < 1 || days > 365 {
		days = defaultHorizon
	}
	if strings.TrimSpace(criterion) == "" {
		criterion = fmt.Sprintf(
			"Within %d days something happens that this describes; a person or a rule says so. Otherwise it was wrong.",
			days)
	}
	var check *dream.Check
	if c, reads := claims.Read(criterion); reads && claims.Validate(c) == nil {
		check = &c
	}
	return &dream.Prediction{
		Head:       r.Head(phase, dream.KindPrediction, step, episodes),
		Source:     dream.Creative,
		Claim:      claim,
		Criterion:  criterion,
		Horizon:    r.Spec.AsOf.Add(time.Duration(days) * 24 * time.Hour),
		Confidence: prediction.Clamp(phase, confidence),
		Session:    r.Dream,
		Episodes:   episodes,
		Trace:      trace,
		Status:     dream.PredictionOpen,
		Check:      check,
	}
}

// NotJudged is why a paid thought is discarded when money or time ran out before it was judged.
const NotJudged = "the dream ended before it was judged"

// Clamp holds a number within [0, 1].
func Clamp(x float64) float64 { return max(0, min(1, x)) }

// Ranked sorts scenarios best first; equal scores are ordered by text.
func Ranked(all []*dream.Scenario) []*dream.Scenario {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b *dream.Scenario) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Content, b.Content))
	})
	return sorted
}

// TextsOf returns the texts of items, in their order.
func TextsOf[T dream.Item](items []T) []string {
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i] = item.Text()
	}
	return texts
}

// MostReason is the most characters of a reason that are kept, since it is stored in histories and shown in lists.
const MostReason = 400

// OneLine puts text on one line of at most MostReason characters.
func OneLine(text string) string {
	letters := []rune(strings.Join(strings.Fields(text), " "))
	if len(letters) > MostReason {
		letters = append(letters[:MostReason-1], '…')
	}
	return string(letters)
}
