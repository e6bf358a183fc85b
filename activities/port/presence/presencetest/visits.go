package presencetest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/circadian"
)

var visits = []clause{
	{"AnAgentWithoutVisitsHasAZeroStatus", nobodyVisited},
	{"TheFirstVisitRaises", firstVisitRaises},
	{"RenewalsDoNotRaise", renewalsDoNotRaise},
	{"ARenewalNeverShortens", renewalNeverShortens},
	{"AVisitAfterTheLeaseRaisesAgain", visitAfterLeaseRaises},
	{"TheLockOutlastsAShortLease", lockOutlastsLease},
	{"AgentsAreApart", agentsAreApart},
	{"OneOfManySimultaneousVisitsRaises", oneOfManyRaises},
	{"AnInvalidVisitIsRefusedAndChangesNothing", badVisitRefused},
	{"AnAgentThatWasWokenKeepsItsHandle", wokenKeepsHandle},
	{"AVisitWithAnotherHandleIsRefusedAndChangesNothing", otherNameRefused},
	{"AClientConnectingDuringAnAlarmWakesTheAgent", clientWakesDuringAlarm},
}

func clientWakesDuringAlarm(t *testing.T, s Store) {
	for i, cause := range []presence.Cause{presence.Alarm, presence.Operator} {
		from := time.Duration(i) * time.Hour
		held := visit("alarm/harbour/price", from)
		held.Cause = cause
		first := raise(t, s, held)
		require.True(t, first.LeftAsleep())
		require.Equal(t, circadian.Sleeping, status(t, s, from).State(false, at(from)))
		held.Now = at(from + time.Second)
		require.Equal(t, first, arrive(t, s, held).Wake)
		require.False(t, status(t, s, from+time.Second).Visited, "a repeated alarm is no client")

		client := arrive(t, s, visit("web", from+2*time.Second))
		require.False(t, client.Raised)
		require.Equal(t, first, client.Wake)
		_, err := s.Depart(t.Context(), echo, "web", at(from+3*time.Second), 0)
		require.NoError(t, err)
		st := status(t, s, from+10*time.Second)
		require.True(t, st.Visited)
		require.Equal(t, circadian.Awake, st.State(false, at(from+10*time.Second)),
			"until no lease is left, as in the workflow")
	}
	raise(t, s, visit("web", 3*time.Hour))
	arrive(t, s, visit("other", 3*time.Hour))
	require.False(t, status(t, s, 3*time.Hour).Visited, "a wake by a client does not leave the agent asleep")
}

func nobodyVisited(t *testing.T, s Store) {
	require.Zero(t, status(t, s, 0))
	require.Zero(t, epoch(t, s))
	untold, err := s.Unrecorded(t.Context())
	require.NoError(t, err)
	require.Empty(t, untold)
}

func firstVisitRaises(t *testing.T, s Store) {
	a := arrive(t, s, visit("web", 0))
	require.True(t, a.Raised)
	require.Empty(t, a.Digest)
	want := presence.Wake{
		Agent:  echo,
		Epoch:  1,
		Cause:  presence.Connect,
		Client: "web",
		At:     dawn,
		Digest: a.Digest,
	}
	require.Equal(t, want, a.Wake)
	require.EqualValues(t, 1, epoch(t, s))
	require.Equal(t, presence.Status{
		Epoch: 1, Lock: at(lock), Last: &want, Seen: dawn,
		Leases: []presence.Lease{{Client: "web", Cause: presence.Connect, Since: dawn, Until: at(hold)}},
	}, status(t, s, 0))
}

func renewalsDoNotRaise(t *testing.T, s Store) {
	first := raise(t, s, visit("web", 0))
	for _, v := range []presence.Visit{
		visit("web", 30*time.Second), visit("web", 80*time.Second),
		visit("app", 100*time.Second),
	} {
		a := arrive(t, s, v)
		require.False(t, a.Raised)
		require.Equal(t, first, a.Wake)
	}
	st := status(t, s, 100*time.Second)
	require.Equal(t, []presence.Lease{
		{Client: "app", Cause: presence.Connect, Since: at(100 * time.Second), Until: at(160 * time.Second)},
		{Client: "web", Cause: presence.Connect, Since: dawn, Until: at(140 * time.Second)},
	}, st.Leases)
	require.Equal(t, at(105*time.Second), st.Lock)
	require.Equal(t, at(100*time.Second), st.Seen)
	require.Equal(t, &first, st.Last)
	require.EqualValues(t, 1, st.Epoch)
}

// renewalNeverShortens: a late renewal never shortens the time for which a client holds the agent awake.
func renewalNeverShortens(t *testing.T, s Store) {
	raise(t, s, visit("web", 10*time.Second))
	late := visit("web", 0)
	late.For, late.Lock = time.Second, 0
	require.False(t, arrive(t, s, late).Raised)
	st := status(t, s, 10*time.Second)
	require.Len(t, st.Leases, 1)
	require.Equal(t, at(10*time.Second+hold), st.Leases[0].Until)
	require.Equal(t, at(10*time.Second+lock), st.Lock)
	require.Equal(t, at(10*time.Second), st.Seen)
}

