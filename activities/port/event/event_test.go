package event_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
)

var update = flag.Bool("update", false, "rewrite the golden file")

var at = time.Date(2026, 3, 12, 4, 10, 0, 0, time.FixedZone("east", 3600))

var residual = .68

// payloads payload with every field set.
var payloads = []event.Payload{
	event.DreamStarted{
		Tier:     dream.Hardened,
		Seed:     math.MaxUint64,
		Budget:   500_000,
		Redreams: "dream/echo/0041",
		From:     dream.REM,
	},
	event.OnsetStarted{
		Depth:    dream.Shallow,
		Budget:   50_000,
		Affect:   mood.PAD{Pleasure: .2, Arousal: -.1, Dominance: .3},
		Bias:     mood.Threat,
		Selected: 270,
		Shown:    118,
	},
	event.OnsetSkipped{Reason: "budget"},
	event.DepthChanged{From: dream.Transitional, To: dream.Peak, Temperature: 1.31},
	event.DaliInterrupt{Cycle: 2, Captured: 3, Partials: 4, Temperature: 1.425},
	event.FragmentCaptured{
		Fragment:  "f-1",
		Novelty:   .62,
		Distance:  .7,
		Composite: .71,
		Tone:      mood.PAD{Pleasure: .2},
	},
	event.FragmentDiscarded{Fragment: "f-2", Reason: "below the floor", Composite: .04},
	event.SomaticMarkerFired{
		Marker:     "m-1",
		Fragment:   "f-1",
		Cosine:     .61,
		Deviations: 5.2,
		Threshold:  3.1,
		Strength:   .7,
		Valence:    dream.CameOutBadly,
		Count:      3,
		Boost:      .06,
	},
	event.ObserverDrifted{
		Judge:     "sim/judge",
		Outcomes:  50,
		Factor:    1.25,
		Requested: 1.31,
		Drift:     .31,
		Validated: .01,
		Alarms:    []string{"drifted"},
	},
	event.OnsetCompleted{
		Fragments: 5,
		Spent:     budget.Micros(21_400),
		Seconds:   31.25,
		Cycles:    3,
		Reason:    "budget",
	},
	event.PhaseStarted{Phase: dream.NREM, Budget: 175_000},
	event.PhaseCompleted{
		Phase: dream.NREM,
		Made:  9,
		Kept:  3,
		Calls: 12,
		Spent: 83_200,
		State: "ran",

		Reason: "nothing was left",
	},
	event.PatternFound{Prediction: "p-1", Confidence: .32, Direction: "backward"},
	event.GistExtracted{Gist: "g-1", Source: "se-9"},
	event.ItemArchived{Item: "se-9", Kind: dream.KindSemantic, Newer: "g-1", Reason: event.Faded},
	event.ScenarioImagined{Scenario: "s-1", Score: .71, Kept: true, Synthetic: true},
	event.ReasoningReviewed{Prediction: "p-1", Quadrant: "misaligned-correct", By: "openai/gpt-4o-mini"},
	event.HypothesisStaged{Hypothesis: "h-1", Confidence: .25},
	event.HypothesisChanged{
		Hypothesis: "h-1",
		Prediction: "p-1",
		Confidence: .35,
		Status:     "retired",
		Reason:     "it comes true too seldom since it was promoted",
		Claims:     []string{"c-1"},
		Playbook:   []string{"pb-1"},
	},
	event.PredictionResolved{
		Prediction: "p-1",
		Source:     "creative",
		Phase:      dream.NREM,
		Status:     "correct",
		Confidence: .32,
		Residual:   &residual,
		By:         "rule/harbour/quay-price",
		Again:      true,
	},
	event.DreamQuality{Dreams: 30, Metrics: []event.QualityMetric{
		{Name: "fragment_yield", Value: .25, Of: 400, State: "healthy"},
	}},
	event.ClaimTried{
		Claim:    "cl_1",
		Right:    true,
		At:       at.UTC(),
		Hits:     7,
		Misses:   1,
		Chance:   .34,
		Wealth:   14.5,
		Evidence: []string{"ep_1", "ep_2"},
	},
	event.ClaimPassed{
		Claim:    "cl_1",
		Playbook: "pb_1",
		Hits:     8,
		Misses:   1,
		Chance:   .34,
		Wealth:   32,
		Claims:   40,
	},
	event.ClaimEnded{
		Claim:    "cl_1",
		Status:   "retired",
		Reason:   "it comes true too seldom since it passed",
		Hits:     8,
		Misses:   9,
		Playbook: "pb_1",
	},
	event.HypnopompicStarted{Insights: 2},
	event.HypnopompicCompleted{Insights: 2, Transitioned: true, Delta: .16},
	event.DreamAborted{Phase: dream.Onset, Reason: "all partials failed"},
	event.Spent{Tally: dream.Tally{
		Phase:   dream.REM,
		State:   "running",
		Reason:  "r",
		Calls:   8,
		Reused:  1,
		Failed:  2,
		Spent:   3,
		Cap:     4,
		In:      5,
		Cached:  6,
		Out:     7,
		Made:    8,
		Kept:    9,
		Cycles:  10,
		Started: at.UTC(),
		Ended:   at.UTC(),
	}},
	event.DreamUndone{
		Requested: 200,
		Before:    180,
		After:     150,
		Lost:      31,
		Gained:    1,
		Margin:    2,
		Behind:    3,
		Archived:  60,
		Restored:  31,
		Kept:      1,
	},
	event.EmptyDreamsRepeated{Dreams: 3},
	event.AlarmAbort{Trigger: "harbour/quay-price", Fragments: 4, Spent: 12_000},
	event.DreamInterrupted{
		Cause:        "connect",
		Epoch:        7,
		Stretch:      2,
		Phase:        dream.REM,
		Cycle:        3,
		Light:        true,
		Forced:       true,
		Receipt:      .5,
		Stop:         .25,
		Preserve:     1.5,
		Switch:       6.5,
		Partials:     2,
		Significance: .4,
		Journal:      "j-1",
		Delta:        .1,
		Until:        at.UTC(),
	},
	event.DreamResumed{Stretch: 3, Phase: dream.NREM, Left: 400_000},
	event.AgentAwake{Epoch: 7, Cause: "connect", Dream: "dream/echo/0042"},
	event.AgentAsleep{Epoch: 7},
	event.AlarmRaised{Feed: "harbour", Rule: "quay-price", Kind: "relative_change"},
	event.FragmentFlagged{Fragment: "f-2", By: "policy/assets", Bars: true},
	event.OutputBarred{Item: "s-1", Kind: dream.KindScenario, By: "policy/leverage"},
	event.HookTimedOut{Hook: "audit", Border: "exit", Default: "allow"},
	event.ReviewRequested{Item: "h-1", Kind: dream.KindHypothesis},
	event.ItemRestored{Item: "se-9", Kind: dream.KindSemantic, By: "person"},
	event.MemoriesRenewed{Memories: 3},
	event.MemoriesEmbedded{Space: "builtin-minilm/1/384", Embedded: 5882, Took: 81_000},
	event.WritesLost{Since: at.UTC(), Last: at.UTC().Add(4 * time.Second), Noticed: at.UTC().Add(9 * time.Second)},
	event.ReviewDecided{Items: []string{"h-1", "h-2"}, Accepted: true, By: "mara"},
	event.DreamEnded{Outcome: dream.Empty, Reason: "nothing was kept", Spent: 266_651, Kept: 1},
}

