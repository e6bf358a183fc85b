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
	"github.com/seed-56a03226/oneiros/internal/prediction"
)

// watching is a fixture whose agent follows the feed harbour with two rules.
func watching(t *testing.T) *fixture {
	t.Helper()
	d := newFixture(t).furnish().asleep(&sleeper{}, 0)
	require.Equal(t, exit.OK,
		d.run(0, "feed", "add", "harbour", "--rule", "above price 6", "--quiet-rule", "calm = below wind 3"),
		d.err.String())
	require.Equal(t, exit.OK, d.run(0, "agents", "edit", "echo", "--feed", "harbour"), d.err.String())
	return d
}

const spliced = "0001/nrem/backward/1"

func (d *fixture) ok(width int, args ...string) {
	d.Helper()
	require.Equal(d, exit.OK, d.run(width, args...), "%v: %s", args, d.err.String())
}

func TestAPredictionIsWatchedResolvedAndTurnedRound(t *testing.T) {
	t.Parallel()
	d := watching(t)
	_, err := d.store.Commit(t.Context(),
		memory.Write{Agent: "echo", Cause: dreamID, Add: []dream.Item{&dream.Hypothesis{
			Head:  head(dream.KindHypothesis, dreamID+"/h2", now.Add(-time.Hour), true),
			Claim: "She mends what she trusts.", Confidence: .25, Status: dream.HypothesisStaged,
		}}})
	require.NoError(t, err)
	h, err := memory.One[*dream.Hypothesis](t.Context(), d.store, "echo", dreamID+"/h2")
	require.NoError(t, err)
	h.Sources = []string{dreamID + "/nrem/backward/1"}
	_, err = d.store.Commit(t.Context(), memory.Write{Agent: "echo", Cause: dreamID, Change: []dream.Item{h}})
	require.NoError(t, err)

	d.ok(80, "predictions", "watch", spliced, "-a", "echo", "--rule", "calm", "--means", "correct")
	d.golden("predictions-watch-80")
	d.ok(200, "predictions", "list", "-a", "echo")
	d.golden("predictions-list-watched-200")
	d.ok(80, "predictions", "resolve", spliced, "correct", "-a", "echo", "--because", "Mara spliced it on Sunday.")
	d.golden("predictions-resolve-80")
	d.ok(80, "predictions", "show", spliced, "-a", "echo")
	d.golden("predictions-show-80")
	d.ok(80, "predictions", "resolve", spliced, "correct", "-a", "echo")
	require.Equal(t, "0001/nrem/backward/1 was correct already; nothing changes.\n", d.out.String())
	require.Equal(t, exit.Refused, d.run(80, "predictions", "resolve", spliced, "incorrect", "-a", "echo"))
	require.Contains(
		t,
		d.err.String(),
		"was resolved already as correct by person at 2026-11-20T06:00:00Z; --again turns it round, and its revisions keep both",
	)
	require.Equal(t, exit.Refused, d.run(80, "predictions", "watch", spliced, "-a", "echo", "--off"))
	d.ok(
		0,
		"predictions",
		"resolve",
		spliced,
		"incorrect",
		"-a",
		"echo",
		"--again",
		"--tool",
		"log-reader",
		"--json",
	)
	var result struct {
		Prediction dream.Prediction
		Changed    bool
		Moved      []dream.Hypothesis
	}
	require.NoError(t, json.Unmarshal(d.out.Bytes(), &result))
	require.True(t, result.Changed)
	require.Equal(t, "tool/log-reader", result.Prediction.ResolvedBy)
	require.Len(t, result.Moved, 1)
	require.InDelta(t, .2, result.Moved[0].Confidence, 1e-9)
	d.ok(200, "memory", "show", spliced, "-a", "echo", "--revisions")
	require.Contains(t, d.out.String(), "correct")
	require.Contains(t, d.out.String(), "incorrect")
}