func visitAfterLeaseRaises(t *testing.T, s Store) {
	raise(t, s, visit("web", 0))
	require.Equal(t, []string{"web"}, clients(status(t, s, hold-1).Leases))
	require.Empty(t, status(t, s, hold).Leases, "a lease has ended at its Until")
	require.False(t, arrive(t, s, visit("app", hold-1)).Raised)
	w := raise(t, s, visit("web", 2*hold))
	require.EqualValues(t, 2, w.Epoch)
	st := status(t, s, 2*hold)
	require.Equal(t,
		[]presence.Lease{{Client: "web", Cause: presence.Connect, Since: at(2 * hold), Until: at(3 * hold)}}, st.Leases)
	require.Equal(t, &w, st.Last)
	last := raise(t, s, visit("app", 3*hold))
	require.EqualValues(t, 3, last.Epoch, "a client that connects when the last lease ends wakes the agent")
}

func lockOutlastsLease(t *testing.T, s Store) {
	v := visit("web", 0)
	v.For = time.Second
	raise(t, s, v)
	st := status(t, s, 3*time.Second)
	require.Empty(t, st.Leases)
	require.True(t, st.Awake(at(3*time.Second)))
	require.Equal(t, at(lock), st.Until())
	v.Now, v.Lock = at(lock-1), 0
	require.False(t, arrive(t, s, v).Raised)
	v.Now = at(lock - 1 + time.Second)
	require.True(t, arrive(t, s, v).Raised)
}

func agentsAreApart(t *testing.T, s Store) {
	raise(t, s, visit("web", 0))
	other := visit("web", 0)
	other.Agent = vega
	w := raise(t, s, other)
	require.EqualValues(t, 1, w.Epoch)
	_, err := s.Dismiss(t.Context(), vega, at(time.Second))
	require.NoError(t, err)
	require.Equal(t, []string{"web"}, clients(status(t, s, time.Second).Leases))
	require.EqualValues(t, 1, epoch(t, s))
}

func oneOfManyRaises(t *testing.T, s Store) {
	const clients, rounds = 16, 5
	for round := range rounds {
		var raised atomic.Int32
		wakes := make([]presence.Wake, clients)
		together(t, clients, func(ctx context.Context, i int) error {
			a, err := s.Arrive(ctx, visit(fmt.Sprint("client ", i), time.Duration(round)*time.Hour))
			if a.Raised {
				raised.Add(1)
			}
			wakes[i] = a.Wake
			return err
		})
		require.EqualValues(t, 1, raised.Load())
		for _, w := range wakes {
			require.Equal(t, wakes[0], w)
			require.EqualValues(t, round+1, w.Epoch)
		}
		require.Len(t, status(t, s, time.Duration(round)*time.Hour).Leases, clients)
	}
}

func badVisitRefused(t *testing.T, s Store) {
	bad := func(field string, spoil func(*presence.Visit)) {
		t.Helper()
		v := visit("web", 0)
		spoil(&v)
		a, err := s.Arrive(t.Context(), v)
		require.ErrorContains(t, err, field)
		require.Zero(t, a)
	}
	bad("agent", func(v *presence.Visit) { v.Agent = "" })
	bad("client", func(v *presence.Visit) { v.Client = "" })
	bad("cause", func(v *presence.Visit) { v.Cause = "boredom" })
	bad("now", func(v *presence.Visit) { v.Now = time.Time{} })
	bad("lease", func(v *presence.Visit) { v.For = 0 })
	bad("lease", func(v *presence.Visit) { v.For = -time.Second })
	bad("lock", func(v *presence.Visit) { v.Lock = -time.Second })
	require.Zero(t, status(t, s, 0))
	require.Zero(t, epoch(t, s))
}

// The agent's counters are stored under its handle, and the next agent of that handle would inherit them.
func wokenKeepsHandle(t *testing.T, s Store) {
	called := func(id, handle string) error {
		return s.PutAgent(t.Context(), dream.Agent{ID: id, Handle: handle, Zone: "UTC", Tier: dream.Core})
	}
	require.NoError(t, called(echo, "echo"))
	require.NoError(t, called(echo, "murmur"), "there was no visit yet")
	arrive(t, s, visit("one", 0))
	err := called(echo, "echo")
	require.ErrorIs(t, err, memory.ErrDreamt)
	require.ErrorContains(t, err, `stored under "murmur"`)
	require.ErrorIs(t, called(vega, "murmur"), memory.ErrTaken)
	require.NoError(t, called(echo, "murmur"))
}

func otherNameRefused(t *testing.T, s Store) {
	under := func(agent, handle string) error {
		v := visit("web", 0)
		v.Agent, v.Handle = agent, handle
		a, err := s.Arrive(t.Context(), v)
		if err != nil {
			require.Zero(t, a)
		}
		return err
	}
	require.ErrorIs(t, under(echo, "echo"), memory.ErrNotFound, "no agent has that handle")
	for _, a := range []dream.Agent{{ID: echo, Handle: "echo"}, {ID: vega, Handle: "vega"}} {
		a.Zone, a.Tier = "UTC", dream.Core
		require.NoError(t, s.PutAgent(t.Context(), a))
	}
	require.ErrorIs(t, under(echo, "vega"), memory.ErrNotFound)
	require.ErrorIs(t, under(vega, "echo"), memory.ErrNotFound)
	require.Zero(t, status(t, s, 0))
	require.NoError(t, under(echo, "echo"))
	require.EqualValues(t, 1, epoch(t, s))
}
