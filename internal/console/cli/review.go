package cli

import (
	"errors"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/review"
)

// refusedByReview reports whether the review forbids a decision.
func refusedByReview(err error) bool {
	for _, refusal := range []error{
		review.ErrGoesOn, review.ErrPolicy, review.ErrChanged, review.ErrFull, review.ErrProposed,
		activities.ErrNoRedream,
	} {
		if errors.Is(err, refusal) {
			return true
		}
	}
	return false
}
