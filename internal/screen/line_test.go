package screen_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

// announcements are every payload of the catalogue once.
func announcements() []event.Event {
	payloads := []event.Payload{
		event.DreamStarted{Tier: dream.Hardened, Seed: 7, Budget: 500_000},
		event.OnsetStarted{
			Depth:    dream.Shallow,
			Budget:   50_000,
			Bias:     mood.Broad,
			Selected: 412,
			Shown:    118,
		},
		event.OnsetSkipped{Reason: "budget"},
		event.DepthChanged{From: dream.Transitional, To: dream.TooDeep, Temperature: 1.52},
		event.DaliInterrupt{Cycle: 2, Captured: 3, Partials: 4, Temperature: 1.425},
		event.FragmentCaptured{Fragment: "dream/echo/0042/f-3", Novelty: .62, Distance: .7, Composite: .71},
		event.FragmentDiscarded{Fragment: "dream/echo/0042/f-4", Reason: "below the floor", Composite: .04},
		event.OnsetCompleted{Fragments: 5, Spent: 21_400, Seconds: 31.25, Cycles: 3},
		event.OnsetCompleted{
			Fragments: 1,
			Spent:     49_999,
			Seconds:   12,
			Cycles:    1,
			Reason:    "budget",
		},
		event.PhaseStarted{Phase: dream.NREM, Budget: 175_000},
		event.PatternFound{Prediction: "dream/echo/0042/p-1", Confidence: .32, Direction: "backward"},
		event.GistExtracted{Gist: "dream/echo/0042/g-1", Source: "se-9"},
		event.PhaseCompleted{
			Phase: dream.NREM,
			Made:  9,
			Kept:  3,
			Calls: 12,
			Spent: 83_200,
			State: "ran",
		},
		event.ScenarioImagined{Scenario: "dream/echo/0042/s-1", Score: .71, Kept: true, Synthetic: true},
		event.ScenarioImagined{Scenario: "dream/echo/0042/s-2", Score: .3},
		event.HypothesisStaged{Hypothesis: "dream/echo/0042/h-1", Confidence: .25},
		event.HypnopompicStarted{Insights: 1},
		event.HypnopompicCompleted{Insights: 1, Transitioned: true, Delta: .163},
		event.Spent{Tally: tallies()[0]},
		event.Spent{Tally: dream.Tally{Phase: dream.Onset, State: "skipped", Reason: "veto"}},
		event.DreamAborted{Phase: dream.Onset, Reason: "all four partials failed"},
		event.DreamEnded{Outcome: dream.Completed, Spent: 266_651, Kept: 12},
		event.DreamEnded{Outcome: dream.Empty, Reason: "nothing rose above the floor", Spent: 1},
		event.EmptyDreamsRepeated{Dreams: 3},
		event.AlarmRaised{Feed: "harbour", Rule: "price", Kind: "relative_change"},
		event.AlarmAbort{Trigger: "harbour/price", Fragments: 3, Spent: 12_000},
		event.AgentAwake{Epoch: 3, Cause: "connect", Dream: "dream/echo/0042"},
		event.DreamInterrupted{
			Cause:        "connect",
			Epoch:        3,
			Stretch:      1,
			Phase:        dream.Integration,
			Receipt:      .62,
			Stop:         1.1,
			Preserve:     1.44,
			Switch:       6.2,
			Partials:     1,
			Significance: .4,
			Delta:        .05,
			Until:        evening.Add(8 * time.Hour),
		},
		event.DreamInterrupted{
			Cause:   "alarm",
			Epoch:   4,
			Stretch: 2,
			Phase:   dream.REM,
			Light:   true,
			Forced:  true,
			Stop:    500,
			Switch:  700,
			Until:   evening.Add(48 * time.Hour),
		},
		event.DreamInterrupted{Cause: "operator", Epoch: 5, Stretch: 3, Phase: dream.Onset},
		event.AgentAsleep{Epoch: 3},
		event.DreamResumed{Stretch: 2, Phase: dream.REM, Left: 233_349},
		event.PredictionResolved{
			Prediction: "dream/echo/0042/p-1",
			Source:     dream.Creative,
			Phase:      dream.NREM,
			Status:     dream.PredictionRight,
			Confidence: .32,
			By:         "rule/harbour/price",
		},
		event.HypothesisChanged{
			Hypothesis: "dream/echo/0042/h-1", Prediction: "dream/echo/0042/p-1", Confidence: .35,
			Status: dream.HypothesisStaged,
		},
		event.DaliInterrupt{
			Cycle:       3,
			Captured:    1,
			Partials:    4,
			Temperature: 1.354,
			TooDeep:     "repeating",
		},
		event.DepthChanged{From: dream.TooDeep, To: dream.Peak, Temperature: 1.222},
		event.SomaticMarkerFired{
			Marker:    "marker/e-1",
			Fragment:  "dream/echo/0042/f-3",
			Cosine:    .61,
			Threshold: .44,
			Strength:  .7,
			Valence:   dream.CameOutBadly,
			Count:     3,
			Boost:     .06,
		},
		event.ObserverDrifted{
			Judge:     "sim/judge",
			Outcomes:  50,
			Factor:    1,
			Validated: .01,
			Alarms:    []string{"fewer than 2 % of the fragments were promoted and came true"},
		},
	}
	var all []event.Event
	for i, p := range payloads {
		all = append(all,
			event.New(p.EventType(), "echo", "dream/echo/0042", evening.Add(time.Duration(i)*1700*time.Millisecond), p))
	}
	broken := all[0]
	broken.Data = json.RawMessage(`{"tier":`)
	later := event.Event{Type: "MoonlightFell", At: evening, Data: json.RawMessage(`{"x":1}`)}
	return append(all, broken, later)
}

func TestEveryEventIsOneLine(t *testing.T) {
	t.Parallel()
	for file, st := range styles {
		var b strings.Builder
		for _, e := range announcements() {
			line := screen.Line(e, st)
			require.NotContains(t, line, "\n")
			require.LessOrEqual(t, len([]rune(stripped(line))), st.Width)
			b.WriteString(line + "\n")
		}
		golden(t, "lines-"+file, b.String())
	}
}

func TestALineTellsTimeWhereTheReaderIs(t *testing.T) {
	t.Parallel()
	e := event.New("1", "echo", "d", evening, event.HypnopompicStarted{Insights: 2})
	require.True(t, strings.HasPrefix(screen.Line(e, screen.Style{}), "03:10:00"))
	require.True(t, strings.HasPrefix(screen.Line(e, screen.Style{Zone: time.FixedZone("east", 3600)}), "04:10:00"))
}

func TestAnOnsetSkippedForVitalitySaysSo(t *testing.T) {
	t.Parallel()
	e := event.New("e", "echo", "dream/echo/0001", time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC),
		event.OnsetSkipped{Reason: "phase"})
	require.Contains(t, screen.Line(e, screen.Style{Width: 100, Zone: time.UTC}),
		"skipped: the agent's vitality is too low for an onset")
	tallies := []dream.Tally{{Phase: dream.Onset, State: "skipped", Reason: "phase"}}
	require.Contains(t, screen.Timeline(tallies, screen.Style{Width: 80}), "skip")
	require.NotContains(t, screen.Timeline(tallies, screen.Style{Width: 200}), "skipped: phase")
}
