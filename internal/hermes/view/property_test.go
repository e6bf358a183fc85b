package view_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/internal/claims"
	"github.com/seed-56a03226/oneiros/internal/hermes/api"
	"github.com/seed-56a03226/oneiros/internal/hermes/view"
	domain "github.com/seed-56a03226/oneiros/internal/quality"
)

// evil are texts that would move the cursor, set a title, or break a line.
var evil = []string{
	"", "plain words", "\x1b[2J\x1b[31mred\x1b[0m", "\x1b]0;title\a", "a\nb\r\nc\td", "\u202eright to left\u2066", "\x00\x07\x7f\u0085\u009b31m",
	strings.Repeat("long", 80), "潮水退去以后，市场像一条没有人的街", "كتاب قديم على الرف", "नमस्ते दुनिया", "a\u0301\u0302\u0303 b", "👩\u200d👩\u200d👧 family", "\xff\xfe broken", "\ufeff\u200b",
	"<b>&amp;</b>", strings.Repeat("é ", 60), "\u2028\u2029",
}

func text(t *rapid.T, name string) string {
	if rapid.Bool().Draw(t, name+" evil") {
		return rapid.SampledFrom(evil).Draw(t, name)
	}
	return rapid.String().Draw(t, name)
}

// fill sets every text of the JSON of a value to a random one, every number to a random one, and decodes it again.
func fill[T any](t *rapid.T, value T) T {
	encoded, err := json.Marshal(value)
	require.NoError(t, err)
	var tree any
	require.NoError(t, json.Unmarshal(encoded, &tree))
	var walk func(v any) any
	walk = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				if key != "data" {
					v[key] = walk(v[key])
				}
			}
		case []any:
			for i := range v {
				v[i] = walk(v[i])
			}
		case string:
			if _, err := time.Parse(time.RFC3339, v); err != nil && rapid.Bool().Draw(t, "replace") {
				return text(t, "text")
			}
		case float64:
			if v == float64(int64(v)) {
				return float64(rapid.Int64Range(0, 1<<40).Draw(t, "number"))
			}
		}
		return v
	}
	encoded, err = json.Marshal(walk(tree))
	require.NoError(t, err)
	var out T
	if json.Unmarshal(encoded, &out) != nil {
		return value
	}
	return out
}

func TestNoDataMakesALineTooWideOrReachesTheTerminal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := view.Sheet{Width: rapid.IntRange(0, 240).Draw(t, "width"), Colour: rapid.Bool().Draw(t, "colour"), Now: morning}
		width := s
		if s.Width == 0 {
			width.Width = 80
		}
		night := past()
		night.Dream, night.Fragments = fill(t, night.Dream), fill(t, night.Fragments)
		night.Scenarios, night.Insights = fill(t, night.Scenarios), fill(t, night.Insights)
		night.Recent = fill(t, night.Recent)
		night.Agent = fill(t, woken().Agent)
		night.Denied = &api.Error{Status: 500, Message: text(t, "denied")}
		night.Limited = rapid.Bool().Draw(t, "limited")
		lines := view.Dream(night, s)
		lines = append(lines, view.Dreams([]api.Dream{night.Dream, pastDream()}, s)...)
		lines = append(lines, view.Claims(fill(t, manyClaims()), s)...)
		lines = append(lines, view.ClaimExplanation(fill(t, explanation()), s)...)
		lines = append(lines, view.Room(fill(t, room()), fill(t, posts()), s)...)
		lines = append(lines, view.Rooms([]api.Room{fill(t, room())}, s)...)
		lines = append(lines, view.Status(fill(t, status()), s)...)
		lines = append(lines, view.Morning(fill(t, news()), s)...)
		lines = append(lines, view.Memories(text(t, "query"), fill(t, memories()), s)...)
		lines = append(lines, view.Memories(text(t, "query"), nil, s)...)
		lines = append(lines, view.Predictions(fill(t, predictions()), s)...)
		lines = append(lines, view.Metrics(fillQuality(t), s)...)
		lines = append(lines, view.Trouble("journal", api.RoleRefusal(text(t, "refusal")), s)...)
		lines = append(lines, view.Doctor([]api.Line{{Name: text(t, "name"), Says: text(t, "says"), Fix: text(t, "fix")}}, s)...)
		lines = append(lines, view.Journal([]api.JournalEntry{{Content: text(t, "entry"), Dream: text(t, "dream"), At: evening}}, s)...)
		requireFits(t, width, lines)
	})
}

func fillQuality(t *rapid.T) *api.Quality {
	q := fill(t, *quality())
	return &q
}

