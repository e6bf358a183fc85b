package review_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/claims"
	"github.com/seed-56a03226/oneiros/internal/recall"
	"github.com/seed-56a03226/oneiros/internal/review"
)

var stormThenLeak = dream.Check{When: "storm", Then: "leak", Within: 12 * time.Hour}

// past lets two dozen things come up in the eight weeks before the evening, each once or twice a week.
func (l *scene) past() {
	l.Helper()
	things := []string{
		"apple", "bread", "chair", "daisy", "eagle", "flute", "grape", "house", "inlet", "jewel", "kayak", "lemon", "mango",
		"novel", "ocean", "piano", "queen", "river", "spoon", "tiger", "uncle", "viola", "wagon", "storm",
	}
	for i := range 120 {
		text := things[i%len(things)] + " and " + things[(7*i+3)%len(things)]
		l.lives(fmt.Sprintf("ep_past_%03d", i), -55+float64(i)*.45, dream.FromHuman, text)
	}
}

// storms lets so many storms come from a day on, one every two days, each with a leak six hours later if it holds.
func (l *scene) storms(first float64, n int, holds bool) float64 {
	l.Helper()
	for i := range n {
		day := first + 2*float64(i)
		l.lives(fmt.Sprintf("ep_storm_%v", day), day, dream.FromHuman, "A storm came.")
		if holds {
			l.lives(fmt.Sprintf("ep_leak_%v", day), day+.25, dream.FromHuman, "There is a leak.")
		}
		for k, thing := range []string{"apple", "bread", "chair", "river", "spoon", "piano", "kayak", "lemon", "queen"} {
			if (i+k)%2 == 0 {
				l.lives(fmt.Sprintf("ep_%s_%v", thing, day), day+.3+float64(k)/100, dream.FromHuman, thing+" again")
			}
		}
	}
	return first + 2*float64(n)
}

// claim looks up as of a day, and returns the agent's only claim.
func (l *scene) claim(day float64) *dream.Claim {
	l.Helper()
	l.now = evening.Add(time.Duration(day * float64(24*time.Hour)))
	_, err := l.LookUp(l.Context(), "a1")
	require.NoError(l, err)
	all, err := review.Claims(l.Context(), l.store, "a1")
	require.NoError(l, err)
	require.Len(l, all, 1)
	return all[0]
}

func (l *scene) playbook() []*dream.Playbook {
	l.Helper()
	items, err := l.store.Find(l.Context(), memory.Query{Agent: "a1", Kinds: []dream.Kind{dream.KindPlaybook}})
	require.NoError(l, err)
	return memory.As[*dream.Playbook](items)
}

// announced counts the events of a type.
func (l *scene) announced(p event.Payload) int {
	l.Helper()
	all, err := l.store.Events(l.Context(), "a1", 0, 0)
	require.NoError(l, err)
	n := 0
	for _, e := range all {
		if e.Type == p.EventType() {
			n++
		}
	}
	return n
}

func TestWhatKeepsComingTrueEntersThePlaybookAndIsRecalled(t *testing.T) {
	onBoth(t, func(l *scene) {
		l.past()
		l.foretells("A storm is followed by a leak.", stormThenLeak, 14*day)
		l.foretells("Storms bring leaks.", dream.Check{When: "Storms", Then: "leaks", Within: 12 * time.Hour}, 20*day)
		c := l.claim(0)
		require.Len(l, c.Sources, 2, "both say the same")
		require.Len(l, c.Decoys, claims.Decoys)
		require.Equal(l, dream.ClaimTried, c.Status)
		end := l.storms(1, 3, true)
		c = l.claim(end)
		require.Equal(l, []int{3, 0}, []int{c.Hits, c.Misses})
		require.Equal(l, dream.ClaimTried, c.Status, "three could be chance")
		require.Empty(l, l.playbook())
		end = l.storms(end, 9, true)
		c = l.claim(end)
		require.Equal(l, dream.ClaimPassed, c.Status)
		require.Equal(l, []int{12, 0}, []int{c.Hits, c.Misses})
		require.Equal(l, 12, l.announced(event.ClaimTried{}))
		require.Equal(l, 1, l.announced(event.ClaimPassed{}))
		entries := l.playbook()
		require.Len(l, entries, 1)
		require.Equal(l, c.Playbook, entries[0].ID)
		require.Contains(l, entries[0].Content, "Within 12 hours after storm comes up, leak comes up (held 12 of 12 times")
		found, err := recall.Find(l.Context(), l.store, recall.Question{
			Agent: "a1", Text: "What comes up after a storm?", Limit: 6, Filter: memory.Filter{Kinds: recall.Kinds},
		})
		require.NoError(l, err)
		require.Contains(l, idsOf(found), c.Playbook, "it is recalled while awake")

		end = l.storms(end, 1, false)
		c = l.claim(end)
		require.Equal(l, []int{12, 1}, []int{c.Hits, c.Misses}, "it keeps being watched")
		require.Contains(l, l.playbook()[0].Content, "held 12 of 13 times")
		end = l.storms(end, 12, false)
		c = l.claim(end)
		require.Equal(l, dream.ClaimRetired, c.Status)
		require.Empty(l, l.playbook(), "what stopped holding is acted by no longer")
		require.Equal(l, 1, l.announced(event.ClaimEnded{}))
	})
}

