package psyche_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// fact is the n-th of sentences that have little in common.
func fact(n int) string {
	return fmt.Sprintf("Please remember that locker%d of the harbour%d holds lantern%d and rope%d for keeper%d.", n,
		n, n, n, n)
}

func TestATurnBeyondAQuotaIsAnsweredAndNotRemembered(t *testing.T) {
	t.Parallel()
	r := setup(t, func(_ *psyche.Ports, o *psyche.Options) { o.MemoriesPerPrincipal, o.MemoriesPerUser = 3, 2 })
	ann, bob, other := speaker("key_a", "home", "ann"), speaker("key_b", "home", "bob"), speaker("key_c", "", "ann")
	n := 0
	say := func(c psyche.Caller) {
		t.Helper()
		n++
		text, _ := r.talk(turn(c, chat(fact(n))))
		require.Contains(t, text, "Yes.", "no turn fails by a quota")
		r.settle()
	}
	own := func(c psyche.Caller) psyche.Kept {
		t.Helper()
		s, err := r.Status(t.Context(), c, "echo")
		require.NoError(t, err)
		return s.Own
	}
	for range 3 {
		say(ann)
	}
	require.Equal(t, psyche.Kept{Memories: 2, Limit: 2, Full: true}, own(ann))
	require.EqualValues(t, 1, r.Counts()["full"])
	_, err := r.Remember(t.Context(), ann, "echo", fact(100), .9)
	var fault *psyche.Fault
	require.ErrorAs(t, err, &fault)
	require.Equal(t, "memory_quota", fault.Code)
	require.Contains(t, fault.Message, "serve.memories_per_user")

	say(bob)
	say(bob)
	require.Equal(t, psyche.Kept{Memories: 1, Limit: 2, Full: true}, own(bob), "the principal's quota is reached")
	say(other)
	require.Equal(t, psyche.Kept{Memories: 1, Limit: 2}, own(other), "another principal has its own")

	items, err := r.store.Find(t.Context(), memory.Query{Agent: r.agent.ID, Owners: []string{ann.Owner()}})
	require.NoError(t, err)
	_, err = r.store.Forget(t.Context(), r.agent.ID, items[0].Header().ID)
	require.NoError(t, err)
	r.clock.pass(time.Minute)
	say(ann)
	require.Equal(t, 2, own(ann).Memories, "room that was made is found")
}

func TestStatusCountsWhatTheCallerMaySee(t *testing.T) {
	t.Parallel()
	r := setup(t)
	own := &dream.Episode{Head: dream.Head{
		ID:    "own",
		Agent: r.agent.ID,
		Kind:  dream.KindEpisode,
		At:    dawn,
		State: dream.Live,
		Taint: dream.FromHuman,
	}, Content: "A diary."}
	_, err := r.store.Commit(t.Context(), memory.Write{Agent: r.agent.ID, Cause: "import", Add: []dream.Item{own}})
	require.NoError(t, err)
	for n, c := range []psyche.Caller{ann, ann, caller("key_a", "bob"), caller("key_b", "ann")} {
		_, err := r.Remember(t.Context(), c, "echo", fact(n), .9)
		require.NoError(t, err)
	}
	operator := caller("key_o", "")
	operator.Key.Role = access.Operator
	for _, c := range []struct {
		who        psyche.Caller
		counts, of int
	}{{ann, 3, 2}, {caller("key_a", "bob"), 2, 1}, {caller("key_z", ""), 1, 0}, {operator, 5, 0}} {
		s, err := r.Status(t.Context(), c.who, "echo")
		require.NoError(t, err)
		require.Equal(t, c.counts, s.Memories["episode"], c.who.Owner())
		require.Equal(t, c.of, s.Own.Memories, c.who.Owner())
	}
}
