package prediction_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/prediction"
)

const day = 24 * time.Hour

var rotation = time.Date(2026, 11, 22, 22, 0, 0, 0, time.UTC)

// stagedBefore is a hypothesis that was staged some days ago.
func stagedBefore(id string, days int, confidence float64) *dream.Hypothesis {
	return &dream.Hypothesis{
		Head:       dream.Head{ID: id, State: dream.Live, At: rotation.Add(-time.Duration(days) * day)},
		Confidence: confidence,
		Status:     dream.HypothesisStaged,
	}
}

func TestTheWeakestHypothesisGivesWay(t *testing.T) {
	t.Parallel()
	confirmed := stagedBefore("confirmed", 40, .2)
	outcomes(confirmed, "+", true)
	divided := stagedBefore("divided", 40, .15)
	outcomes(divided, "+-", true)
	waits := stagedBefore("waits", 30, .1)
	waits.State = dream.Proposed
	claimed := stagedBefore("claimed", 40, .1)
	claimed.Claims = []string{"cl_1"}
	outcomes(claimed, "+", true)
	youngest := stagedBefore("claimed too late", 6, .1)
	youngest.Claims = []string{"cl_2"}
	all := []*dream.Hypothesis{
		stagedBefore("strong", 30, .3), stagedBefore("young", 6, .1), stagedBefore("old", 20, .2),
		stagedBefore("newer", 8, .2), stagedBefore("twin", 20, .2), confirmed, divided, waits, claimed, youngest,
		stagedBefore("just", 7, .25),
	}
	var ids []string
	for _, h := range prediction.Replaceable(all, rotation) {
		ids = append(ids, h.ID)
	}
	require.Equal(t, []string{"divided", "old", "twin", "newer", "just", "strong", "claimed"}, ids)
	require.Empty(t, prediction.Replaceable(nil, rotation))
}

func TestAHypothesisLapsesWhenNothingCanComeOfIt(t *testing.T) {
	t.Parallel()
	open, none, strict := prediction.Prospect{Open: true}, prediction.Prospect{}, prediction.Prospect{Strict: true}
	for name, c := range map[string]struct {
		days     int
		signs    string
		claimed  bool
		restored int // days ago; 0: never
		prospect prediction.Prospect
		want     string
	}{
		"an open prediction":             {days: 80, prospect: open},
		"an open one for too long":       {days: 91, prospect: open, want: "it had no outcome for 90 days"},
		"none is open":                   {days: 8, prospect: none, want: "no prediction that it rests on is open any more"},
		"too young":                      {days: 6, prospect: none},
		"restored by a person":           {days: 200, restored: 3, prospect: none},
		"restored long ago":              {days: 200, restored: 91, prospect: none, want: "it had no outcome for 90 days"},
		"a claim is tried":               {days: 200, claimed: true, prospect: prediction.Prospect{Tried: true}},
		"its claim was never tried":      {days: 8, claimed: true, prospect: strict, want: "no prediction that it rests on is open any more"},
		"confirmed, and can be promoted": {days: 8, signs: "++", prospect: strict},
		"confirmed, and cannot": {
			days: 8, signs: "++", prospect: none,
			want: "2 of its predictions came true and 0 did not, none is open, and what is in prose is not promoted " +
				"(predictions.gate is measured)",
		},
		"divided": {
			days: 8, signs: "+-", prospect: strict,
			want: "1 of its predictions came true and 1 did not, and none is open any more",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := stagedBefore("h", c.days, .2)
			outcomes(h, c.signs, true)
			for i := range h.Outcomes {
				h.Outcomes[i].At = rotation.Add(-time.Hour)
			}
			if c.claimed {
				h.Claims = []string{"cl_1"}
			}
			if c.restored > 0 {
				h.Restored = rotation.Add(-time.Duration(c.restored) * day)
			}
			require.Equal(t, c.want, prediction.Lapse(h, c.prospect, rotation))
		})
	}
}

func TestAConfirmedHypothesisLapsesAfterItsLastOutcome(t *testing.T) {
	t.Parallel()
	h := stagedBefore("h", 200, .2)
	outcomes(h, "+", true)
	for days, lapses := range map[int]bool{80: false, 91: true} {
		h.Outcomes[0].At = rotation.Add(-time.Duration(days) * day)
		require.Equal(t, lapses, prediction.Lapse(h, prediction.Prospect{Strict: true}, rotation) != "", days)
	}
}
