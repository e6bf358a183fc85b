package prediction

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/internal/dream"
)

// StagedAtLeast is how long a hypothesis stays staged before it may give way to a newer one. Ours: a week lets what it
// is about happen once on every day of the week.
const StagedAtLeast = 7 * 24 * time.Hour

// GiveWay answers the staged hypotheses that may give way at a time, the first to go first: those that no outcome has
// spoken for or against, staged for StagedAtLeast; the least confident first, of equals the oldest. An outcome keeps a
// hypothesis: it is promoted or refuted by what comes true.
func GiveWay(staged []*dream.Hypothesis, now time.Time) []*dream.Hypothesis {
	var may []*dream.Hypothesis
	for _, h := range staged {
		spoken := len(h.Confirmed) + len(h.Contradicted)
		if h.State == dream.Live && spoken == 0 && now.Sub(h.At) >= StagedAtLeast {
			may = append(may, h)
		}
	}
	slices.SortFunc(may, func(a, b *dream.Hypothesis) int {
		return cmp.Or(cmp.Compare(a.Confidence, b.Confidence), a.At.Compare(b.At), strings.Compare(a.ID, b.ID))
	})
	return may
}
