package prediction_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/prediction"
)

func TestTheWeakestHypothesisWithoutOutcomesGivesWay(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 22, 0, 0, 0, time.UTC)
	staged := func(id string, days int, confidence float64, confirmed ...string) *dream.Hypothesis {
		h := dream.Head{ID: id, State: dream.Live, At: now.Add(-time.Duration(days) * 24 * time.Hour)}
		return &dream.Hypothesis{Head: h, Confidence: confidence, Confirmed: confirmed}
	}
	contradicted := staged("contradicted", 30, .1)
	contradicted.Contradicted = []string{"p"}
	waits := staged("waits", 30, .1)
	waits.State = dream.Proposed
	all := []*dream.Hypothesis{
		staged("strong", 30, .3), staged("young", 6, .1), staged("old", 20, .2), staged("newer", 8, .2),
		staged("twin", 20, .2),
		staged("confirmed", 40, .2, "p"), contradicted, waits, staged("just", 7, .25),
	}
	var ids []string
	for _, h := range prediction.Replaceable(all, now) {
		ids = append(ids, h.ID)
	}
	require.Equal(t, []string{"old", "twin", "newer", "just", "strong"}, ids)
	require.Empty(t, prediction.Replaceable(nil, now))
}
