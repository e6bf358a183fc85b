package console_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

// imagine adds a dream with a search: one fragment of three was developed, and a hypothesis rests on it.
func (d *fixture) imagine() *fixture {
	d.Helper()
	const id = "dream/echo/0002"
	head := func(kind dream.Kind, step string, phase dream.Phase, minute int) dream.Head {
		h := head(kind, id+step, now.Add(time.Duration(minute-60)*time.Minute), true)
		h.Dream, h.Phase = id, phase
		return h
	}
	scenario := func(turn int, op dream.Operation, round int, worth float64, content, reason string,
		parents ...int,
	) *dream.Scenario {
		s := &dream.Scenario{
			Head:        head(dream.KindScenario, fmt.Sprintf("/rem/%d", turn), dream.REM, 0),
			Operation:   op,
			Round:       round,
			Turn:        turn,
			Score:       worth,
			Content:     content,
			Reason:      reason,
			Kept:        reason == "",
			Seeds:       []string{id + "/onset/1.1"},
			Parent:      id + "/onset/1.1",
			Worth:       &dream.Worth{Novelty: worth, Plausible: worth, Relevance: worth, Judge: "house/small"},
			JudgeReason: "it could be tried on a quiet night",
		}
		for _, p := range parents {
			s.Parents = append(s.Parents, fmt.Sprintf("%s/rem/%d", id, p))
		}
		return s
	}
	first := scenario(1, dream.Branch, 1, .6, "Mara rows out in the morning instead, and the rope is dry.",
		"scenario 3 grew out of it and stands in its place")
	first.Synthetic, first.Premise = true, "What if the rope had been dry?"
	second := scenario(2, dream.Branch, 1, .5, "The third verse is sung before the light is lit.",
		"scenario 3 grew out of it and stands in its place")
	second.Seeds, second.Parent, second.Counterfactual = nil, "", true
	add := []dream.Item{
		&dream.Record{
			Head: head(dream.KindRecord, "", "", 0), Tier: dream.Hardened, Outcome: dream.Completed, Ended: now,
			Phases: []dream.Tally{{Phase: dream.REM, State: "ran", Made: 4, Kept: 1}},
		},
		&dream.Fragment{
			Head:       head(dream.KindFragment, "/onset/1.1", dream.Onset, 0),
			Content:    "Wet rope sings.",
			Status:     dream.FragmentPromoted,
			Scenario:   id + "/rem/3",
			Hypothesis: "h",
		},
		&dream.Fragment{
			Head: head(dream.KindFragment, "/onset/1.2", dream.Onset, 0), Content: "The light counts.",
			Status: dream.FragmentRaw,
		},
		&dream.Fragment{
			Head: head(dream.KindFragment, "/onset/1.3", dream.Onset, 0), Content: "Nothing.",
			Status: dream.FragmentDiscarded, Reason: dream.LucidDiscard + "noise",
		},
		first, second,
		scenario(
			3,
			dream.Merge,
			2,
			.7,
			"The verse is sung to the dry rope, and both are tied in the morning.",
			"",
			1,
			2,
		),
		scenario(4, dream.Refine, 2, .3, "Mara rows out at noon.",
			"left: it scored 0.30, and scenario 1 that it came from 0.60", 1),
	}
	_, err := d.store.Commit(d.Context(), memory.Write{Agent: "echo", Cause: id, Add: add})
	require.NoError(d, err)
	return d
}

