package chatter_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed-56a03226/oneiros/internal/admission"
	"github.com/seed-56a03226/oneiros/internal/admission/chatter"
)

func TestARateHoldsInEveryStretch(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		rate := chatter.Rate{
			Most:     rapid.IntRange(1, 5).Draw(r, "most"),
			Per:      time.Duration(rapid.IntRange(1, 60).Draw(r, "per")) * time.Second,
			CoolDown: time.Duration(rapid.IntRange(0, 60).Draw(r, "cool")) * time.Second,
		}
		var w chatter.Window
		var taken []time.Time
		now := monday
		for range 60 {
			now = now.Add(time.Duration(rapid.IntRange(0, 20_000).Draw(r, "gap")) * time.Millisecond)
			next, ok := w.Take(rate, now)
			w = next
			if ok {
				taken = append(taken, now)
			}
			require.LessOrEqual(r, len(w.Times), rate.Most)
		}
		require.NotEmpty(r, taken)
		for i := rate.Most; i < len(taken); i++ {
			require.GreaterOrEqual(r, taken[i].Sub(taken[i-rate.Most]), rate.Per)
		}
	})
}

func TestARefusedAttemptClosesAPairForAMinute(t *testing.T) {
	t.Parallel()
	pair := chatter.Default.Pair
	var w chatter.Window
	try := func(after time.Duration) bool {
		next, ok := w.Take(pair, monday.Add(after))
		w = next
		return ok
	}
	require.True(t, try(0) && try(time.Second) && try(2*time.Second))
	require.False(t, try(50*time.Second), "a fourth within the minute")
	require.False(t, try(70*time.Second), "the cool-down")
	require.False(t, try(109*time.Second), "an attempt during it does not make it longer")
	require.True(t, try(110*time.Second))
	require.True(t, try(111*time.Second) && try(112*time.Second))
	require.False(t, try(-time.Hour), "a clock that went back lifts no limit")
	require.True(t, try(-time.Hour+2*time.Minute), "and closes nothing for long")
}

// open returns records that no call has touched.
func open() chatter.Records { return chatter.Records{} }

func TestHopsAreCountedAndResetByAPerson(t *testing.T) {
	t.Parallel()
	require.Equal(t, 1, chatter.NextHops(admission.Person, 7))
	require.Equal(t, 1, chatter.NextHops(admission.Agent, 0))
	require.Equal(t, 4, chatter.NextHops(admission.Agent, 3))
	require.Equal(t, 1, chatter.NextHops(admission.Agent, -9), "no metadata takes hops away")
	require.Equal(t, 3, chatter.NextHops(admission.Stranger, 2), "a stranger resets nothing")

	records := open()
	limit, notice, records := chatter.Default.Admit(chatter.Call{Sender: admission.Agent, Hops: 4}, records, monday)
	require.Equal(t, admission.Hops, limit)
	require.Equal(t, chatter.Notice("Agents have answered each other 4 times in a row: this goes no further until a "+
		"person writes."), notice)
	limit, notice, records = chatter.Default.Admit(chatter.Call{Sender: admission.Agent, Hops: 5}, records, monday)
	require.Equal(t, admission.Hops, limit)
	require.Empty(t, notice, "the room is told once")
	limit, _, records = chatter.Default.Admit(chatter.Call{Sender: admission.Agent, Hops: 3}, records, monday)
	require.Equal(t, admission.Within, limit)
	_, _, records = chatter.Default.Admit(chatter.Call{Sender: admission.Person}, records, monday)
	require.Zero(t, records.Alone)
}

