package presence_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/presence"
)

var dawn = time.Date(2026, 3, 1, 6, 0, 0, 0, time.UTC)

func TestAVisitNamesEverythingThatIsWrongWithIt(t *testing.T) {
	t.Parallel()
	for _, cause := range []presence.Cause{presence.Knock, presence.Alarm, presence.Operator} {
		require.NoError(t, presence.Visit{Agent: "a", Client: "c", Cause: cause, Now: dawn, For: 1}.Validate())
	}
	err := presence.Visit{Cause: "boredom", Lock: -time.Second}.Validate()
	for _, fault := range []string{"agent is empty", "client is empty", `cause is "boredom"`, "now is not given", "lease is for 0s", "lock is -1s"} {
		require.ErrorContains(t, err, fault)
	}
}

func TestARingNamesAnAgentAndAnEpoch(t *testing.T) {
	t.Parallel()
	require.NoError(t, presence.Ring{Agent: "a", Epoch: 1}.Validate())
	require.ErrorContains(t, presence.Ring{Epoch: 1}.Validate(), "agent is empty")
	require.ErrorContains(t, presence.Ring{Agent: "a"}.Validate(), "epoch is 0")
}

func TestAnAgentIsAwakeUntilTheLastLeaseAndTheLockHaveEnded(t *testing.T) {
	t.Parallel()
	require.False(t, presence.Standing{}.Awake(dawn))
	s := presence.Standing{
		Leases: []presence.Lease{{Client: "a", Until: dawn.Add(time.Minute)}, {Client: "b", Until: dawn.Add(time.Second)}},
		Lock:   dawn.Add(5 * time.Second),
	}
	require.Equal(t, dawn.Add(time.Minute), s.Until())
	require.True(t, s.Awake(dawn.Add(time.Minute-1)))
	require.False(t, s.Awake(dawn.Add(time.Minute)))
	s.Leases = nil
	require.Equal(t, dawn.Add(5*time.Second), s.Until())
}
