package presencetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
)

var wakes = []clause{
	{"AConnectingClientAppliesTheMoodOfTheDreamOnce", connectAppliesMood},
	{"AnAlarmAppliesNoMood", alarmAppliesNone},
	{"TheNewestMoodCounts", newestMoodCounts},
	{"AMoodGoesWithTheSlot", moodGoesWithSlot},
	{"TheMoodOfAWakeIsUndoneWithItsDream", moodUndone},
	{"ADreamThatWasNotWokenIsWokenAlthoughALeaseIsLive", unwokenDreamRaises},
	{"AWakeNeverChanges", wakeIsFixed},
	{"AMoodOutsideItsRangeIsRefused", badMoodRefused},
	{"AWakeReturnsTheMoodAsItHasSettled", wakeReturnsSettled},
	{"AForeseenMoodSettlesFromTheTimeItWasComputed", foreseenSettles},
}

var (
	joy    = mood.PAD{Pleasure: .5, Arousal: .25, Dominance: -.125}
	sorrow = mood.PAD{Pleasure: -.5}
)

func connectAppliesMood(t *testing.T, s Store) {
	require.NoError(t,
		commit(t.Context(), s,
			memory.Write{Cause: "operator", Affect: &dream.Affect{PAD: sorrow, Since: dawn, Cause: "operator"}}))
	f := sleep(t, s, "echo/0001", 0)
	foresee(t, s, f, &joy, "entry")
	require.Equal(t, sorrow, affectOf(t, s), "until a client connects, the affect stays")
	w := raise(t, s, visit("web", time.Second))
	require.Equal(t, presence.Wake{
		Agent:  echo,
		Epoch:  1,
		Cause:  presence.Connect,
		Client: "web",
		At:     at(time.Second),
		Dream:  "echo/0001",
		Affect: joy,
		Delta:  after(sorrow, time.Second).Distance(joy),
		Digest: []string{"entry"},
	}, w)
	a, err := s.Affect(t.Context(), echo)
	require.NoError(t, err)
	require.Equal(t, dream.Affect{PAD: joy, Since: at(time.Second), Cause: "echo/0001"}, a)
	require.NoError(t,
		commit(t.Context(), s,
			memory.Write{Cause: "operator", Affect: &dream.Affect{PAD: sorrow, Since: dawn, Cause: "operator"}}))
	again := raise(t, s, visit("web", time.Hour)) // the woken dream still holds the slot
	require.Equal(t, "echo/0001", again.Dream)
	require.Equal(t, after(sorrow, time.Hour), again.Affect)
	require.Zero(t, again.Delta)
	require.Empty(t, again.Digest)
	require.Equal(t, sorrow, affectOf(t, s))
}

// after returns what is left of a mood after some time.
func after(m mood.PAD, passed time.Duration) mood.PAD { return mood.Settled(m, mood.PAD{}, passed) }

func wakeReturnsSettled(t *testing.T, s Store) {
	felt := &dream.Affect{PAD: sorrow, Since: dawn, Cause: "operator"}
	require.NoError(t, commit(t.Context(), s, memory.Write{Cause: "operator", Affect: felt}))
	for _, hours := range []time.Duration{1, 5, 9} {
		w := raise(t, s, visit("web", hours*time.Hour))
		require.Equal(t, after(sorrow, hours*time.Hour), w.Affect)
		require.Zero(t, w.Delta)
	}
	a, err := s.Affect(t.Context(), echo)
	require.NoError(t, err)
	require.Equal(t, *felt, a, "reading it does not change it")
}

func foreseenSettles(t *testing.T, s Store) {
	f := sleep(t, s, "echo/0001", 0)
	w := memory.Write{Fence: f, OnWake: &memory.OnWake{Mood: &joy, Since: dawn}}
	require.NoError(t, commit(t.Context(), s, w))
	woken := raise(t, s, visit("web", 3*time.Hour))
	require.Equal(t, after(joy, 3*time.Hour), woken.Affect)
	require.Equal(t, mood.PAD{}.Distance(woken.Affect), woken.Delta)
	a, err := s.Affect(t.Context(), echo)
	require.NoError(t, err)
	require.Equal(t, dream.Affect{PAD: joy, Since: dawn, Cause: "echo/0001"}, a)
}

func alarmAppliesNone(t *testing.T, s Store) {
	f := sleep(t, s, "echo/0001", 0)
	foresee(t, s, f, &joy, "entry")
	alarm := visit("alarm/tides", 0)
	alarm.Cause = presence.Alarm
	w := raise(t, s, alarm)
	require.Equal(t, "echo/0001", w.Dream)
	require.Zero(t, w.Affect)
	require.Zero(t, w.Delta)
	require.Equal(t, []string{"entry"}, w.Digest)
	require.Zero(t, affectOf(t, s))
	later := raise(t, s, visit("web", time.Hour))
	require.Zero(t, later.Affect, "a later client does not get the mood that an alarm dropped")
	require.Zero(t, later.Delta)
	operator := visit("operator", 2*time.Hour)
	operator.Cause = presence.Operator
	require.NoError(t, s.FreeSlot(t.Context(), echo, f))
	foresee(t, s, sleep(t, s, "echo/0002", 90*time.Minute), &joy)
	require.Equal(t, joy, raise(t, s, operator).Affect)
}