func TestEachLimitIsReachedAfterItsNumber(t *testing.T) {
	t.Parallel()
	rules := chatter.Default
	rules.Warn, rules.Stop = 1000, 2000
	for _, c := range []struct {
		limit   admission.Limit
		call    chatter.Call
		allowed int
		fresh   func(*chatter.Records) // what another pair, agent or room has of its own
	}{
		{admission.Pair, chatter.Call{Sender: admission.Agent}, 3, func(*chatter.Records) {}},
		{admission.Mentions, chatter.Call{Sender: admission.Agent, Named: true}, 3, func(r *chatter.Records) {
			r.Pair = chatter.Window{}
		}},
		{admission.Called, chatter.Call{Sender: admission.Agent}, 10, func(r *chatter.Records) {
			r.Pair = chatter.Window{}
		}},
		{admission.Room, chatter.Call{Sender: admission.Agent}, 30, func(r *chatter.Records) {
			r.Pair, r.Agent = chatter.Window{}, chatter.Window{}
		}},
		{admission.Often, chatter.Call{Sender: admission.Person}, 20, func(*chatter.Records) {}},
		{admission.Often, chatter.Call{Sender: admission.Stranger}, 5, func(*chatter.Records) {}},
	} {
		records := open()
		for i := range c.allowed {
			limit, _, next := rules.Admit(c.call, records, monday.Add(time.Duration(i)*time.Second))
			require.Equal(t, admission.Within, limit, "%s: number %d", c.limit, i+1)
			records = next
			c.fresh(&records)
		}
		before := records
		limit, _, after := rules.Admit(c.call, records, monday.Add(time.Duration(c.allowed)*time.Second))
		require.Equal(t, c.limit, limit)
		require.Equal(t, before.Alone, after.Alone, "a refused call counts nowhere")
		require.Equal(t, before.Room, after.Room)
	}
}

func TestARoomOfAgentsAloneGoesOnAfterARest(t *testing.T) {
	t.Parallel()
	rules := chatter.Default
	records := open()
	now := monday
	allowed := 0
	for range 20 {
		now = now.Add(time.Minute)
		records.Pair, records.Mentions = chatter.Window{}, chatter.Window{}
		limit, _, next := rules.Admit(chatter.Call{Sender: admission.Agent}, records, now)
		records = next
		if limit == admission.Within {
			allowed++
		} else {
			require.Equal(t, admission.Alone, limit)
		}
	}
	require.Equal(t, rules.Stop, allowed)
	limit, _, _ := rules.Admit(chatter.Call{Sender: admission.Agent}, records, now.Add(rules.Rest))
	require.Equal(t, admission.Within, limit)
	_, _, records = rules.Admit(chatter.Call{Sender: admission.Person}, records, now)
	limit, _, _ = rules.Admit(chatter.Call{Sender: admission.Agent}, records, now)
	require.Equal(t, admission.Within, limit, "a person has spoken")
}

func TestABurstIsTwoCalls(t *testing.T) {
	t.Parallel()
	var b chatter.Burst
	b, start := b.Add(monday)
	require.Equal(t, chatter.AtOnce, start)
	b, start = b.Add(monday.Add(time.Second))
	require.Equal(t, chatter.Later, start)
	due := b.Next
	b, start = b.Add(monday.Add(time.Second))
	require.Equal(t, chatter.Joined, start)
	_, fired := b.Fire(due.Add(-time.Nanosecond))
	require.False(t, fired)
	b, fired = b.Fire(due)
	require.True(t, fired)
	_, fired = b.Fire(due)
	require.False(t, fired, "a timer that fires twice")
	_, start = b.Add(due.Add(chatter.Gather))
	require.Equal(t, chatter.AtOnce, start)
	_, start = b.Add(monday.Add(-time.Hour))
	require.Equal(t, chatter.Later, start, "a clock that went back: it waits no longer than it would")
}

func item(id string, sender admission.Sender, at time.Time) chatter.Item {
	return chatter.Item{ID: id, Sender: sender, Priority: chatter.PriorityOf(sender), Arrived: at}
}

func put(t *testing.T, b chatter.Inbox, i chatter.Item, want chatter.Outcome) chatter.Inbox {
	t.Helper()
	next, outcome, _ := b.Put(i, i.Arrived)
	require.Equal(t, want, outcome)
	return next
}

