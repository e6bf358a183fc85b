package circadian_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/circadian"
)

const refused = circadian.State("refused")

// table is every pair of state and event, in the order of circadian.States.
var table = map[circadian.Event][4]circadian.State{
	circadian.IdleTimeout: {circadian.Dreaming, refused, refused, refused},
	circadian.Requested:   {circadian.Dreaming, refused, refused, refused},
	circadian.Resumed:     {circadian.Dreaming, refused, refused, refused},
	circadian.Connect:     {circadian.Waking, circadian.Waking, circadian.Waking, circadian.Awake},
	circadian.Alarm:       {circadian.Sleeping, circadian.Waking, circadian.Waking, circadian.Awake},
	circadian.Operator:    {circadian.Sleeping, circadian.Waking, circadian.Waking, circadian.Awake},
	circadian.Ready:       {refused, refused, circadian.Awake, refused},
	circadian.Ended:       {circadian.Sleeping, circadian.Sleeping, circadian.Waking, circadian.Awake},
	circadian.ClientLeft:  {circadian.Sleeping, circadian.Dreaming, circadian.Waking, circadian.Sleeping},
}

func TestEveryEventInEveryState(t *testing.T) {
	t.Parallel()
	require.Len(t, table, len(circadian.Events))
	for _, event := range circadian.Events {
		row, ok := table[event]
		require.True(t, ok, event)
		for i, state := range circadian.States {
			next, err := circadian.Step(state, event)
			if row[i] != refused {
				require.NoError(t, err, "%s while %s", event, state)
				require.Equal(t, row[i], next, "%s while %s", event, state)
				continue
			}
			var why *circadian.Refused
			require.ErrorAs(t, err, &why, "%s while %s", event, state)
			require.Equal(t, state, next, "a refusal changes nothing")
			require.Equal(t, circadian.Refused{State: state, Event: event, Reason: why.Reason}, *why)
			require.NotEmpty(t, why.Reason)
			require.NotContains(t, err.Error(), `"`, "the event is described in words")
		}
	}
}

func TestADreamRequestWhileAwakeIsRefusedWithTheReason(t *testing.T) {
	t.Parallel()
	_, err := circadian.Step(circadian.Awake, circadian.Requested)
	require.EqualError(t, err, "a dream was requested while the agent is awake: "+
		"a client, an alarm or the wake lock holds it awake; try again when it sleeps")
	_, err = circadian.Step(circadian.Dreaming, circadian.Requested)
	require.EqualError(t, err, "a dream was requested while the agent is dreaming: "+
		"it has one dream at a time; wait until that one has ended, or wake it")
}

func TestUnknownStatesAndEventsAreRefused(t *testing.T) {
	t.Parallel()
	next, err := circadian.Step("resting", circadian.Connect)
	require.Equal(t, circadian.State("resting"), next)
	require.ErrorContains(t, err, `there is no state "resting"; there are [sleeping dreaming waking awake]`)
	next, err = circadian.Step(circadian.Awake, "snooze")
	require.Equal(t, circadian.Awake, next)
	require.ErrorContains(t, err, `there is no event "snooze"`)
	_, err = circadian.Step("", "")
	var why *circadian.Refused
	require.True(t, errors.As(err, &why))
}

func TestAnInterruptedNightReturnsToSleep(t *testing.T) {
	t.Parallel()
	state := circadian.Sleeping
	for _, step := range []struct {
		event circadian.Event
		want  circadian.State
	}{
		{circadian.IdleTimeout, circadian.Dreaming},
		{circadian.Connect, circadian.Waking},
		{circadian.Connect, circadian.Waking}, // a second client waits for awake
		{circadian.Ended, circadian.Waking},   // the interrupted dream reports its end
		{circadian.Ready, circadian.Awake},
		{circadian.ClientLeft, circadian.Sleeping},
		{circadian.Resumed, circadian.Dreaming},
		{circadian.Alarm, circadian.Waking},
		{circadian.Ready, circadian.Awake},
		{circadian.Ended, circadian.Awake},
		{circadian.ClientLeft, circadian.Sleeping}, // the alarm's hold has ended
		{circadian.Requested, circadian.Dreaming},
		{circadian.Ended, circadian.Sleeping},
	} {
		next, err := circadian.Step(state, step.event)
		require.NoError(t, err)
		require.Equal(t, step.want, next, "%s while %s", step.event, state)
		state = next
	}
}