func TestWhatADreamImaginedIsListedAndShownAsATree(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish().imagine()
	for _, width := range []int{80, 200} {
		for name, line := range map[string]string{
			"scenarios-list": "scenarios list -a echo", "scenarios-show": "scenarios show 2 -a echo",
			"scenarios-show-one": "scenarios show 0002/rem/3 -a echo",
			"scenarios-shares":   "scenarios shares -a echo",
		} {
			require.Equal(t, exit.OK, d.run(width, strings.Fields(line)...), "%s: %s", line, d.err.String())
			for _, drawn := range strings.Split(d.out.String(), "\n") {
				require.LessOrEqual(t, len([]rune(drawn)), width, "%s at %d: %q", line, width, drawn)
			}
			d.golden(fmt.Sprintf("%s-%d", name, width))
		}
	}
	require.Equal(t, exit.OK, d.run(0, "scenarios", "show", "dream/echo/0002", "--dot"))
	d.golden("scenarios-show-dot")
	for _, line := range []string{"scenarios show last -a echo", "scenarios show #2 -a echo"} {
		require.Equal(t, exit.OK, d.run(80, strings.Fields(line)...), "%s: %s", line, d.err.String())
		require.Contains(t, d.out.String(), "4 scenarios in 2 rounds, 1 kept")
	}
	require.Equal(t, exit.OK, d.run(80, "scenarios", "show", "1", "-a", "echo"))
	require.Equal(t, "dream/echo/0001 imagined no scenario.\n", d.err.String())
}

func TestScenariosAreJSONWhenAskedFor(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish().imagine()
	result := func(line string) map[string]any {
		require.Equal(t, exit.OK, d.run(0, append(strings.Fields(line), "--json")...), "%s: %s", line,
			d.err.String())
		require.Empty(t, d.err.String(), line)
		var object map[string]any
		require.NoError(t, json.Unmarshal(d.out.Bytes(), &object), line)
		return object
	}
	search := result("scenarios show 2 -a echo")
	require.Equal(t, "dream/echo/0002", search["dream"])
	require.EqualValues(t, 2, search["rounds"])
	require.Len(t, search["scenarios"], 4)
	require.Equal(t, "merge", search["scenarios"].([]any)[2].(map[string]any)["operation"])
	one := result("scenarios show 0002/rem/1 -a echo")
	require.Equal(t, []any{"dream/echo/0002/rem/3", "dream/echo/0002/rem/4"}, one["children"])
	require.Empty(t, result("scenarios show 1 -a echo")["scenarios"])
	shares := result("scenarios shares -a echo")
	require.EqualValues(t, 1, shares["dreams"])
	require.Equal(t, "healthy", shares["used"].(map[string]any)["state"], "one fragment of three")
	require.Equal(t, "alarm", shares["staged"].(map[string]any)["state"])
	require.Equal(t, "unknown", result("scenarios shares -a tally")["used"].(map[string]any)["state"])

	require.Equal(t, exit.OK, d.run(0, "scenarios", "list", "-a", "echo", "--status", "kept", "--json"))
	var list []any
	require.NoError(t, json.Unmarshal(d.out.Bytes(), &list))
	require.Len(t, list, 1)
	require.Equal(t, exit.OK, d.run(80, "scenarios", "list", "-a", "tally"))
	require.Equal(t, "tally has imagined no scenario yet.\n", d.err.String())
	require.Equal(t, exit.OK, d.run(80, "scenarios", "shares", "-a", "tally"))
	require.Equal(t, "No dream of tally has reached REM yet.\n", d.err.String())
}

func TestAWrongScenarioIsNamedInTheError(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish().imagine()
	require.Equal(t, exit.NotFound, d.run(80, "scenarios", "show", "0002/rem/9", "-a", "echo"))
	require.Contains(t, d.err.String(), `"0002/rem/9" is neither a dream nor a scenario`)
	require.Equal(t, exit.NotFound, d.run(80, "scenarios", "show", "dream/echo/0001/f1"))
	require.Equal(t, exit.Usage, d.run(80, "scenarios", "show", "2", "-a", "echo", "--dot", "--json"))
	require.Contains(t, d.err.String(), "--dot and --json are two answers")
	require.Equal(t, exit.Usage, d.run(80, "scenarios", "show"))
	require.Equal(t, exit.Usage, d.run(80, "scenarios", "list", "-a", "echo", "--status", "raw"))
	require.Contains(t, d.err.String(), "--status raw is unknown; statuses are kept, dropped")
}
