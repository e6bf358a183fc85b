package soak_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/testsuite/soak"
	"github.com/seed-56a03226/oneiros/testsuite/week"
)

var dusk = time.Date(2026, 3, 1, 20, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time { return dusk.Add(time.Duration(seconds * float64(time.Second))) }

// flawless is a run of one agent: two visits, a dream that the second woke and that resumed, and one killed replica.
func flawless() soak.Evidence {
	good, killed := &soak.Replica{Name: "0/0"}, &soak.Replica{Name: "1/1", Killed: at(31)}
	turn := func(from, to float64, r *soak.Replica, fault string) soak.Turn {
		return soak.Turn{
			Client:  "guest-00",
			Agent:   "iris",
			Kind:    soak.Streamed,
			Replica: r,
			Began:   at(from),
			Ended:   at(to),
			Fault:   fault,
			Answer:  soak.Secret("guest-00"),
			Text:    soak.Secret("guest-00"),
		}
	}
	id := "dream/iris/0001"
	return soak.Evidence{
		Turns: []soak.Turn{turn(0, 1, good, ""), turn(30, 31.2, killed, "cut"), turn(31.2, 32, good, "")},
		Leases: map[string][]soak.Lease{
			"a": {{Client: "talk//1", From: at(0), To: at(3)}, {Client: "talk//1", From: at(30), To: at(34)}},
		},
		Nights: map[string][]week.ObservedDream{"a": {{
			Record:    &dream.Record{Head: dream.Head{ID: id}},
			Stretches: []week.Stretch{{From: at(13.5), To: at(30.1), Woken: true}, {From: at(38), To: at(60)}},
		}}},
		Ends:      map[string]map[string]time.Time{"a": {id: at(60)}},
		DreamText: map[string][]string{"iris": {"the lighthouse follows the river back"}},
		Clients:   []string{"guest-00", "guest-01"}, Until: at(90),
	}
}

func TestTheJudgeIsContentWithAFlawlessRun(t *testing.T) {
	t.Parallel()
	e := flawless()
	require.NoError(t, e.Judge())
	f := soak.Count(e)
	require.Equal(t, 1, f.Excused)
	require.Equal(t, 2, f.Begun)
	require.Equal(t, []time.Duration{4 * time.Second, 10500 * time.Millisecond}, f.Late)
}

func TestTheJudgeFindsEveryFlaw(t *testing.T) {
	t.Parallel()
	for name, flaw := range map[string]struct {
		spoil func(*soak.Evidence)
		want  error
	}{
		"a request failed where nobody was killed": {
			func(e *soak.Evidence) { e.Turns[0].Fault = "503" },
			soak.ErrFailed,
		},
		"a request failed before its replica was killed": {
			func(e *soak.Evidence) { e.Turns[1].Ended = at(30.5) },
			soak.ErrFailed,
		},
		"a request was sent to a replica long killed": {
			func(e *soak.Evidence) { e.Turns[1].Began, e.Turns[1].Ended = at(40), at(41) }, soak.ErrFailed,
		},
		"a dream began under a lease that was not honoured": {
			func(e *soak.Evidence) { e.Leases["a"][0].To = at(14) },
			soak.ErrOverlap,
		},
		"a dream went on under a lease": {
			func(e *soak.Evidence) { e.Leases["a"][1].To = at(39) },
			soak.ErrOverlap,
		},
		"a lease was granted in time and woke another": {func(e *soak.Evidence) {
			e.Leases["a"][0] = soak.Lease{Client: "x", From: at(13.2), To: at(14)}
			e.Nights["a"][0].Stretches[0].Woken = false
		}, soak.ErrOverlap},
		"a dream never went on": {func(e *soak.Evidence) {
			e.Nights["a"][0].Stretches = e.Nights["a"][0].Stretches[:1]
			delete(e.Ends["a"], "dream/iris/0001")
		}, soak.ErrNoDream},
		"a dream went on too late": {
			func(e *soak.Evidence) { e.Nights["a"][0].Stretches[1].From, e.Until = at(80), at(100) }, soak.ErrNoDream,
		},
		"a secret reached another": {
			func(e *soak.Evidence) { e.Turns[2].Answer += soak.Secret("guest-01") }, soak.ErrLeak,
		},
		"what was dreamt is told as if it were so": {
			func(e *soak.Evidence) { e.Turns[2].Text += e.DreamText["iris"][0] }, soak.ErrDreamText,
		},
		"more and more goroutines": {func(e *soak.Evidence) {
			for i := range 40 {
				e.Loads = append(e.Loads, soak.Load{Goroutines: 100 + 20*i, Resident: 1 << 20})
			}
		}, soak.ErrGrowth},
		"more and more memory": {func(e *soak.Evidence) {
			for i := range 40 {
				e.Loads = append(e.Loads, soak.Load{Goroutines: 100, Resident: i * (8 << 20)})
			}
		}, soak.ErrGrowth},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := flawless()
			flaw.spoil(&e)
			require.ErrorIs(t, e.Judge(), flaw.want)
		})
	}
}

func TestADreamThatAGrantWokeAtItsBeginningIsNoOverlap(t *testing.T) {
	t.Parallel()
	e := flawless()
	e.Leases["a"][0] = soak.Lease{Client: "x", From: at(13.4), To: at(15)}
	e.Nights["a"][0].Stretches[0].To = at(13.6)
	require.NoError(t, e.Judge())
}