func TestAnInboxAnswersByPriorityAndArrival(t *testing.T) {
	t.Parallel()
	var b chatter.Inbox
	b = put(t, b, item("a1", admission.Agent, monday), chatter.Kept)
	b = put(t, b, item("p1", admission.Person, monday.Add(time.Second)), chatter.Kept)
	b = put(t, b, item("s1", admission.Stranger, monday.Add(2*time.Second)), chatter.Kept)
	b = put(t, b, item("p2", admission.Person, monday.Add(3*time.Second)), chatter.Kept)
	wake := item("w", admission.Person, monday.Add(4*time.Second))
	wake.Priority = chatter.WakePriority
	b = put(t, b, wake, chatter.Kept)
	b = put(t, b, item("p1", admission.Person, monday.Add(5*time.Second)), chatter.Duplicate)
	b, taken := b.Take(4)
	var ids []string
	for _, i := range taken {
		ids = append(ids, i.ID)
	}
	require.Equal(t, []string{"w", "p1", "p2", "s1"}, ids)
	b = put(t, b, item("p2", admission.Person, monday.Add(6*time.Second)), chatter.Duplicate)
	require.Len(t, b.Waiting, 1)
	same, taken := b.Take(-1)
	require.Empty(t, taken)
	require.Equal(t, b.Waiting, same.Waiting)
}

func TestCallsOfAgentsExpireAndThoseOfPeopleDoNot(t *testing.T) {
	t.Parallel()
	var b chatter.Inbox
	b = put(t, b, item("a", admission.Agent, monday), chatter.Kept)
	b = put(t, b, item("s", admission.Stranger, monday), chatter.Kept)
	b = put(t, b, item("p", admission.Person, monday), chatter.Kept)
	late := monday.Add(chatter.Lifetime)
	same, expired := b.Expire(late.Add(-time.Nanosecond))
	require.Empty(t, expired)
	require.Equal(t, b.Waiting, same.Waiting)
	b, expired = b.Expire(late.Add(365 * 24 * time.Hour))
	require.Len(t, expired, 2)
	require.Equal(t, "p", b.Waiting[0].ID)
}

func TestAFullInboxKeepsPeople(t *testing.T) {
	t.Parallel()
	var b chatter.Inbox
	for i := range chatter.MostWaiting {
		b = put(t, b, item(fmt.Sprintf("a%d", i), admission.Agent, monday), chatter.Kept)
	}
	b = put(t, b, item("one more", admission.Agent, monday), chatter.Full)
	next, outcome, displaced := b.Put(item("p", admission.Person, monday), monday)
	require.Equal(t, chatter.Kept, outcome)
	require.Len(t, displaced, 1)
	require.Equal(t, "a199", displaced[0].ID, "the newest of the lowest priority")
	require.Equal(t, "p", next.Waiting[0].ID)
	require.Len(t, next.Waiting, chatter.MostWaiting)
	require.Equal(t, "a199", b.Waiting[chatter.MostWaiting-1].ID, "the former inbox is unchanged")

	_, outcome, displaced = b.Put(item("late", admission.Agent, monday.Add(chatter.Lifetime)), monday.Add(chatter.Lifetime))
	require.Equal(t, chatter.Kept, outcome)
	require.Len(t, displaced, chatter.MostWaiting, "what has expired makes room first")
}

// Whatever is put in, each id is taken once at most, and the order and the bound hold.
func TestAnInboxKeepsItsPromises(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		var b chatter.Inbox
		seen := map[string]bool{}
		now := monday
		for range rapid.IntRange(1, 300).Draw(r, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 3600).Draw(r, "gap")) * time.Second)
			if rapid.IntRange(0, 3).Draw(r, "step") == 0 {
				next, taken := b.Take(rapid.IntRange(0, 5).Draw(r, "most"))
				for _, i := range taken {
					require.False(r, seen[i.ID])
					seen[i.ID] = true
				}
				b = next
				continue
			}
			sender := rapid.SampledFrom([]admission.Sender{admission.Person, admission.Stranger, admission.Agent}).
				Draw(r, "sender")
			next, outcome, _ := b.Put(item(fmt.Sprint(rapid.IntRange(0, 99).Draw(r, "id")), sender, now), now)
			require.NotEqual(r, chatter.Full, outcome)
			b = next
			require.LessOrEqual(r, len(b.Waiting), chatter.MostWaiting)
			for i := 1; i < len(b.Waiting); i++ {
				one, two := b.Waiting[i-1], b.Waiting[i]
				require.GreaterOrEqual(r, one.Priority, two.Priority)
				require.True(r, one.Priority > two.Priority || !two.Arrived.Before(one.Arrived))
			}
		}
	})
}
