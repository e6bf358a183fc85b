package dormancy_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(level dormancy.Level) dormancy.State { return dormancy.State{Level: level, SetAt: noon} }

func until(level dormancy.Level, end time.Time) dormancy.State {
	return dormancy.State{Level: level, Until: end, SetAt: noon}
}

func TestTheLevelOfARoomWinsInThatRoom(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ general, own, want dormancy.Level }{
		{"", "", dormancy.Active},
		{dormancy.Sleep, "", dormancy.Sleep},
		{dormancy.Sleep, dormancy.Active, dormancy.Active},
		{dormancy.Sleep, dormancy.HumanOnly, dormancy.HumanOnly},
		{"", dormancy.MentionOnly, dormancy.MentionOnly},
		{dormancy.Active, dormancy.Sleep, dormancy.Sleep},
	} {
		got := dormancy.Effective(at(c.general), at(c.own))
		require.Equal(t, c.want, got.Level, c)
		require.Equal(t, c.want != dormancy.Active, got.Dormant(), c)
	}
	require.False(t, dormancy.State{}.Dormant())
}

func TestWakingClearsEverythingButTheSequence(t *testing.T) {
	t.Parallel()
	s := dormancy.State{Sequence: 6}.Set(dormancy.State{
		Level:  dormancy.HumanOnly,
		Reason: "too loud",
		Until:  noon.Add(time.Hour),
		SetAt:  noon,
	})
	require.Equal(t, int64(7), s.Sequence)
	require.Equal(t, dormancy.State{Sequence: 8}, s.Clear())
}

func TestANewLevelReplacesTheTimerOfTheFormerOne(t *testing.T) {
	t.Parallel()
	first := dormancy.State{}.Set(until(dormancy.Sleep, noon.Add(time.Hour)))
	second := first.Set(until(dormancy.MentionOnly, noon.Add(2*time.Hour)))
	late := noon.Add(3 * time.Hour)
	same, ended := second.Expire(first.Sequence, late)
	require.False(t, ended)
	require.Equal(t, second, same)
	after, ended := second.Expire(second.Sequence, late)
	require.True(t, ended)
	require.Equal(t, dormancy.State{Sequence: 3}, after)
}

func TestATimerThatRacesAWakeEndsNothing(t *testing.T) {
	t.Parallel()
	asleep := dormancy.State{}.Set(until(dormancy.Sleep, noon.Add(time.Hour)))
	again := asleep.Clear().Set(until(dormancy.Sleep, noon.Add(time.Minute)))
	same, ended := again.Expire(asleep.Sequence, asleep.Until)
	require.False(t, ended, "the agent was woken and went to sleep anew")
	require.Equal(t, again, same)
	_, ended = asleep.Clear().Expire(asleep.Sequence, asleep.Until)
	require.False(t, ended)
	_, ended = asleep.Expire(asleep.Sequence, asleep.Until.Add(-time.Nanosecond))
	require.False(t, ended, "a clock that went back: it is too early")
	_, ended = asleep.Set(at(dormancy.Sleep)).Expire(asleep.Sequence+1, asleep.Until)
	require.False(t, ended, "a state without a timer")
}

func TestAPersonEndsSleepAndNoOtherLevel(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		general, own dormancy.Level
		ended        bool
		here, there  dormancy.Level
	}{
		{"", "", false, dormancy.Active, dormancy.Active},
		{dormancy.Sleep, "", true, dormancy.Active, dormancy.Active},
		{"", dormancy.Sleep, true, dormancy.Active, dormancy.Active},
		{dormancy.Sleep, dormancy.Sleep, true, dormancy.Active, dormancy.Active},
		{dormancy.HumanOnly, dormancy.Sleep, true, dormancy.HumanOnly, dormancy.HumanOnly},
		{dormancy.Sleep, dormancy.MentionOnly, false, dormancy.MentionOnly, dormancy.Sleep},
		{dormancy.MentionOnly, "", false, dormancy.MentionOnly, dormancy.MentionOnly},
	} {
		general, own, ended := dormancy.EndSleep(at(c.general), at(c.own))
		require.Equal(t, c.ended, ended, c)
		require.Equal(t, c.here, dormancy.Effective(general, own).Level, c)
		require.Equal(t, c.there, dormancy.Effective(general, dormancy.State{}).Level, c)
	}
}

