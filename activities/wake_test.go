package activities_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
)

func TestALookNamesTheConnectedClientAndDoesNotAnnounceSleepTwice(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.ports.Now = func() time.Time { return tonight }
	ctx := context.Background()
	visit := func(client string, cause presence.Cause, after time.Duration) {
		_, err := r.store.Arrive(ctx, presence.Visit{
			Agent:  "a",
			Client: client,
			Cause:  cause,
			Now:    tonight.Add(after),
			For:    time.Minute,
		})
		require.NoError(t, err)
	}
	look := func(after time.Duration, asleep bool) activities.CheckClientsResult {
		found, err := r.dreamRun().CheckClients(ctx,
			activities.CheckClientsRequest{Agent: "a", Now: tonight.Add(after), Asleep: asleep})
		require.NoError(t, err)
		return found
	}
	visit("alarm/harbour", presence.Alarm, 0)
	require.Empty(t, look(time.Second, true).Visit)
	visit("mara", presence.Connect, 10*time.Second)
	visit("ivo", presence.Connect, 20*time.Second)
	visit("mara", presence.Connect, 30*time.Second)
	found := look(40*time.Second, true)
	require.Equal(t, activities.Wake{Epoch: 1, Cause: presence.Connect, Client: "ivo", At: tonight.Add(20 * time.Second)},
		found.Visit, "the last client that connected")
	require.Equal(t, tonight.Add(90*time.Second), found.Until)
	require.Empty(t, look(2*time.Minute, true).Visit)
	var asleep event.AgentAsleep
	require.Zero(t, r.count(asleep.EventType(), &asleep))
	look(2*time.Minute, false)
	require.Equal(t, 1, r.count(asleep.EventType(), &asleep))
}

func TestOnlyAConnectToAHeldSleepingAgentJoins(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.ports.Now = func() time.Time { return tonight }
	ctx := context.Background()
	rouse := func(cause presence.Cause, client string) activities.RaiseEpochResult {
		raised, err := r.dreamRun().RaiseEpoch(ctx,
			activities.RaiseEpochRequest{Agent: "a", Wake: activities.Wake{Cause: cause, Client: client}, Now: tonight})
		require.NoError(t, err)
		require.Equal(t, int64(1), raised.Epoch)
		return raised
	}
	require.False(t, rouse(presence.Alarm, "").Joined, "it raised the epoch")
	require.False(t, rouse(presence.Alarm, "again").Joined)
	require.False(t, rouse("", "").Joined, "an operator's wake leaves the agent asleep")
	joined := rouse(presence.Connect, "mara")
	require.True(t, joined.Joined)
	require.Equal(t, presence.Alarm, joined.Cause, "of the wake that it joined")

	other := newRig(t)
	other.ports.Now = r.ports.Now
	r = other
	require.False(t, rouse(presence.Connect, "mara").Joined, "it raised the epoch")
	require.False(t, rouse(presence.Connect, "ivo").Joined, "a client has woken it")
}