func TestAPersonsPredictionIsStoredOnce(t *testing.T) {
	t.Parallel()
	d := watching(t)
	add := []string{
		"predictions", "add", "The quay price passes 6.", "-a", "echo", "--criterion", "The feed says so.", "--due",
		"14d", "--confidence", "0.6",
		"--because", "It has risen all week.", "--from", "e-0001", "--rule", "above-price", "--means", "correct",
	}
	d.ok(80, add...)
	d.golden("predictions-add-80")
	d.ok(80, add...)
	require.Contains(t, d.out.String(), "is known already: open, due 2026-12-04 06:00.")
	for due, want := range map[string]string{
		"2026-12-04":       "2026-12-05T00:00:00Z",
		"2026-12-04T18:00": "2026-12-04T18:00:00Z", "36h": "2026-11-21T18:00:00Z",
	} {
		d.ok(0, "predictions", "add", "Rain by "+due, "-a", "echo", "--criterion", "It rains.", "--due", due,
			"--confidence", "0.5", "--tool", "barometer", "--json")
		var p dream.Prediction
		require.NoError(t, json.Unmarshal(d.out.Bytes(), &p))
		require.Equal(t, want, p.Horizon.Format(time.RFC3339))
		require.Equal(t, []string{dream.Analytical, "tool/barometer", "tool"},
			[]string{p.Source, p.Session, string(p.Taint)})
	}
}

func TestWhatIsWrongWithAPredictionIsNamed(t *testing.T) {
	t.Parallel()
	d := watching(t)
	whole := "predictions add X -a echo --criterion seen --due 14d --confidence 0.6"
	for _, c := range []struct {
		line string
		code int
		says string
	}{
		{
			"predictions resolve " + spliced + " perhaps -a echo", exit.Usage,
			`the verdict is "perhaps"; it must be correct, incorrect or void`,
		},
		{
			"predictions resolve 0001/nrem/9 correct -a echo", exit.NotFound,
			`there is no prediction "0001/nrem/9"; oneiros predictions list names them`,
		},
		{
			"predictions resolve e-0001 correct", exit.NotFound,
			"e-0001 is no prediction but an episode; oneiros predictions list names them",
		},
		{
			"predictions resolve " + spliced, exit.Usage,
			"oneiros predictions resolve lacks correct|incorrect|void; it is used as \"oneiros predictions resolve ID correct|incorrect|void\"",
		},
		{
			"predictions resolve " + spliced + " void --tool Big!", exit.Usage,
			`--tool is "Big!"; a tool's name is made of a-z, 0-9, - and _`,
		},
		{"predictions watch " + spliced, exit.Usage, "name the rule and what it means"},
		{"predictions watch " + spliced + " --off --rule calm", exit.Usage, "or --off"},
		{
			"predictions watch " + spliced + " -a echo --rule calm", exit.Usage,
			`--means is ""; it must be correct or incorrect`,
		},
		{
			"predictions watch " + spliced + " -a echo --means correct", exit.Usage,
			"--rule is missing: name the rule of feed harbour",
		},
		{
			"predictions watch " + spliced + " -a echo --rule gale --means correct", exit.NotFound,
			"feed harbour has no rule gale",
		},
		{
			"predictions watch " + spliced + " -a echo --feed pier --rule gale --means correct", exit.NotFound,
			"there is no feed pier",
		},
		{
			"predictions add X -a tally --rule calm --means correct --criterion c --due 1d --confidence 1",
			exit.Usage, "tally follows no feed; let it follow one",
		},
		{
			"predictions add X -a tally --feed harbour --rule calm --means correct --criterion c --due 1d --confidence 1",
			exit.Usage, "tally does not follow feed harbour",
		},
		{"predictions add X -a echo", exit.Usage, "--criterion is missing"},
		{"predictions add X -a echo", exit.Usage, "--due is missing"},
		{"predictions add X -a echo", exit.Usage, "--confidence is missing"},
		{whole + " --confidence 60", exit.Usage, "the confidence is 60; it must lie between 0 and 1"},
		{whole + " --confidence sure", exit.Usage, "confidence"},
		{whole + " --due soon", exit.Usage, `--due is "soon"; it must be a day such as 2026-12-04,`},
		{
			whole + " --due 2020-01-01", exit.Usage,
			"the horizon is 2020-01-02T00:00:00Z; it must be after 2026-11-20T06:00:00Z",
		},
		{whole + " --from e-9", exit.NotFound, "e-9: not found"},
		{"predictions score", exit.Usage, "several agents are known"},
		{
			"feed add pier --quiet-rule sideways", exit.Usage,
			`--quiet-rule "sideways": "sideways" is neither a preset`,
		},
	} {
		require.Equal(t, c.code, d.run(0, strings.Fields(c.line)...), "%s: %s", c.line, d.err.String())
		require.Contains(t, d.err.String(), c.says, c.line)
	}
	d.ok(0, "feed", "show", "harbour")
	require.Contains(t, d.out.String(), "calm: wind is below 3, quietly")
}

