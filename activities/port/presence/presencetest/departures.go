package presencetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/presence"
)

var departures = []clause{
	{"ADepartureRestartsTheLock", goingStartsLock},
	{"TheLastDepartureLetsTheAgentSleep", lastToGo},
	{"AClientWithoutALeaseChangesNothing", withoutLease},
	{"AnOperatorEndsEveryLease", dismissed},
	{"AnInvalidDepartureIsRefused", badDepartureRefused},
}

func depart(t *testing.T, s presence.Store, client string, after, lock time.Duration) presence.Status {
	t.Helper()
	st, err := s.Depart(t.Context(), echo, client, at(after), lock)
	require.NoError(t, err)
	return st
}

func goingStartsLock(t *testing.T, s Store) {
	w := raise(t, s, visit("web", 0))
	st := depart(t, s, "web", 10*time.Second, lock)
	require.Empty(t, st.Leases)
	require.Equal(t, at(10*time.Second+lock), st.Lock)
	require.Equal(t, at(10*time.Second), st.Seen)
	require.Equal(t, &w, st.Last)
	require.EqualValues(t, 1, st.Epoch)
	require.Equal(t, st, status(t, s, 10*time.Second))
	require.False(t, arrive(t, s, visit("web", 14*time.Second)).Raised, "during the lock the agent is awake")
	st = depart(t, s, "web", 15*time.Second, 0)
	require.Equal(t, at(14*time.Second+lock), st.Lock, "a lock is never shortened")
	require.True(t, arrive(t, s, visit("web", 14*time.Second+lock)).Raised)
}

func lastToGo(t *testing.T, s Store) {
	raise(t, s, visit("web", 0))
	arrive(t, s, visit("app", time.Second))
	st := depart(t, s, "web", 2*time.Second, lock)
	require.Equal(t, []string{"app"}, clients(st.Leases))
	require.True(t, st.Awake(at(30*time.Second)))
	st = depart(t, s, "app", 30*time.Second, lock)
	require.Empty(t, st.Leases)
	require.True(t, st.Awake(at(30*time.Second)))
	require.False(t, st.Awake(at(30*time.Second+lock)))
	require.EqualValues(t, 2, raise(t, s, visit("web", 30*time.Second+lock)).Epoch)
}

func withoutLease(t *testing.T, s Store) {
	require.Zero(t, depart(t, s, "web", 0, lock))
	raise(t, s, visit("web", 0))
	before := status(t, s, time.Second)
	require.Equal(t, before, depart(t, s, "stranger", time.Second, time.Hour))
	require.Equal(t, before, status(t, s, time.Second))
	after := depart(t, s, "web", hold, time.Hour) // its lease has just expired
	require.Empty(t, after.Leases)
	require.Equal(t, before.Lock, after.Lock)
	require.Equal(t, before.Seen, after.Seen)
	require.EqualValues(t, 2, raise(t, s, visit("web", hold)).Epoch)
}

func dismissed(t *testing.T, s Store) {
	st, err := s.Dismiss(t.Context(), echo, dawn)
	require.NoError(t, err)
	require.Zero(t, st)
	w := raise(t, s, visit("web", 0))
	arrive(t, s, visit("app", time.Second))
	st, err = s.Dismiss(t.Context(), echo, at(2*time.Second))
	require.NoError(t, err)
	require.Empty(t, st.Leases)
	require.False(t, st.Awake(at(2*time.Second)))
	require.Equal(t, &w, st.Last)
	require.EqualValues(t, 1, st.Epoch)
	require.Equal(t, st, status(t, s, 2*time.Second))
	sleep(t, s, "echo/0001", 2*time.Second)
	require.EqualValues(t, 2, raise(t, s, visit("web", 3*time.Second)).Epoch)
}

func badDepartureRefused(t *testing.T, s Store) {
	raise(t, s, visit("web", 0))
	before := status(t, s, time.Second)
	_, err := s.Depart(t.Context(), "", "web", at(time.Second), lock)
	require.ErrorContains(t, err, "agent")
	_, err = s.Depart(t.Context(), echo, "", at(time.Second), lock)
	require.ErrorContains(t, err, "client")
	_, err = s.Depart(t.Context(), echo, "web", at(time.Second), -lock)
	require.ErrorContains(t, err, "lock")
	_, err = s.Dismiss(t.Context(), "", at(time.Second))
	require.ErrorContains(t, err, "agent")
	require.Equal(t, before, status(t, s, time.Second))
}
