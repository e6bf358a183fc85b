package prediction

import (
	"cmp"
	"math"
	"slices"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Surplus are the open predictions that an agent drops so that at most so many stay open; none where most is 0. Those
// that say least go first: predictions of dreams before those of people and tools, those that no program resolves
// before those with a check or a watch, those whose confidence lies nearest to one half, then the oldest.
func Surplus(open []*dream.Prediction, most int) []*dream.Prediction {
	if most <= 0 || len(open) <= most {
		return nil
	}
	sorted := slices.Clone(open)
	slices.SortStableFunc(sorted, func(a, b *dream.Prediction) int {
		return cmp.Or(
			cmp.Compare(rank(a.Source != dream.Creative), rank(b.Source != dream.Creative)),
			cmp.Compare(rank(!IsProse(a)), rank(!IsProse(b))),
			cmp.Compare(math.Abs(a.Confidence-.5), math.Abs(b.Confidence-.5)),
			a.At.Compare(b.At),
			cmp.Compare(a.ID, b.ID),
		)
	})
	return sorted[:len(sorted)-most]
}

// IsProse says whether no program can resolve a prediction before its horizon.
func IsProse(p *dream.Prediction) bool { return p.Check == nil && p.Watch == nil }

func rank(later bool) int {
	if later {
		return 1
	}
	return 0
}