func newestMoodCounts(t *testing.T, s Store) {
	f := sleep(t, s, "echo/0001", 0)
	foresee(t, s, f, &joy)
	foresee(t, s, f, &sorrow)
	require.NoError(t, commit(t.Context(), s, memory.Write{Fence: f})) // does not set a mood
	require.Equal(t, sorrow, raise(t, s, visit("web", 0)).Affect)
	require.NoError(t, s.FreeSlot(t.Context(), echo, f))
	f = sleep(t, s, "echo/0002", time.Hour)
	foresee(t, s, f, &joy)
	foresee(t, s, f, nil)
	w := raise(t, s, visit("web", time.Hour))
	require.Equal(t, after(sorrow, time.Hour), w.Affect, "the waking mood stays")
	require.Zero(t, w.Delta)
}

func moodGoesWithSlot(t *testing.T, s Store) {
	f := sleep(t, s, "echo/0001", 0)
	foresee(t, s, f, &joy, "entry")
	_, err := s.TakeSlot(t.Context(), echo, slot("echo/0001", time.Second), memory.Fence{}) // confirms the slot
	require.NoError(t, err)
	thief, err := s.TakeSlot(t.Context(), echo, slot("echo/0002", time.Second), f)
	require.NoError(t, err)
	w := raise(t, s, visit("web", 0))
	require.Equal(t, "echo/0002", w.Dream)
	require.Zero(t, w.Affect)
	require.Equal(t, []string{"entry"}, w.Digest)
	require.NoError(t, s.FreeSlot(t.Context(), echo, thief.Fence))
	f = sleep(t, s, "echo/0003", time.Hour)
	foresee(t, s, f, &joy, "another")
	require.NoError(t, s.FreeSlot(t.Context(), echo, f))
	w = raise(t, s, visit("web", 2*time.Hour))
	require.Empty(t, w.Dream)
	require.Zero(t, w.Affect)
	require.Equal(t, []string{"another"}, w.Digest)
}

func moodUndone(t *testing.T, s Store) {
	require.NoError(t,
		commit(t.Context(), s,
			memory.Write{Cause: "operator", Affect: &dream.Affect{PAD: sorrow, Since: dawn, Cause: "operator"}}))
	f := sleep(t, s, "echo/0001", 0)
	foresee(t, s, f, &joy)
	w := raise(t, s, visit("web", 0))
	require.Equal(t, joy, affectOf(t, s))
	require.NoError(t, s.FreeSlot(t.Context(), echo, f))
	_, err := s.Undo(t.Context(), echo, "echo/0001")
	require.NoError(t, err)
	require.Equal(t, sorrow, affectOf(t, s))
	require.Equal(t, &w, status(t, s, 0).Last, "an undo does not change the recorded wake")
}

// unwokenDreamRaises: when two clocks differ, a dream may have begun while a client's lease was still live.
func unwokenDreamRaises(t *testing.T, s Store) {
	raise(t, s, visit("web", 0))
	f := sleep(t, s, "echo/0001", 2*hold)
	require.EqualValues(t, 1, f.Epoch)
	foresee(t, s, f, &joy)
	v := visit("web", 10*time.Second)
	w := raise(t, s, v)
	require.EqualValues(t, 2, w.Epoch)
	require.Equal(t, "echo/0001", w.Dream)
	require.Equal(t, joy, w.Affect)
	require.False(t, arrive(t, s, v).Raised, "it is woken once")
	require.ErrorIs(t, commit(t.Context(), s, memory.Write{Fence: f}), memory.ErrWoken)
}

func wakeIsFixed(t *testing.T, s Store) {
	f := sleep(t, s, "echo/0001", 0)
	foresee(t, s, f, &joy, "entry")
	w := raise(t, s, visit("web", 0))
	require.Error(t,
		commit(t.Context(), s, memory.Write{Fence: f, OnWake: &memory.OnWake{Mood: &sorrow, Digest: []string{"late"}}}))
	require.NoError(t, commit(t.Context(), s, memory.Write{Fence: f, Late: true}))
	require.NoError(t, s.FreeSlot(t.Context(), echo, f))
	resumed := sleep(t, s, "echo/0001", 2*hold)
	foresee(t, s, resumed, &sorrow, "resumed")
	require.NoError(t,
		commit(t.Context(), s,
			memory.Write{Fence: resumed, Affect: &dream.Affect{PAD: sorrow, Since: dawn, Cause: "echo/0001"}}))
	require.NoError(t, s.Recorded(t.Context(), echo, 1))
	require.Equal(t, &w, status(t, s, 2*hold).Last)
	next := raise(t, s, visit("web", 3*hold))
	require.Equal(t, []string{"resumed"}, next.Digest)
	require.Equal(t, &next, status(t, s, 3*hold).Last)
	next.Digest[0] = "scribbled over"
	require.Equal(t, []string{"resumed"}, status(t, s, 3*hold).Last.Digest, "results are copies")
}

func badMoodRefused(t *testing.T, s Store) {
	f := sleep(t, s, "echo/0001", 0)
	foresee(t, s, f, &joy)
	wild := mood.PAD{Arousal: 2}
	err := commit(t.Context(), s,
		memory.Write{Fence: f, OnWake: &memory.OnWake{Mood: &wild, Digest: []string{"entry"}}})
	require.ErrorContains(t, err, "arousal")
	err = commit(t.Context(), s, memory.Write{OnWake: &memory.OnWake{Mood: &sorrow, Digest: []string{"entry"}}})
	require.ErrorContains(t, err, "mood", "a write without a slot cannot foresee a mood")
	w := raise(t, s, visit("web", 0))
	require.Equal(t, joy, w.Affect)
	require.Empty(t, w.Digest)
}
