package console_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/morning"
)

// learns lets the agent echo know one claim since two hours and stop believing another.
func (d *fixture) learns() {
	d.Helper()
	make := func(id, status, says string, right bool) *dream.Claim {
		return &dream.Claim{
			Head:        head(dream.KindClaim, id, now.Add(-20*24*time.Hour), false),
			Check:       dream.Check{When: "rope", Then: "boat"},
			Says:        says,
			Status:      status,
			From:        now.Add(-time.Hour),
			Hits:        6,
			Misses:      1,
			DecoyHits:   4,
			DecoyMisses: 60,
			Chance:      .12,
			Wealth:      40,
			Passed:      now.Add(-2 * time.Hour),
			Outcomes: []dream.ClaimOutcome{
				{At: now.Add(-26 * time.Hour), Right: right, Evidence: []string{"e-0001"}, Wealth: 20},
				{At: now.Add(-3 * time.Hour), Right: right, Evidence: []string{"e-gone"}, Wealth: 40},
			},
		}
	}
	passed := make("cl_0011223344556677", dream.ClaimPassed, "Where rope comes up, boat comes up too.", true)
	retired := make("cl_8899aabbccddeeff", dream.ClaimRetired, "Within 1 day after fog comes up, ferry comes up.",
		false)
	retired.Passed, retired.Ended = now.Add(-200*time.Hour), now.Add(-time.Hour)
	retired.Reason = "it comes true too seldom since it passed"
	_, err := d.store.Commit(d.Context(),
		memory.Write{Agent: "echo", Cause: "test", Add: []dream.Item{passed, retired}})
	require.NoError(d, err)
}

// dreamtAt says as of when the dream of the fixture was dreamt.
func (d *fixture) dreamtAt(asOf time.Time) {
	d.Helper()
	record, err := memory.One[*dream.Record](d.Context(), d.store, "echo", dreamID)
	require.NoError(d, err)
	record.AsOf = asOf
	_, err = d.store.Commit(d.Context(), memory.Write{Agent: "echo", Cause: "test", Change: []dream.Item{record}})
	require.NoError(d, err)
}

func TestTheMorningReadsWellAndNamesItsDays(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	d.ok(80, "morning", "-a", "echo", "--since", "2h")
	d.golden("morning-quiet-80")
	d.learns()
	for width, name := range map[int]string{80: "morning-80", 200: "morning-200"} {
		d.ok(width, "morning", "-a", "echo")
		d.golden(name)
	}
	d.ok(0, "morning", "-a", "echo", "--since", "2026-11-20T05:00", "--json")
	var r morning.Report
	require.NoError(t, json.Unmarshal(d.out.Bytes(), &r))
	require.Empty(t, r.Learned, "it passed before")
	require.Empty(t, r.Stopped)
	for since, says := range map[string]string{
		"soon":       `--since is "soon"; it must be a time such as 2026-11-20`,
		"2126-11-20": "--since is 2126-11-20, which is still to come",
		"":           `--since is ""`,
	} {
		require.Equal(t, exit.Usage, d.run(80, "morning", "-a", "echo", "--since", since), since)
		require.Contains(t, d.err.String(), says)
	}
}

func TestTheReportOfADreamBeginsWithWhatWasLearned(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	d.ok(80, "dreams", "show", "last", "-a", "echo")
	require.NotContains(t, d.out.String(), "Learned")
	d.dreamtAt(now.Add(-30 * time.Minute))
	d.learns()
	d.ok(80, "dreams", "show", dreamID, "-a", "echo")
	require.Regexp(t, `^Learned   Where rope comes up, boat comes up too \(held 6 of 7 times;`, d.out.String())
	require.Contains(t, d.out.String(),
		"\nStopped   Within 1 day after fog comes up, ferry comes up (it comes true too")
	require.Contains(t, d.out.String(), "\nChanged   ")
}

func TestAnAgentIsShownWithTheTrendOfItsDreams(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	d.learns()
	d.dreamtAt(now.Add(-30 * time.Minute))
	d.ok(80, "agents", "show", "echo")
	require.Regexp(t, `(?m)^knows +█ 1 claim now; 1 at the first of 1 dream$`, d.out.String())
	require.Regexp(t, `(?m)^came true +▄ 2 of 4 outcomes \(50 %\)$`, d.out.String())
}
