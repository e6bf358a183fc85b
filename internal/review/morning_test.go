package review_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/review"
)

func TestAMorningQuotesTheDaysOnWhichAClaimHeld(t *testing.T) {
	onBoth(t, func(l *scene) {
		l.past()
		l.foretells("A storm is followed by a leak.", stormThenLeak, 14*day)
		agent := dream.Agent{ID: "a1", Handle: "iris"}
		before, err := review.Morning(l.Context(), l.store, agent, evening.Add(-day), evening)
		require.NoError(l, err)
		require.True(l, before.IsQuiet())
		end := l.storms(1, 12, true)
		c := l.claim(end)
		require.Equal(l, dream.ClaimPassed, c.Status)

		r, err := review.Morning(l.Context(), l.store, agent, l.now.Add(-day), l.now)
		require.NoError(l, err)
		require.Len(l, r.Learned, 1, "the claim, and not its playbook entry once more")
		found := r.Learned[0]
		require.Equal(l, c.ID, found.ID)
		require.Len(l, found.Sighted, 3)
		newest := found.Sighted[0]
		require.Equal(l, []string{"ep_storm_23", "ep_leak_23"}, newest.Episodes)
		require.Equal(l, "A storm came. … There is a leak.", newest.Says)
		require.True(l, newest.At.Equal(evening.Add(time.Duration(23.25*24*float64(time.Hour)))), newest.At)

		later, err := review.Morning(l.Context(), l.store, agent, l.now, l.now.Add(day))
		require.NoError(l, err)
		require.True(l, later.IsQuiet(), "what passed before is not new")
	})
}

func TestTheNewsOfADreamAreWhatPassedSinceTheDreamBefore(t *testing.T) {
	onBoth(t, func(l *scene) {
		l.past()
		l.foretells("A storm is followed by a leak.", stormThenLeak, 14*day)
		c := l.claim(l.storms(1, 12, true))
		record := func(id string, asOf time.Time) *dream.Record {
			return &dream.Record{
				Head: dream.Head{
					ID:    id,
					Agent: "a1",
					Kind:  dream.KindRecord,
					At:    asOf,
					State: dream.Live,
					Taint: dream.FromDream,
					Dream: id,
				},
				Outcome: dream.Completed,
				AsOf:    asOf,
				Ended:   asOf.Add(time.Minute),
				Tier:    dream.Hardened,
			}
		}
		first, second := record("dream/iris/0001", c.Passed.Add(-time.Hour)),
			record("dream/iris/0002", c.Passed.Add(time.Hour))
		third := record("dream/iris/0003", c.Passed.Add(24*time.Hour))
		_, err := l.store.Commit(l.Context(),
			memory.Write{Agent: "a1", Cause: "test", Add: []dream.Item{first, second, third}})
		require.NoError(l, err)
		for n, want := range map[*dream.Record]int{first: 0, second: 1, third: 0} {
			learned, stopped, err := review.News(l.Context(), l.store, "a1", n)
			require.NoError(l, err)
			require.Len(l, learned, want, n.ID)
			require.Empty(l, stopped)
		}
		trend, err := review.Trend(l.Context(), l.store, "a1")
		require.NoError(l, err)
		require.Equal(l, []int{0, 1, 1}, []int{trend.Nights[0].Knows, trend.Nights[1].Knows, trend.Nights[2].Knows})
	})
}
