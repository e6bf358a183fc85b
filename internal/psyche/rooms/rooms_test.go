package rooms_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/prompt"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/rooms"
)

func TestAPersonsMentionIsAnswered(t *testing.T) {
	t.Parallel()
	r := newRig(t, "echo")
	r.hall("echo")
	done := r.say(ada, "", "@echo what do you think?")
	require.Equal(t, []rooms.Reached{{Agent: "echo", Outcome: room.Queued, Level: dormancy.Active}}, done.Reached)
	require.Equal(t, []string{"ada: @echo what do you think?", "echo: I hear you."}, r.transcript())
	calls, err := r.Calls(t.Context(), ada, "echo", 0, 0)
	require.NoError(t, err)
	require.Len(t, calls, 1)
	require.Equal(t, room.Replied, calls[0].Outcome)
	require.EqualValues(t, 7, calls[0].Cost)
}

func TestSilenceIsAnAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t, "echo")
	r.hall("echo")
	r.minds.answer = func(string, psyche.Call) (psyche.CallAnswer, error) {
		return psyche.CallAnswer{WakeAnswer: prompt.WakeAnswer{Silent: true}}, nil
	}
	r.say(ada, "", "@echo what do you think?")
	require.Equal(t, []string{"ada: @echo what do you think?"}, r.transcript())
	calls, err := r.Calls(t.Context(), ada, "echo", 0, 0)
	require.NoError(t, err)
	require.Equal(t, room.Silent, calls[0].Outcome)
}

func TestASleeperIsWokenByAPersonAndWaitsForAgents(t *testing.T) {
	t.Parallel()
	r := newRig(t, "echo", "iris")
	r.hall("echo", "iris")
	done := r.say(ada, "echo", "@self dormant sleep for 2h because too loud")
	require.Contains(t, done.Self, "Going dormant (sleep) until")
	r.minds.answer = func(string, psyche.Call) (psyche.CallAnswer, error) {
		return psyche.CallAnswer{WakeAnswer: prompt.WakeAnswer{Silent: true}}, nil
	}
	done = r.say(ada, "iris", "@echo are you there?")
	require.Equal(t, []rooms.Reached{{"echo", room.Queued, "level", dormancy.Sleep}}, done.Reached)
	require.NotContains(t, r.minds.agentsCalled(), "id-echo")
	require.Contains(t, r.transcript(), "* echo sleeps; what agents say to it waits until it wakes.")
	done = r.say(ada, "", "@echo please come")
	require.Equal(t, []string{"echo"}, done.Woken)
	require.Contains(t, r.transcript(), "* echo is awake and active again!")
	require.Contains(t, r.minds.agentsCalled(), "id-echo")
}

func TestATimerWakesAndCarriesOutWhatWasHeld(t *testing.T) {
	t.Parallel()
	r := newRig(t, "echo")
	r.hall("echo")
	r.say(ada, "echo", "@self dormant sleep for 1h")
	done := r.say(ada, "echo", "first")
	require.True(t, done.Held)
	require.True(t, r.say(ada, "echo", "second").Held)
	next, err := r.Attend(t.Context(), "id-echo")
	require.NoError(t, err)
	require.InDelta(t, time.Hour, next.Sub(r.now()), float64(time.Minute))
	require.NotContains(t, r.transcript(), "echo: first")
	r.pass(time.Hour + time.Second)
	next, err = r.Attend(t.Context(), "id-echo")
	require.NoError(t, err)
	require.Zero(t, next)
	statements := r.transcript()
	require.Equal(t, []string{"echo: first", "echo: second"}, statements[len(statements)-2:])
	require.Contains(t, statements[len(statements)-3], "auto-woke")
}
