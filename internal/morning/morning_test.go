package morning_test

import (
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/morning"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

// now is the morning of which all tests report.
var now = time.Date(2026, 10, 20, 6, 0, 0, 0, time.UTC)

// ago is so many hours before now.
func ago(hours float64) time.Time { return now.Add(-time.Duration(hours * float64(time.Hour))) }

func claim(id, status string, hits, misses int) *dream.Claim {
	c := &dream.Claim{
		Head:        dream.Head{ID: id, At: ago(400)},
		Check:       dream.Check{When: "storm", Then: "leak"},
		Says:        "Where storm comes up, leak comes up too.",
		Status:      status,
		Hits:        hits,
		Misses:      misses,
		DecoyHits:   3,
		DecoyMisses: 47,
		Wealth:      float64(1 + 10*hits),
	}
	for i := range hits + misses {
		c.Outcomes = append(c.Outcomes, dream.ClaimOutcome{
			At:       ago(300 - 24*float64(i)),
			Right:    i < hits,
			Evidence: []string{"ep_" + string(rune('a'+i))},
		})
	}
	return c
}

func prediction(id, claims string, due time.Time, check *dream.Check) *dream.Prediction {
	return &dream.Prediction{
		Head:      dream.Head{ID: id},
		Claim:     claims,
		Criterion: "a new memory names it",
		Horizon:   due,
		Status:    dream.PredictionOpen,
		Check:     check,
		Episodes:  []string{"ep_a"},
	}
}

// full is a memory in which something of each kind happened within a day.
func full() morning.Memory {
	passed, retired := claim("cl_1", dream.ClaimPassed, 4, 1), claim("cl_2", dream.ClaimRetired, 5, 4)
	passed.Passed, retired.Ended, retired.Passed = ago(5), ago(2), ago(300)
	retired.Says, retired.Reason = "Within 1 day after fog comes up, ferry comes up.",
		"it comes true too seldom since it passed"
	lapsed := claim("cl_3", dream.ClaimLapsed, 6, 2)
	lapsed.Passed, lapsed.Ended, lapsed.Reason = ago(200), ago(1), "the predictions that said it are gone"
	dropped, old := claim("cl_4", dream.ClaimDropped, 0, 5), claim("cl_5", dream.ClaimPassed, 9, 0)
	dropped.Ended, old.Passed = ago(3), ago(30)
	return morning.Memory{
		Agent:  "iris",
		Claims: []*dream.Claim{passed, retired, lapsed, dropped, old, claim("cl_6", dream.ClaimTried, 2, 0)},
		Playbook: []*dream.Playbook{
			{Head: dream.Head{ID: "pb_1", At: ago(5)}, Claim: "cl_1", Content: "what the claim says"},
			{Head: dream.Head{ID: "pb_2", At: ago(4)}, Content: "Warn only when two signs agree."},
			{Head: dream.Head{ID: "pb_3", At: ago(40)}, Content: "An old rule."},
		},
		Open: []*dream.Prediction{
			prediction("pr_1", "Something happens.", now.Add(24*time.Hour), nil),
			prediction("pr_2", "A storm is followed by a leak.", now.Add(48*time.Hour),
				&dream.Check{When: "storm", Then: "leak"}),
			prediction("pr_3", "A storm is followed by a leak.", now.Add(50*time.Hour),
				&dream.Check{When: "storm", Then: "leak"}),
			prediction("pr_4", "Much later.", now.Add(200*time.Hour), nil),
			prediction("pr_5", "Overdue.", ago(1), nil),
		},
		Dreams: []*dream.Record{{AsOf: ago(8)}, {AsOf: ago(32)}},
	}
}

// say answers each episode but one, which was forgotten.
func say(id string, names []string) (time.Time, string, bool) {
	return ago(100), "There was " + strings.Join(names, " and ") + ".", id != "ep_b"
}

func TestAMorningListsWhatIsNewWithTheDaysThatShowIt(t *testing.T) {
	t.Parallel()
	r := morning.Of(full(), now.Add(-morning.Usual), now)
	r.Quote(say)
	golden(t, "full.txt", r.Text(time.UTC))
	require.False(t, r.IsQuiet())
	require.Equal(t, []int{2, 2, 2}, []int{len(r.Learned), len(r.Stopped), len(r.Waiting)})
	require.Equal(t, []int{5, 2, 1, 1, 1, 2}, []int{r.Open, r.Due, r.Tried, r.Dropped, r.Dreams, r.Ever})
	for _, f := range r.Findings() {
		for _, s := range f.Sighted {
			require.NotEmpty(t, s.Episodes, "%s names the episodes of %s", f.ID, s.At)
			require.False(t, s.At.IsZero(), f.ID)
		}
		require.LessOrEqual(t, len(f.Sighted), morning.MostSeen)
	}
}

func TestAWiderWindowShowsMore(t *testing.T) {
	t.Parallel()
	r := morning.Of(full(), ago(48), now)
	var ids []string
	for _, f := range r.Learned {
		ids = append(ids, f.ID)
	}
	require.Equal(t, []string{"pb_2", "cl_1", "cl_5", "pb_3"}, ids,
		"the newest first; a claim's own entry is not listed twice")
}

func TestAQuietMorningSaysWhyNothingIsNew(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]morning.Memory{
		"never-dreamt.txt":   {Agent: "iris"},
		"nothing-to-try.txt": {Agent: "iris", Dreams: []*dream.Record{{AsOf: ago(8)}}},
		"none-came-true.txt": {
			Agent: "iris", Dreams: []*dream.Record{{AsOf: ago(8)}},
			Claims: []*dream.Claim{claim("cl_1", dream.ClaimTried, 0, 1)},
		},
		"still-tried.txt": {
			Agent: "iris", Dreams: []*dream.Record{{AsOf: ago(8)}},
			Claims: []*dream.Claim{claim("cl_1", dream.ClaimTried, 0, 1), claim("cl_2", dream.ClaimTried, 2, 1)},
		},
	} {
		r := morning.Of(m, now.Add(-morning.Usual), now)
		require.True(t, r.IsQuiet())
		golden(t, name, r.Text(time.UTC))
		require.NotNil(t, r.Learned, "lists are never null")
	}
}

