package memorytest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
)

var commits = []clause[memory.DreamStore]{
	{"EveryKindIsReadAsItWasWritten", everyKindComesBack},
	{"AnExistingItemIsNotAddedAgain", existingStays},
	{"AChangeKeepsEveryOlderRevision", changeKeepsRevisions},
	{"AFailedWriteLeavesNothingBehind", failedWriteLeavesNothing},
	{"ResultsAreCopies", answersAreCopies},
	{"GetReturnsItemsInTheOrderOfIds", getKeepsOrder},
	{"AgentsDoNotSeeEachOthersMemories", agentsAreApart},
	{"ConcurrentWritesAllArrive", writesAtOnce},
	{"CauseDefaultsToTheDreamThatWrites", causeDefaults},
}

// oneOfEach returns an item of every kind with its fields set.
func oneOfEach() []dream.Item {
	resolved, residual, temperature := dawn.Add(time.Hour), -.3, 1.31
	full := func(kind dream.Kind) dream.Head {
		h := head(kind, "full-"+string(kind))
		h.Taint, h.Dream, h.Phase = dream.FromDream, "echo/0001", dream.REM
		h.Sources, h.Derived, h.NewerID = []string{"s1", "s2"}, []string{"salience"}, "newer-one"
		return h
	}
	pad := mood.PAD{Pleasure: .1, Arousal: -.2, Dominance: .3}
	return []dream.Item{
		&dream.Episode{
			Head:     full(dream.KindEpisode),
			Context:  "a pier",
			Action:   "waited",
			Outcome:  "rain",
			Content:  "<& \" ünïcode>",
			Salience: .25,
			Surprise: .75,
			Affect:   pad,
			Session:  "s",
			Origin:   "diary:3",
			Speaker:  "Mira",
		},
		&dream.Semantic{
			Head:     full(dream.KindSemantic),
			Content:  "tides",
			Strength: .4,
			Due:      dawn,
			Affect:   pad,
		},
		&dream.Fragment{
			Head:       full(dream.KindFragment),
			Content:    "glass",
			Verdict:    dream.Verdict{Novelty: .1, Composite: .6, Judge: "embedder"},
			Tone:       pad,
			Cycle:      2,
			Stage:      dream.Peak,
			Confidence: .15,
			Status:     dream.FragmentRaw,
			Settings:   dream.Settings{Model: "m", Temperature: &temperature},
		},
		&dream.Scenario{
			Head:           full(dream.KindScenario),
			Content:        "what if",
			Premise:        "p",
			Counterfactual: true,
			Score:          .5,
			Kept:           true,
		},
		&dream.Hypothesis{
			Head:         full(dream.KindHypothesis),
			Claim:        "c",
			FirstStep:    "f",
			Confidence:   .2,
			Status:       dream.HypothesisStaged,
			Confirmed:    []string{"p1"},
			Contradicted: []string{"p2"},
			Outcomes: []dream.HypothesisOutcome{
				{
					Prediction: "p1",
					Right:      true,
					At:         dawn,
					Sources:    []string{"e"},
					Events:     []string{"e2"},
					Dependent:  "d",
				},
			},
			Reason:   "r",
			Claims:   []string{"cl"},
			Playbook: []string{"pb"},
			Owners:   []string{"talk/a/b"},
			Promoted: dawn,
			Ended:    dawn,
			Restored: dawn,
		},
		&dream.Gist{Head: full(dream.KindGist), Content: "gist"},
		&dream.Playbook{Head: full(dream.KindPlaybook), Content: "do", Confidence: .8, Hypothesis: "h"},
		&dream.Claim{
			Head:     full(dream.KindClaim),
			Check:    dream.Check{When: "storm", Then: "leak", Within: time.Hour},
			Says:     "says",
			Status:   dream.ClaimPassed,
			From:     dawn,
			Hits:     7,
			Chance:   .3,
			Wealth:   30,
			Decoys:   []dream.Decoy{{Name: "fog", From: dawn}},
			Outcomes: []dream.ClaimOutcome{{At: dawn, Right: true, Evidence: []string{"e"}, Wealth: 30}},
			Passed:   dawn,
			Decline:  &dream.Decline{Chance: .3, Keep: .7, Level: 1},
			Playbook: "pb",
			Owners:   []string{"talk/a/b"},
		},
		&dream.Prediction{
			Head:       full(dream.KindPrediction),
			Source:     dream.Creative,
			Claim:      "c",
			Criterion:  "k",
			Horizon:    dawn,
			Confidence: .3,
			Session:    "s",
			Episodes:   []string{"e"},
			Status:     dream.PredictionRight,
			ResolvedAt: &resolved,
			Residual:   &residual,
			ResolvedBy: dream.ByRule + "f/r",
			Evidence:   "seen",
			DecidedBy:  []string{"e"},
			Guessed:    true,
			Watch:      &dream.Watch{Feed: "f", Rule: "r", Means: dream.PredictionRight, Since: dawn},
		},
		&dream.Journal{
			Head:         full(dream.KindJournal),
			Content:      "dear",
			Significance: .9,
			Duration:     time.Minute,
			Topics:       []string{"x"},
		},
		&dream.Record{
			Head:    full(dream.KindRecord),
			Tier:    dream.Core,
			Seed:    1<<64 - 1,
			AsOf:    dawn,
			Outcome: dream.Completed,
			Budget:  budget.Dollar,
			Phases: []dream.Tally{{
				Phase:   dream.Onset,
				State:   "ran",
				Calls:   3,
				Started: dawn,
				Ended:   dawn,
			}},
		},
		&dream.Marker{
			Head:     full(dream.KindMarker),
			Affect:   pad,
			Strength: .7,
			Valence:  dream.CameOutBadly,
			Count:    3,
		},
		&dream.Proposal{
			Head:    full(dream.KindProposal),
			Does:    dream.ProposeMood,
			Of:      "s",
			Was:     3,
			Newer:   "g",
			From:    &pad,
			To:      &pad,
			Decided: "accepted",
		},
	}
}

