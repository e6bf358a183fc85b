package screen_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

func TestTheReportOfANight(t *testing.T) {
	t.Parallel()
	for file, st := range styles {
		golden(t, "report-"+file, screen.Report(night(), st))
	}
}

// Every outcome is stated plainly, and an empty dream is never reported as a success.
func TestTheReportSaysHowTheNightEnded(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, outcome := range []dream.Outcome{
		dream.Dreaming, dream.Completed, dream.Empty, dream.Exhausted, dream.Aborted, dream.Canceled,
		dream.Interrupted, "strange",
	} {
		r := night()
		r.Record.Outcome, r.Record.Theme, r.Record.Tier = outcome, "", dream.Core
		switch outcome {
		case dream.Empty:
			r.Fragments, r.Scenarios = r.Fragments[2:], r.Scenarios[1:]
			r.Predictions, r.Hypotheses = nil, nil
			r.Gists, r.Playbook, r.Surfaced = nil, nil, nil
			r.Record.After = r.Record.Before
			r.BuiltIn = true
		case dream.Aborted:
			r.Record.Reason = "all four partials of a cycle failed"
			r.Fragments = nil
			r.Predictions = nil
			r.Scenarios = nil
			r.Hypotheses = nil
			r.Gists = nil
			r.Playbook = nil
			r.Surfaced = nil
		case dream.Exhausted:
			r.Record.Reason = "cap of the day"
		case dream.Canceled:
			r.Record.Reason = "by an operator"
		case dream.Interrupted:
			r.Record.Reason = "somebody connected"
		}
		report := screen.Report(r, screen.Style{Width: 80})
		if outcome == dream.Empty {
			golden(t, "report-empty.txt", report)
		}
		_, rest, _ := strings.Cut(report, "\n\n") // behind the summary
		b.WriteString(strings.Join(strings.SplitN(rest, "\n", 4)[:3], "\n") + "\n\n")
	}
	golden(t, "headlines.txt", b.String())
}

// An interrupted dream that may be resumed has not ended; the report says until when it waits.
func TestAnInterruptedDreamSaysUntilWhenItMayBeResumedAndItsStretches(t *testing.T) {
	t.Parallel()
	r := night()
	r.Record.Outcome, r.Record.Reason, r.Record.Stretches = dream.Interrupted, "somebody connected", 1
	r.Record.Until = r.Record.Ended.Add(8 * time.Hour)
	r.MayGoOn = true
	r.Breaks = []screen.Break{{Phase: dream.REM, Calls: 3, Open: true}}
	r.Record.Phases = r.Record.Phases[:3]
	r.Record.Phases[2].State = "stopped"
	golden(t, "report-woken.txt", strings.SplitAfter(screen.Report(r, screen.Style{Width: 80}), "Noticed")[0])
	r = night()
	r.Record.Stretches = 3
	require.Contains(t, screen.Report(r, screen.Style{Width: 110}),
		"echo dreamt in 3 stretches within 2 min 14 s and kept")
}

// Unreadable events mark nothing; a dream that was resumed waits no more.
func TestTheBreaksOfADreamAreReadFromItsEvents(t *testing.T) {
	t.Parallel()
	tell := func(p event.Payload) event.Event {
		return event.New(p.EventType(), "echo", "dream/echo/0042", evening, p)
	}
	broken := tell(event.DreamInterrupted{})
	broken.Data = []byte("{")
	woken := []event.Event{
		tell(event.Spent{Tally: dream.Tally{Phase: dream.REM, Calls: 3}}),
		tell(event.DreamInterrupted{Phase: dream.REM}), broken,
	}
	require.Equal(t, []screen.Break{{Phase: dream.REM, Calls: 3, Open: true}}, screen.Breaks(woken))
	later := append(woken, tell(event.DreamResumed{Stretch: 2}), tell(event.DreamInterrupted{Phase: dream.Return}))
	require.Equal(t, []screen.Break{{Phase: dream.REM, Calls: 3}, {Phase: dream.Return, Open: true}},
		screen.Breaks(later))
	require.Empty(t, screen.Breaks(nil))
}

func TestLongListsAreCounted(t *testing.T) {
	t.Parallel()
	r := night()
	for range 20 {
		r.Gists = append(r.Gists, &dream.Gist{Content: "Another."})
	}
	require.Contains(t, screen.Report(r, screen.Style{Width: 80}), "… and 9 more.")
}

func TestAnEmptyReportIsStillAReport(t *testing.T) {
	t.Parallel()
	require.Contains(t, screen.Report(screen.DreamReport{}, screen.Style{}), "The agent is still dreaming.")
}

// Overspending must not hide in a table.
func TestAnOverspentDreamIsReportedAsAFault(t *testing.T) {
	t.Parallel()
	r := night()
	r.Record.Spent = r.Record.Budget + 1
	require.Contains(t, strings.Join(strings.Fields(screen.Report(r, screen.Style{Width: 200})), " "),
		"This must never happen")
}

func TestTheReportNamesTheDreamsTimeWhenItIsAnotherDay(t *testing.T) {
	t.Parallel()
	r := screen.DreamReport{
		Agent: "echo",
		Record: dream.Record{
			Head:    dream.Head{ID: "dream/echo/0001", At: time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)},
			Outcome: dream.Completed,
		},
	}
	r.Record.AsOf = r.Record.At.Add(-time.Hour)
	require.NotContains(t, screen.Report(r, screen.Style{}), "as of")
	r.Record.AsOf = time.Date(2026, 10, 19, 22, 0, 0, 0, time.UTC)
	require.Contains(t, screen.Report(r, screen.Style{Width: 110}), "20 Nov 2026, 08:00 · as of 19 Oct 2026")
}

func TestTheReportNamesTheRolesOfTheBuiltInModelWhenOthersDreamToo(t *testing.T) {
	t.Parallel()
	r := screen.DreamReport{
		Agent: "echo", Record: dream.Record{Outcome: dream.Completed},
		BuiltInRoles: []string{"observer", "replay"},
	}
	require.Contains(t, screen.Report(r, screen.Style{Width: 110}),
		"Built-in model, for trying things out, as observer and replay:")
}