func TestATrendCountsWhatWasKnownAndWhatCameTrueNightByNight(t *testing.T) {
	t.Parallel()
	var dreams []*dream.Record
	for i := range 32 {
		dreams = append(dreams, &dream.Record{Head: dream.Head{ID: "d"}, AsOf: ago(24 * float64(32-i))})
	}
	passed, retired := claim("cl_1", dream.ClaimPassed, 3, 1), claim("cl_2", dream.ClaimRetired, 4, 0)
	passed.Passed, retired.Passed, retired.Ended = ago(49), ago(24*20+1), ago(24*10+1)
	trend := morning.TrendOf(dreams, []*dream.Claim{passed, retired})
	require.Len(t, trend.Nights, morning.Nights)
	var knows []int
	for _, n := range trend.Nights {
		knows = append(knows, n.Knows)
	}
	require.Equal(t, []int{
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0, // 30 to 21 nights ago
		1, 1, 1, 1, 1, 1, 1, 1, 1, 1, // the second one holds
		0, 0, 0, 0, 0, 0, 0, 0, 1, 1, // it was retired; two nights ago the first one has passed
	}, knows)
	golden(t, "trend.txt", trend.Knows()+"\n"+trend.CameTrue()+"\n")
	empty := morning.TrendOf(nil, nil)
	require.Equal(t, []string{"", ""}, []string{empty.Knows(), empty.CameTrue()})
}

func TestASparklineHasOneHeightForEachValue(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	for _, c := range []struct {
		values []float64
		most   float64
		want   string
	}{
		{nil, 1, ""},
		{[]float64{0, .5, 1}, 1, "▁▄█"},
		{[]float64{0, 0}, 0, "▁▁"},
		{[]float64{.01, nan, 2}, 1, "▁·█"},
		{[]float64{1, 2, 3, 4, 5, 6, 7, 8}, 8, "▁▂▃▄▅▆▇█"},
	} {
		require.Equal(t, c.want, morning.Sparkline(c.values, c.most))
	}
}