func everyKindComesBack(t *testing.T, s memory.DreamStore) {
	want := oneOfEach()
	require.Len(t, want, len(dream.Kinds))
	add(t, s, want...)
	require.Equal(t, want, get(t, s, ids(want)...))
	for _, item := range want {
		require.Equal(t, []dream.Item{item}, find(t, s, memory.Query{Kinds: []dream.Kind{item.Header().Kind}}))
	}
}

func existingStays(t *testing.T, s memory.DreamStore) {
	r := commit(t, s,
		memory.Write{Cause: "import", Add: []dream.Item{episode("e1", "first"), episode("e1", "twice in one write")}})
	require.Equal(t, memory.Receipt{Added: 1, Existing: 1}, r)
	r = commit(t, s, memory.Write{Cause: "import", Add: []dream.Item{episode("e1", "again"), episode("e2", "new")}})
	require.Equal(t, memory.Receipt{Added: 1, Existing: 1}, r)
	require.Equal(t, []dream.Item{episode("e1", "first"), episode("e2", "new")}, get(t, s, "e1", "e2"))
	revisions, err := s.Revisions(t.Context(), echo, "e1")
	require.NoError(t, err)
	require.Len(t, revisions, 1)
}

func changeKeepsRevisions(t *testing.T, s memory.DreamStore) {
	add(t, s, hypothesis("h1", "rain follows glass", .2))
	confirmed := hypothesis("h1", "rain follows glass", .3)
	require.Equal(t, memory.Receipt{Changed: 1},
		commit(t, s, memory.Write{Cause: "operator", Change: []dream.Item{confirmed}}))
	require.Equal(t, memory.Receipt{}, commit(t, s, memory.Write{Cause: "echo/0002", Change: []dream.Item{confirmed}}))
	promoted := hypothesis("h1", "rain follows glass", .7)
	promoted.Status = dream.HypothesisPromoted
	commit(t, s, memory.Write{Cause: "echo/0003", Change: []dream.Item{promoted}})
	require.Equal(t, []dream.Item{promoted}, get(t, s, "h1"))
	require.Equal(t, []dream.Item{promoted},
		find(t, s, memory.Query{Statuses: []string{dream.HypothesisPromoted}, ScoreFrom: .7}))
	revisions, err := s.Revisions(t.Context(), echo, "h1")
	require.NoError(t, err)
	var lines []string
	for i, r := range revisions {
		require.Equal(t, i+1, r.Number)
		require.False(t, r.At.IsZero())
		lines = append(lines, fmt.Sprintf("%s %.1f", r.Cause, r.Item.Marks().Score))
	}
	require.Equal(t, []string{"import 0.2", "operator 0.3", "echo/0003 0.7"}, lines)
}