func TestTheScoreHoldsEachPhaseAgainstWhatIsExpected(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	d.ok(80, "predictions", "score", "-a", "echo")
	require.Contains(t, d.err.String(), "No prediction of echo has been resolved yet.")
	w := memory.Write{Agent: "echo", Cause: "operator"}
	outcome := func(phase dream.Phase, source string, confidence float64, n, right, void int) {
		for i := range n + void {
			p := &dream.Prediction{
				Head: dream.Head{
					ID:    fmt.Sprintf("p-%s-%s-%d", phase, source, i),
					Agent: "echo",
					Kind:  dream.KindPrediction,
					At:    now.Add(-time.Hour),
					State: dream.Live,
					Phase: phase,
				},
				Source:     source,
				Claim:      "x",
				Horizon:    now.AddDate(0, 0, 1),
				Confidence: confidence,
				Status:     dream.PredictionOpen,
			}
			status := dream.PredictionWrong
			switch {
			case i < right:
				status = dream.PredictionRight
			case i >= n:
				status = dream.PredictionVoid
			}
			_, err := prediction.Resolve(p,
				prediction.Verdict{Status: status, By: dream.ByPerson, At: now.Add(time.Duration(i) * time.Second)})
			require.NoError(d, err)
			w.Add = append(w.Add, p)
		}
	}
	outcome(dream.Onset, dream.Creative, .15, 40, 2, 0)
	outcome(dream.NREM, dream.Creative, .3, 60, 21, 20)
	outcome(dream.REM, dream.Creative, .25, 30, 0, 0)
	outcome(dream.Integration, dream.Creative, .25, 0, 0, 4)
	outcome("", dream.Analytical, .6, 3, 2, 1)
	_, err := d.store.Commit(t.Context(), w)
	require.NoError(t, err)
	for _, width := range []int{80, 200} {
		d.ok(width, "predictions", "score", "-a", "echo")
		d.golden(fmt.Sprintf("predictions-score-%d", width))
		for _, line := range strings.Split(d.out.String(), "\n") {
			require.LessOrEqual(t, len([]rune(line)), width)
		}
	}
	d.ok(0, "predictions", "score", "-a", "echo", "--json")
	var s prediction.Scores
	require.NoError(t, json.Unmarshal(d.out.Bytes(), &s))
	require.Equal(t, []int{130, 100, 3}, []int{s.Creative.Outcomes, s.Rolling.Outcomes, s.Analytical.Outcomes})
	require.Equal(t, []int{24, 1}, []int{s.Creative.Void, s.Analytical.Void})
	require.InDelta(t, .25, s.Analytical.VoidShare, 1e-9)
}

func TestAShellIsOfferedPredictionsVerdictsAndRules(t *testing.T) {
	t.Parallel()
	d := watching(t)
	id := dreamID + "/nrem/backward/1"
	for line, want := range map[string]string{
		"predictions resolve ":                                id,
		"predictions show ":                                   id,
		"predictions watch -a echo ":                          id,
		"predictions resolve " + id + " ":                     "correct\nincorrect\nvoid",
		"predictions resolve " + id + " void ":                "",
		"predictions watch " + id + " --means ":               "correct\nincorrect",
		"predictions watch " + id + " --feed ":                "harbour",
		"predictions watch " + id + " --rule ":                "above-price\ncalm",
		"predictions watch " + id + " --feed other --rule ":   "",
		"predictions add ":                                    "",
		"predictions add X --due ":                            "",
		"predictions watch " + id + " -a echo --rule calm x ": "",
	} {
		d.ok(0, append([]string{"__complete"}, strings.Split(line, " ")...)...)
		require.Equal(t, strings.TrimPrefix(want+"\n:4\n", "\n"), d.out.String(), line)
	}
}
