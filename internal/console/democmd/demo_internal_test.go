package democmd

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/deploy"
)

func claimOf(id, status string, check dream.Check, hits, misses int) *dream.Claim {
	return &dream.Claim{
		Head:        dream.Head{ID: id},
		Check:       check,
		Status:      status,
		Hits:        hits,
		Misses:      misses,
		DecoyHits:   1,
		DecoyMisses: 9,
		Wealth:      float64(hits),
	}
}

func TestADayCountsWhatCameTrueSinceTheDayBefore(t *testing.T) {
	t.Parallel()
	fog := dream.Check{When: "fog", Then: "ferry", Within: 12 * time.Hour}
	before := snapshot{claimOf("cl_1", dream.ClaimTried, fog, 2, 1)}
	now := snapshot{
		claimOf("cl_1", dream.ClaimPassed, fog, 4, 1),
		claimOf("cl_2", dream.ClaimTried, dream.Check{When: "smoke", Then: "wind"}, 0, 1),
	}
	var d day
	d.count(before, now)
	require.Equal(t, score{2, 3}, d.CameTrue)
	require.Equal(t, score{1, 10}, d.Decoys)
	require.Equal(t, []string{"smoke + wind"}, d.Foretold)
	claims, _ := now.outcomes(before.with(dream.ClaimTried))
	require.Equal(t, score{4, 5}, claims, "only what was tried before")
}

func TestTheQuestionIsAboutWhatIsSurest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		check dream.Check
		want  string
	}{
		{dream.Check{When: "fog", Then: "ferry", Within: time.Hour}, "What comes after fog?"},
		{dream.Check{When: "smoke", Then: "wind"}, "What comes with smoke?"},
		{dream.Check{Then: "letter"}, "What do you expect of letter?"},
	} {
		require.Equal(t, c.want, askAbout(snapshot{
			claimOf("cl_1", dream.ClaimPassed, dream.Check{When: "less", Then: "sure"}, 3, 0),
			claimOf("cl_2", dream.ClaimPassed, c.check, 9, 0),
			claimOf("cl_3", dream.ClaimRetired, dream.Check{When: "no", Then: "longer"}, 20, 0),
		}))
	}
	require.Empty(t, askAbout(snapshot{claimOf("cl_1", dream.ClaimTried, dream.Check{When: "a", Then: "b"}, 3, 0)}))
}

func TestAClaimIsShownInFewWords(t *testing.T) {
	t.Parallel()
	for want, check := range map[string]dream.Check{
		"fog > ferry (12h)": {When: "fog", Then: "ferry", Within: 12 * time.Hour},
		"fog > ferry (3d)":  {When: "fog", Then: "ferry", Within: 72 * time.Hour},
		"fog + no ferry":    {When: "fog", Then: "ferry", Not: true},
		"2 letter":          {Then: "letter", Least: 2},
	} {
		require.Equal(t, want, short(claimOf("cl_1", dream.ClaimTried, check, 0, 0)))
	}
}

func TestRowsFitTheScreen(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := &player{
		app:       &cli.App{Out: &out, Width: 80},
		chronicle: &deploy.Chronicle{Days: []time.Time{time.Date(2026, 9, 7, 0, 0, 0, 0, time.UTC)}},
	}
	p.head()
	p.row(0, day{
		Entries:  6,
		Dream:    "dream/house/0001",
		CameTrue: score{12, 13},
		Decoys:   score{16, 114},
		Recall:   &dream.Recall{Requested: 145, Before: 144, After: 143},
		Foretold: []string{"laundry > fuse (12h)", "fog > ferry (12h)", "smoke + wind"},
		Passed:   []string{"Where smoke comes up, wind comes up too."},
		Retired:  []string{"Within 12 hours after laundry comes up, fuse comes up."},
	})
	p.row(0, day{Entries: 4})
	p.row(0, day{Entries: 2, Dream: "dream/house/0002", Outcome: "empty"})
	p.row(0, day{Entries: 2, Dream: "dream/house/0003", Outcome: "undone", Foretold: []string{"a + b"}})
	require.Equal(t, `
NIGHT  DAY     LIVED  CAME TRUE     DECOYS   RECALL  FORETOLD ANEW
    1  7 Sep       6   12 of 13  16 of 114  143/145  laundry > fuse (12h), fog…
       recall: 144 of 145 before the night, 143 after it
       + passed: Where smoke comes up, wind comes up too.
       - retired: Within 12 hours after laundry comes up, fuse comes up.
    -  7 Sep       4          -          -        -
    1  7 Sep       2          -          -        -  empty
    1  7 Sep       2          -          -        -  undone, recall was worse
`, out.String())
}

func TestABackgroundIsShownWithoutItsFrame(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"(tool, 2026-09-26) Where smoke comes up, wind comes up too", "(human, 2026-09-11) The fog had gone."},
		quotedIn("[Background: quotations.]\n\n(tool, 2026-09-26)\n> Where smoke comes up,\n> wind comes up too\n\n"+
			"(human, 2026-09-11)\n> The fog had gone.\n\n[End of the background.]"))
	require.Empty(t, quotedIn(""))
}