func idsOf(a recall.Answer) []string {
	var ids []string
	for _, m := range a.Memories {
		ids = append(ids, m.Item.Header().ID)
	}
	return ids
}

func TestWhatHoldsNoMoreOftenThanChanceIsDropped(t *testing.T) {
	onBoth(t, func(l *scene) {
		l.past()
		l.foretells("A storm is followed by a leak.", stormThenLeak, 30*day)
		c := l.claim(l.storms(1, 12, false))
		require.Equal(l, dream.ClaimDropped, c.Status)
		require.Empty(l, l.playbook())
		require.Equal(l, 1, l.announced(event.ClaimEnded{}))
		before := c.Trials()
		c = l.claim(l.storms(30, 2, true))
		require.Equal(l, before, c.Trials(), "it is not tried any longer")
	})
}

func TestDreamsAndStrangersGiveAClaimNothing(t *testing.T) {
	onBoth(t, func(l *scene) {
		l.past()
		l.foretells("A storm is followed by a leak.", stormThenLeak, 30*day)
		for i := range 12 {
			at := 1 + 2*float64(i)
			l.lives(fmt.Sprintf("ep_s%d", i), at, dream.FromDream, "A storm came.")
			l.lives(fmt.Sprintf("ep_l%d", i), at+.2, dream.FromWeb, "There is a leak.")
			l.lives(fmt.Sprintf("ep_a%d", i), at+.3, dream.FromAgent, "A storm and a leak.")
		}
		require.Zero(l, l.claim(30).Trials())
	})
}

func TestAClaimThatNobodySaysAnyMoreLapses(t *testing.T) {
	onBoth(t, func(l *scene) {
		l.past()
		id := l.foretells("A storm is followed by a leak.", stormThenLeak, 30*day)
		l.claim(0)
		p, err := memory.One[*dream.Prediction](l.Context(), l.store, "a1", id)
		require.NoError(l, err)
		p.State = dream.Archived
		_, err = l.store.Commit(l.Context(), memory.Write{Agent: "a1", Cause: "operator", Change: []dream.Item{p}})
		require.NoError(l, err)
		c := l.claim(1)
		require.Equal(l, dream.ClaimLapsed, c.Status)
		require.Equal(l, "the predictions that said it are gone", c.Reason)
	})
}

func TestEachOutcomeIsCountedOnceByManyServers(t *testing.T) {
	onBoth(t, func(l *scene) {
		l.past()
		l.foretells("A storm is followed by a leak.", stormThenLeak, 30*day)
		end := l.storms(1, 12, true)
		l.now = evening.Add(time.Duration(end * float64(day)))
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				_, err := l.LookUp(l.Context(), "a1")
				if !errors.Is(err, memory.ErrStale) { // after several tries it is left to the next look
					require.NoError(l, err)
				}
			})
		}
		group.Wait()
		c := l.claim(end)
		require.Equal(l, 12, c.Hits)
		require.Equal(l, 12, l.announced(event.ClaimTried{}))
		require.Equal(l, 1, l.announced(event.ClaimPassed{}))
		require.Len(l, l.playbook(), 1)
	})
}

// failing is a store whose next commits fail, before or after they are written.
type failing struct {
	memory.DreamStore
	after bool
}

func (f *failing) Commit(ctx context.Context, w memory.Write) (memory.Receipt, error) {
	if f.after {
		if _, err := f.DreamStore.Commit(ctx, w); err != nil {
			return memory.Receipt{}, err
		}
	}
	return memory.Receipt{}, errors.New("the process was killed")
}

func TestALookThatIsKilledIsRepeatedWithoutLossOrDouble(t *testing.T) {
	onBoth(t, func(l *scene) {
		l.past()
		id := l.foretells("A storm is followed by a leak.", stormThenLeak, 30*day)
		end := l.storms(1, 12, true)
		l.now = evening.Add(time.Duration(end * float64(day)))
		for _, after := range []bool{false, true} {
			killed := l.Resolver
			killed.Memory = &failing{l.store, after}
			_, err := killed.LookUp(l.Context(), "a1")
			require.ErrorContains(l, err, "killed")
		}
		require.Equal(l, dream.PredictionRight, l.becomes(id, end).Status)
		c := l.claim(end)
		require.Equal(l, []int{12, 0}, []int{c.Hits, c.Misses})
		require.Equal(l, 12, l.announced(event.ClaimTried{}))
		require.Equal(l, 1, l.announced(event.PredictionResolved{}))
		require.Len(l, l.playbook(), 1)
	})
}