// Journals, archives and metrics read this JSON: a changed byte is a changed schema.
func TestTheCatalogueOnTheWire(t *testing.T) {
	t.Parallel()
	var wire bytes.Buffer
	for _, p := range payloads {
		e := event.New(p.EventType()+"/1", "echo", "dream/echo/0042", at, p)
		line, err := json.Marshal(e)
		require.NoError(t, err)
		wire.Write(append(line, '\n'))
	}
	const golden = "testdata/catalogue.jsonl"
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(golden, wire.Bytes(), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), wire.String())
}

func TestAnEnvelopeIsSealed(t *testing.T) {
	t.Parallel()
	e := event.New("id", "echo", "dream/echo/0042", at, event.OnsetSkipped{Reason: "veto"})
	require.Equal(t, event.Event{
		ID:        "id",
		Schema:    event.Schema,
		Subsystem: "hypnagogia",
		Agent:     "echo",
		Dream:     "dream/echo/0042",
		Type:      "OnsetSkipped",
		At:        at.UTC(),
		Data:      json.RawMessage(`{"reason":"veto"}`),
	}, e)
}

func TestNaNIsAnnouncedAsAFault(t *testing.T) {
	t.Parallel()
	e := event.New("id", "echo", "", at, event.DepthChanged{Temperature: math.NaN()})
	require.Equal(t, "DepthChanged", e.Type)
	require.True(t, json.Valid(e.Data))
	require.Contains(t, string(e.Data), "fault")
}
