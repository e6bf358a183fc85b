package presence_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/circadian"
)

var dawn = time.Date(2026, 3, 1, 6, 0, 0, 0, time.UTC)

func TestAVisitNamesEverythingThatIsWrongWithIt(t *testing.T) {
	t.Parallel()
	for _, cause := range []presence.Cause{presence.Connect, presence.Alarm, presence.Operator} {
		require.NoError(t, presence.Visit{
			Agent:  "a",
			Client: "c",
			Cause:  cause,
			Now:    dawn,
			For:    1,
		}.Validate())
	}
	err := presence.Visit{Cause: "boredom", Lock: -time.Second}.Validate()
	for _, fault := range []string{
		"agent is empty", "client is empty", `cause is "boredom"; causes are connect, alarm and operator`,
		"now is not given", "lease lasts 0s", "lock is -1s",
	} {
		require.ErrorContains(t, err, fault)
	}
}

func TestANoticeNamesAnAgentAndAnEpoch(t *testing.T) {
	t.Parallel()
	require.NoError(t, presence.WakeNotice{Agent: "a", Epoch: 1}.Validate())
	require.ErrorContains(t, presence.WakeNotice{Epoch: 1}.Validate(), "agent is empty")
	require.ErrorContains(t, presence.WakeNotice{Agent: "a"}.Validate(), "epoch is 0")
}

func TestAnAgentIsAwakeUntilTheLastLeaseAndTheLockHaveEnded(t *testing.T) {
	t.Parallel()
	require.False(t, presence.Status{}.Awake(dawn))
	s := presence.Status{
		Leases: []presence.Lease{
			{Client: "a", Until: dawn.Add(time.Minute)},
			{Client: "b", Until: dawn.Add(time.Second)},
		},
		Lock: dawn.Add(5 * time.Second),
	}
	require.Equal(t, dawn.Add(time.Minute), s.Until())
	require.True(t, s.Awake(dawn.Add(time.Minute-1)))
	require.False(t, s.Awake(dawn.Add(time.Minute)))
	s.Leases = nil
	require.Equal(t, dawn.Add(5*time.Second), s.Until())
}

func TestTheStateOfAnAgentFollowsFromWhoHoldsItAndItsSlot(t *testing.T) {
	t.Parallel()
	alarm := presence.Lease{Client: "alarm/harbour/price", Cause: presence.Alarm, Until: dawn.Add(time.Minute)}
	client := presence.Lease{Client: "web", Cause: presence.Connect, Until: dawn.Add(time.Minute)}
	by := func(w presence.Wake, leases ...presence.Lease) presence.Status {
		return presence.Status{Epoch: 1, Last: &w, Leases: leases}
	}
	visited := func(s presence.Status) presence.Status {
		s.Visited = true
		return s
	}
	for name, c := range map[string]struct {
		status   presence.Status
		dreaming bool
		want     circadian.State
	}{
		"nobody came": {presence.Status{}, false, circadian.Sleeping},
		"it dreams":   {presence.Status{}, true, circadian.Dreaming},
		"a client came": {
			by(presence.Wake{Cause: presence.Connect}, client), false,
			circadian.Awake,
		},
		"a client came, its dream still stops": {
			by(presence.Wake{Cause: presence.Connect, Dream: "d"}, client),
			true, circadian.Waking,
		},
		"an alarm holds a sleeper": {
			by(presence.Wake{Cause: presence.Alarm}, alarm), false,
			circadian.Sleeping,
		},
		"an operator holds a sleeper": {
			by(presence.Wake{Cause: presence.Operator}, alarm), false,
			circadian.Sleeping,
		},
		"an alarm woke a dream": {
			by(presence.Wake{Cause: presence.Alarm, Dream: "d"}, alarm),
			false, circadian.Awake,
		},
		"an alarm wakes a dream": {
			by(presence.Wake{Cause: presence.Alarm, Dream: "d"}, alarm), true,
			circadian.Waking,
		},
		"a client came while an alarm holds": {
			by(presence.Wake{Cause: presence.Alarm}, alarm, client), false,
			circadian.Awake,
		},
		"and left, and the alarm still holds": {
			visited(by(presence.Wake{Cause: presence.Alarm}, alarm)), false,
			circadian.Awake,
		},
		"an alarm holds whom a client woke": {
			by(presence.Wake{Cause: presence.Connect}, alarm), false,
			circadian.Awake,
		},
		"the lock alone, after a client": {
			presence.Status{Lock: dawn.Add(1), Last: &presence.Wake{Cause: presence.Connect}}, false, circadian.Awake,
		},
		"the lock alone, after a sleeper's alarm": {
			presence.Status{Lock: dawn.Add(1), Last: &presence.Wake{Cause: presence.Alarm}}, false, circadian.Sleeping,
		},
		"all of it is over": {
			by(presence.Wake{Cause: presence.Connect}), false,
			circadian.Sleeping,
		},
	} {
		require.Equal(t, c.want, c.status.State(c.dreaming, dawn), name)
	}
}
