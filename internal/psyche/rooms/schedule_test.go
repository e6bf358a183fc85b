package rooms_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/prompt"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/rooms"
)

func TestACheckInCallsAtItsTimeAndMaySaySomethingInTheRoom(t *testing.T) {
	t.Parallel()
	r := newRig(t, "echo")
	r.hall("echo")
	at := r.now().Add(time.Hour)
	item, err := r.CheckIn(t.Context(), ada, "echo", rooms.CheckInRequest{At: at, Room: "hall", Message: "Look around."})
	require.NoError(t, err)
	require.Equal(t, room.Waiting, item.State)
	require.Contains(t, r.looked, "echo")
	next, err := r.Attend(t.Context(), "id-echo")
	require.NoError(t, err)
	require.WithinDuration(t, at, next, time.Second)
	require.Empty(t, r.minds.agentsCalled())
	r.pass(time.Hour + time.Second)
	next, err = r.Attend(t.Context(), "id-echo")
	require.NoError(t, err)
	require.Zero(t, next)
	require.Equal(t, []string{"echo: I hear you."}, r.transcript())
	require.Equal(t, prompt.AtSetTimes, r.minds.calls[0].Wake.Trigger)
	require.Equal(t, "hall", r.minds.calls[0].Wake.Room)
}

func TestACheckInIsRefusedWithTheFieldThatIsWrong(t *testing.T) {
	t.Parallel()
	r := newRig(t, "echo")
	r.hall()
	for want, request := range map[string]rooms.CheckInRequest{
		"at is missing":        {},
		"which is past":        {At: r.now().Add(-time.Minute)},
		"at most a year ahead": {At: r.now().Add(400 * 24 * time.Hour)},
		"echo in hall":         {At: r.now().Add(time.Hour), Room: "hall"},
	} {
		_, err := r.CheckIn(t.Context(), ada, "echo", request)
		require.ErrorContains(t, err, want)
	}
	_, err := r.CheckIn(t.Context(), client, "echo", rooms.CheckInRequest{At: r.now().Add(time.Hour)})
	var fault *psyche.Fault
	require.ErrorAs(t, err, &fault)
	require.Equal(t, "role_required", fault.Code)
}

func TestAPersonIsNotShownUnderAnAgentsName(t *testing.T) {
	t.Parallel()
	r := newRig(t, "echo")
	r.hall()
	_, err := r.Join(t.Context(), ada, rooms.JoinRequest{Room: "hall", Person: "mallory", Name: "echo"})
	require.ErrorContains(t, err, `name is "echo", which is an agent's`)
}