func failedWriteLeavesNothing(t *testing.T, s memory.DreamStore) {
	add(t, s, episode("e1", "first"))
	feeling := dream.Affect{PAD: mood.PAD{Pleasure: .5}, Since: dawn, Cause: "test"}
	_, err := s.Commit(t.Context(), memory.Write{
		Agent: echo, Cause: "test", Add: []dream.Item{episode("e2", "new")},
		Change: []dream.Item{
			func() dream.Item { e := episode("e1", "changed"); return e }(),
			episode("nobody", "missing"),
		},
		Affect: &feeling, Events: []event.Event{event.New("v1", echo, "", dawn, event.PatternFound{})},
	})
	require.ErrorIs(t, err, memory.ErrNotFound)
	require.Equal(t, []dream.Item{episode("e1", "first")}, get(t, s, "e1", "e2", "nobody"))
	affect, err := s.Affect(t.Context(), echo)
	require.NoError(t, err)
	require.Equal(t, "new", affect.Cause)
	require.Zero(t, commit(t, s, memory.Write{}).LastSeq)
}

func answersAreCopies(t *testing.T, s memory.DreamStore) {
	given := episode("e1", "first")
	given.Sources = []string{"a"}
	add(t, s, given)
	given.Content, given.Sources[0] = "changed by the giver", "b"
	for _, read := range []func() []dream.Item{
		func() []dream.Item { return get(t, s, "e1") },
		func() []dream.Item { return find(t, s, memory.Query{}) },
	} {
		for range 2 {
			got := read()[0].(*dream.Episode)
			require.Equal(t, "first", got.Content)
			require.Equal(t, []string{"a"}, got.Sources)
			got.Content, got.Sources[0] = "changed by the reader", "c"
		}
	}
}

func getKeepsOrder(t *testing.T, s memory.DreamStore) {
	add(t, s, episode("a", "1"), episode("b", "2"), episode("c", "3"))
	require.Equal(t, []string{"c", "a", "b", "a"}, ids(get(t, s, "c", "nobody", "a", "b", "a")))
	require.Empty(t, get(t, s))
	_, err := s.Revisions(t.Context(), echo, "nobody")
	require.ErrorIs(t, err, memory.ErrNotFound)
}

func agentsAreApart(t *testing.T, s memory.DreamStore) {
	add(t, s, episode("same-id", "echo's"))
	other := episode("same-id", "vega's")
	other.Agent = "agent-vega"
	commit(t, s, memory.Write{Agent: "agent-vega", Add: []dream.Item{other}})
	require.Equal(t, []dream.Item{episode("same-id", "echo's")}, find(t, s, memory.Query{}))
	if eraser, ok := s.(memory.Eraser); ok {
		_, err := eraser.Forget(t.Context(), "agent-vega", "same-id")
		require.NoError(t, err)
	}
	require.Len(t, get(t, s, "same-id"), 1)
}

func writesAtOnce(t *testing.T, s memory.DreamStore) {
	const writers, each = 8, 12
	together(t, writers, func(ctx context.Context, w int) error {
		for i := range each {
			id := fmt.Sprintf("e-%d-%d", w, i)
			if _, err := s.Commit(ctx, memory.Write{
				Agent: echo, Cause: "import", Add: []dream.Item{episode(id, id), episode("shared", "x")},
				Events: []event.Event{event.New(id, echo, "", dawn, event.PatternFound{})},
			}); err != nil {
				return err
			}
		}
		return nil
	})
	n, err := s.Count(t.Context(), memory.Query{Agent: echo})
	require.NoError(t, err)
	require.Equal(t, writers*each+1, n)
	require.EqualValues(t, writers*each, commit(t, s, memory.Write{}).LastSeq)
}

func causeDefaults(t *testing.T, s memory.DreamStore) {
	f := sleep(t, s, "echo/0001")
	commit(t, s, memory.Write{Fence: f, Add: []dream.Item{episode("e1", "x")}})
	revisions, err := s.Revisions(t.Context(), echo, "e1")
	require.NoError(t, err)
	require.Equal(t, "echo/0001", revisions[0].Cause)
}