// Whatever events come in whatever order, a night can be drawn, events that were seen are not counted twice, and the
// night before stays as it was.
func TestFollowingAnyEventsEndsInADrawing(t *testing.T) {
	t.Parallel()
	catalogue := event.Catalogue()
	rapid.Check(t, func(t *rapid.T) {
		n := view.NightOf(api.Dream{Dream: "dream/iris/0001", Agent: "iris", Status: "running"})
		seq := int64(0)
		for range rapid.IntRange(0, 40).Draw(t, "events") {
			p := rapid.SampledFrom(catalogue).Draw(t, "type").Payload
			if rapid.Bool().Draw(t, "tally") {
				p = event.Spent{Tally: dream.Tally{
					Phase: rapid.SampledFrom(append(dream.Phases, "")).Draw(t, "phase"),
					State: rapid.SampledFrom([]string{"running", "ran", "skipped", "exhausted", "?"}).Draw(t, "state"),
					Calls: rapid.IntRange(0, 99).Draw(t, "calls"),
					Spent: budget.Micros(rapid.IntRange(0, 1<<30).Draw(t, "spent")),
				}}
			}
			seq++
			id := rapid.SampledFrom([]string{"dream/iris/0001", "dream/iris/0002", ""}).Draw(t, "dream")
			e := api.Event{Event: event.New("id", "a", id, evening, p)}
			e.Seq = seq
			before, err := json.Marshal(n)
			require.NoError(t, err)
			next := view.Follow(n, e)
			after, err := json.Marshal(n)
			require.NoError(t, err)
			require.JSONEq(t, string(before), string(after))
			require.Equal(t, next, view.Follow(next, e))
			n = next
		}
		s := view.Sheet{Width: rapid.IntRange(40, 240).Draw(t, "width")}
		requireFits(t, s, view.Dream(n, s))
	})
}

func TestWhatIsShownOfOtherPackagesIsTheirs(t *testing.T) {
	t.Parallel()
	text := strings.Join(view.ClaimExplanation(explanation(), sheet(80)), " ")
	require.Equal(t, 25, claims.Alone, "the wealth from which on a claim may pass")
	require.Contains(t, text, "A full bar is 25")
	shown := strings.Join(view.Metrics(quality(), sheet(200)), "\n")
	for _, r := range domain.Ranges {
		require.Contains(t, shown, r.Means)
	}
}

func TestTheDepthIsFollowedAndPulsesAtThePeak(t *testing.T) {
	t.Parallel()
	n := live()
	require.True(t, n.Pulses())
	s := sheet(80)
	first := view.Dream(n, s)
	s.Beat = 1
	second := view.Dream(n, s)
	require.NotEqual(t, first, second)
	require.Contains(t, strings.Join(first, "\n"), "depth: peak, H5 to H6, the Dali zone")
	s.Beat = 2
	require.Equal(t, first, view.Dream(n, s))
	require.False(t, past().Pulses())
	require.False(t, woken().Pulses())
	still := live()
	still.Waits = true
	require.False(t, still.Pulses(), "it was interrupted at the peak")
	still = live()
	still.Dream.Status = "completed"
	require.False(t, still.Pulses(), "it is over")
	require.Equal(t, dream.Peak, past().Deepest)
	require.Contains(t, strings.Join(view.Dream(woken(), s), "\n"), "depth: awake; the dream may go on until")

	resumed := view.Follow(woken(), (&log{dream: "dream/iris/0042", seq: 99, at: evening}).next(event.DreamResumed{Stretch: 2}, ""))
	require.False(t, resumed.Waits)
	require.Equal(t, 1, resumed.Dream.Resumes)
	require.Empty(t, resumed.Agent.Type)
}

// Two nights that follow one another's events share nothing.
func TestANightThatIsFollowedStaysAsItIs(t *testing.T) {
	t.Parallel()
	l := &log{dream: "dream/iris/0042", seq: 20, at: evening}
	interrupted := woken()
	resumed := view.Follow(interrupted, l.next(event.DreamResumed{Stretch: 2}, ""))
	require.True(t, interrupted.Breaks[0].Open)
	require.False(t, resumed.Breaks[0].Open)
	n := live()
	for range 8 { // until there is room behind the newest
		n = view.Follow(n, l.next(event.PatternFound{Prediction: "p"}, ""))
		first := view.Follow(n, l.next(event.PatternFound{Prediction: "first"}, ""))
		view.Follow(n, l.next(event.PatternFound{Prediction: "second"}, ""))
		require.Contains(t, string(first.Recent[len(first.Recent)-1].Data), "first")
	}
	for range 200 {
		n = view.Follow(n, l.next(event.PatternFound{Prediction: "p"}, ""))
	}
	require.Len(t, n.Recent, 64)
}

func TestANewDreamTakesThePlaceOfTheFormer(t *testing.T) {
	t.Parallel()
	n := past()
	l := &log{dream: "dream/iris/0043", seq: n.Seq, at: morning}
	n = view.Follow(n, l.next(event.DreamStarted{Tier: dream.Core, Seed: 1, Budget: 9}, ""))
	require.Equal(t, "dream/iris/0043", n.Dream.Dream)
	require.Empty(t, n.Fragments)
	require.False(t, n.Limited)
	require.Equal(t, "iris", n.Dream.Agent)
	old := (&log{dream: "dream/iris/0042", seq: n.Seq, at: morning}).next(event.DreamEnded{Outcome: dream.Empty}, "")
	require.Empty(t, view.Follow(n, old).Dream.Outcome, "an event of another dream changes nothing")
}