// Whatever happens in whatever order, a timer ends the state that it was set for and no other.
func TestATimerEndsOnlyItsOwnState(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		var s dormancy.State
		var timers []dormancy.State
		for range rapid.IntRange(1, 30).Draw(r, "changes") {
			before := s
			switch change := rapid.IntRange(0, 2).Draw(r, "change"); {
			case change == 0:
				hours := rapid.IntRange(1, 9).Draw(r, "hours")
				s = s.Set(until(dormancy.Sleep, noon.Add(time.Duration(hours)*time.Hour)))
				timers = append(timers, s)
			case change == 1:
				s = s.Clear()
			case len(timers) > 0:
				timer := rapid.SampledFrom(timers).Draw(r, "timer")
				next, ended := s.Expire(timer.Sequence, timer.Until)
				require.Equal(r, s == timer, ended)
				s = next
				if !ended {
					require.Equal(r, before, s)
					continue
				}
			default:
				continue
			}
			require.Greater(r, s.Sequence, before.Sequence)
		}
	})
}

func TestWrongStatesAreNamed(t *testing.T) {
	t.Parallel()
	good := at(dormancy.Sleep)
	require.NoError(t, good.Validate())
	for want, change := range map[string]func(*dormancy.State){
		`level "deep" must be active`: func(s *dormancy.State) { s.Level = "deep" },
		`level "" must be active`:     func(s *dormancy.State) { s.Level = "" },
		"reason has 201 characters":   func(s *dormancy.State) { s.Reason = strings.Repeat("é", 201) },
		"must be one line":            func(s *dormancy.State) { s.Reason = "a\nb" },
		"set_at is empty":             func(s *dormancy.State) { s.SetAt = time.Time{} },
	} {
		wrong := good
		change(&wrong)
		require.ErrorContains(t, wrong.Validate(), want)
	}
}

func TestTheWordsOnTheWireAreKnown(t *testing.T) {
	t.Parallel()
	require.Equal(t, []dormancy.Level{"active", "mention-only", "human-only", "sleep"}, dormancy.Levels)
	require.Equal(t, []dormancy.Kind{"person", "agent"}, dormancy.Kinds)
	require.Equal(t, []dormancy.Trust{"own", "stranger"}, dormancy.Trusts)
	require.False(t, dormancy.Level("").Valid() || dormancy.Kind("").Valid() || dormancy.Trust("").Valid())
	for _, level := range dormancy.Levels {
		require.True(t, level.Valid())
	}
	for i := range dormancy.Kinds {
		require.True(t, dormancy.Kinds[i].Valid() && dormancy.Trusts[i].Valid())
	}
}

func TestAStateKeepsItsJSON(t *testing.T) {
	t.Parallel()
	s := dormancy.State{
		Level:    dormancy.MentionOnly,
		Reason:   "too loud",
		Until:    noon.Add(time.Hour),
		SetAt:    noon,
		Sequence: 3,
	}
	body, err := json.Marshal(s)
	require.NoError(t, err)
	require.JSONEq(t, `{"level":"mention-only","reason":"too loud","until":"2026-03-01T13:00:00Z",`+
		`"set_at":"2026-03-01T12:00:00Z","sequence":3}`, string(body))
	var back dormancy.State
	require.NoError(t, json.Unmarshal(body, &back))
	require.Equal(t, s, back)
	body, err = json.Marshal(dormancy.State{})
	require.NoError(t, err)
	require.JSONEq(t, `{}`, string(body))
}
