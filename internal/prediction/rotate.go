package prediction

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/internal/dream"
)

// StagedAtLeast is how long a hypothesis stays staged before a newer one may replace it. Our choice: within a week
// its subject can occur on every weekday.
const StagedAtLeast = 7 * 24 * time.Hour

// Replaceable are the staged hypotheses that may be archived for newer ones, the first to go first: those without any
// outcome that were staged at least StagedAtLeast ago; the least confident first, then the oldest. A hypothesis with
// an outcome is kept until it is promoted or refuted.
func Replaceable(staged []*dream.Hypothesis, now time.Time) []*dream.Hypothesis {
	var may []*dream.Hypothesis
	for _, h := range staged {
		outcomes := len(h.Confirmed) + len(h.Contradicted)
		if h.State == dream.Live && outcomes == 0 && now.Sub(h.At) >= StagedAtLeast {
			may = append(may, h)
		}
	}
	slices.SortFunc(may, func(a, b *dream.Hypothesis) int {
		return cmp.Or(cmp.Compare(a.Confidence, b.Confidence), a.At.Compare(b.At), strings.Compare(a.ID, b.ID))
	})
	return may
}
