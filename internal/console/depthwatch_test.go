package console_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

// fall writes a dream that is in its onset, and the events it has written so far.
func (d *fixture) fall(announced ...event.Payload) {
	d.Helper()
	id := "dream/echo/0002"
	n := &dream.Record{
		Head: dream.Head{
			ID:    id,
			Agent: "echo",
			Kind:  dream.KindRecord,
			At:    now,
			State: dream.Live,
			Taint: dream.FromDream,
			Dream: id,
		},
		Run: "r2", Tier: dream.Hardened, Budget: budget.Dollar / 2, Stretches: 1,
	}
	w := memory.Write{Agent: "echo", Cause: id, Add: []dream.Item{n}}
	for i, p := range announced {
		w.Events = append(w.Events,
			event.New(fmt.Sprintf("%s/%d", id, i), "echo", id, now.Add(time.Duration(i)*time.Second), p))
	}
	_, err := d.store.Commit(d.Context(), w)
	require.NoError(d, err)
}

var descending = []event.Payload{
	event.DreamStarted{Tier: dream.Hardened, Seed: 7, Budget: budget.Dollar / 2},
	event.OnsetStarted{Depth: dream.Shallow, Budget: 50_000, Selected: 60, Shown: 40},
	event.DepthChanged{From: dream.Shallow, To: dream.Transitional, Temperature: 1.2},
	event.Spent{Tally: dream.Tally{
		Phase: dream.Onset,
		State: "running",
		Calls: 1,
		Spent: 2_000,
		Cap:   50_000,
	}},
	event.DepthChanged{From: dream.Transitional, To: dream.Peak, Temperature: 1.5},
}

// The gauge is under the timeline during the onset, with the news beside it where there is room.
func TestATerminalShowsHowDeepTheOnsetIs(t *testing.T) {
	t.Parallel()
	for width, want := range map[int]string{
		100: `
H1 ■    shallow
H2 ■
H3 ■■   transitional
H4 ■■
H5 ■■■  peak ◂          06:00:00  dream         begins, hardened, $0.50 to spend, seed 7
H6 □□□  Dali zone       06:00:01  onset         shallow, , up to $0.05; 40 of 60 pieces
H7 ···· too deep        06:00:02  depth         shallow to transitional, T 1.20
H8 ····                 06:00:04  depth         transitional to peak, T 1.50
`,
		60: `
H5 ■■■  peak ◂
H6 □□□  Dali zone
H7 ···· too deep
H8 ····
06:00:04  depth         transitional to peak, T 1.50
`,
	} {
		d := newFixture(t).furnish().asleep(&sleeper{dead: true}, 0)
		d.terminal = true
		d.fall(descending...)
		require.Equal(t, exit.Unfinished, d.run(width, "watch", "2", "-a", "echo"))
		require.Contains(t, d.out.String(), strings.TrimPrefix(want, "\n"), width)
	}
}

func TestTheGaugeIsGoneWhenTheOnsetIsOver(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish().asleep(&sleeper{dead: true}, 0)
	d.terminal = true
	d.fall(append(descending, event.OnsetCompleted{Fragments: 3, Cycles: 3})...)
	require.Equal(t, exit.Unfinished, d.run(100, "watch", "2", "-a", "echo"))
	require.Contains(t, d.out.String(), "ONSET")
	require.NotContains(t, d.out.String(), "H5")
}

func TestWithoutATerminalThereIsNoGauge(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish().asleep(&sleeper{dead: true}, 0)
	d.fall(descending...)
	require.Equal(t, exit.Unfinished, d.run(0, "watch", "2", "-a", "echo"))
	require.Contains(t, d.out.String(), "transitional to peak, T 1.50")
	require.NotContains(t, d.out.String(), "H5")
}
