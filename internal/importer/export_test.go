package importer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/internal/importer"
)

// oneOfEach is an item of every kind as a night leaves them, texts with every kind of character included.
func oneOfEach(agent string) []dream.Item {
	at := now.Add(-time.Hour).Add(123456789)
	head := func(id string, kind dream.Kind, state dream.State) dream.Head {
		return dream.Head{
			ID:      id,
			Agent:   agent,
			Kind:    kind,
			At:      at,
			State:   state,
			Taint:   dream.FromDream,
			Dream:   "dream/x/0001",
			Phase:   dream.REM,
			Sources: []string{"ep_1", "ep_2"},
		}
	}
	pad := mood.PAD{Pleasure: .1, Arousal: -.2, Dominance: .3}
	residual, temperature := .25, 1.31
	resolved := at.Add(time.Minute)
	lived := dream.Head{
		ID:      "ep_1",
		Agent:   agent,
		Kind:    dream.KindEpisode,
		At:      at,
		State:   dream.Live,
		Taint:   dream.FromHuman,
		Derived: []string{"context"},
	}
	return []dream.Item{
		&dream.Episode{
			Head:     lived,
			Context:  "c",
			Action:   "a",
			Outcome:  "o",
			Content:  " \"x\" <b>&amp; \u2028 \U0001F319 \n ",
			Salience: .123456789,
			Surprise: 1,
			Affect:   pad,
			Session:  "s",
			Origin:   "o:1",
			Speaker:  "p",
		},
		&dream.Episode{Head: head("ep_bare", dream.KindEpisode, dream.Live), Content: "Nothing but words."},
		&dream.Semantic{
			Head:     head("se_1", dream.KindSemantic, dream.Live),
			Content:  "k",
			Strength: .3,
			Due:      at.Add(time.Hour),
			Affect:   pad,
		},
		&dream.Semantic{Head: head("se_2", dream.KindSemantic, dream.Superseded), Content: "no due time", Strength: 1},
		&dream.Fragment{
			Head:       head("fr_1", dream.KindFragment, dream.Archived),
			Content:    "f",
			Verdict:    dream.Verdict{Novelty: .5, Composite: .4, Judge: "embedder"},
			Tone:       pad,
			Cycle:      2,
			Stage:      dream.Peak,
			Confidence: .15,
			Status:     dream.FragmentDiscarded,
			Reason:     "r",
			Settings:   dream.Settings{Model: "m", Temperature: &temperature},
		},
		&dream.Scenario{
			Head:           head("sc_1", dream.KindScenario, dream.Live),
			Content:        "s",
			Counterfactual: true,
			Synthetic:      true,
			Score:          .5,
			Kept:           true,
		},
		&dream.Hypothesis{
			Head:       head("hy_1", dream.KindHypothesis, dream.Live),
			Claim:      "h",
			FirstStep:  "try",
			Confidence: .25,
			Status:     dream.HypothesisStaged,
		},
		&dream.Gist{Head: head("gi_1", dream.KindGist, dream.Live), Content: "g"},
		&dream.Playbook{
			Head: head("pb_1", dream.KindPlaybook, dream.Live), Content: "p", Confidence: .7,
			Hypothesis: "hy_0",
		},
		&dream.Prediction{
			Head:       head("pr_1", dream.KindPrediction, dream.Live),
			Source:     dream.Creative,
			Claim:      "c",
			Criterion:  "k",
			Horizon:    at.AddDate(1, 0, 0),
			Confidence: .3,
			Session:    "z",
			Status:     dream.PredictionRight,
			ResolvedAt: &resolved,
			Residual:   &residual,
		},
		&dream.Journal{
			Head:         head("jo_1", dream.KindJournal, dream.Live),
			Content:      "j",
			Significance: .6,
			Affect:       pad,
			Duration:     3 * time.Second,
			Interrupted:  true,
			Topics:       []string{"t"},
		},
		&dream.Record{
			Head:     head("dream/x/0001", dream.KindRecord, dream.Live),
			Workflow: "w",
			Run:      "r",
			Tier:     dream.Core,
			Seed:     1<<63 + 7,
			AsOf:     at,
			Outcome:  dream.Completed,
			Ended:    resolved,
			Budget:   budget.Dollar / 3,
			Phases: []dream.Tally{{
				Phase:   dream.Onset,
				State:   "ran",
				Spent:   17,
				Started: at,
				Ended:   resolved,
			}},
		},
		&dream.Marker{
			Head:     head("ma_1", dream.KindMarker, dream.Live),
			Affect:   pad,
			Strength: .6,
			Valence:  dream.CameOutBadly,
			Count:    2,
		},
		&dream.Proposal{
			Head:  head("po_1", dream.KindProposal, dream.Proposed),
			Does:  dream.ProposeArchive,
			Of:    "se_1",
			Was:   2,
			Newer: "gi_1",
		},
	}
}

func export(t testing.TB, s memory.Store, a dream.Agent, archived bool) (string, int) {
	t.Helper()
	var b bytes.Buffer
	n, err := importer.Export(context.Background(), s, a, &b, importer.ExportOptions{Archived: archived})
	require.NoError(t, err)
	require.Equal(t, n, strings.Count(b.String(), "\n"))
	return b.String(), n
}

func all(t testing.TB, s memory.Store, agent string) []dream.Item {
	t.Helper()
	items, err := s.Find(context.Background(), memory.Query{Agent: agent, Sort: memory.Oldest, States: dream.States})
	require.NoError(t, err)
	return items
}

func TestAnExportImportedGivesBackEveryItem(t *testing.T) {
	t.Parallel()
	a := someone("a")
	s := store(t, a)
	importFiles(t, s, a, options(), testdata(t, "locomo.json"), testdata(t, "diary.md"), testdata(t, "own.jsonl"),
		text("year.jsonl", year(80)))
	_, err := s.Commit(context.Background(), memory.Write{Agent: "a", Add: oneOfEach("a")})
	require.NoError(t, err)
	dump, n := export(t, s, a, true)
	require.Equal(t, len(all(t, s, "a")), n)

	other := store(t, a)
	report := importFiles(t, other, a, options(), text("dump.jsonl", dump))
	require.Zero(t, report.BadCount, report.Bad)
	require.Equal(t, n, report.Added)
	require.Equal(t, all(t, s, "a"), all(t, other, "a"))
	again, _ := export(t, other, a, true)
	require.Equal(t, dump, again)
}

func TestAnExportCanBeImportedForAnotherAgent(t *testing.T) {
	t.Parallel()
	a, b := someone("a"), someone("b")
	s := store(t, a, b)
	importFiles(t, s, a, options(), text("year.jsonl", year(60)))
	dump, n := export(t, s, a, false)
	report := importFiles(t, s, b, options(), text("dump.jsonl", dump))
	require.Equal(t, n, report.Added)
	theirs := all(t, s, "b")
	for i, item := range all(t, s, "a") {
		require.Equal(t, "b", theirs[i].Header().Agent)
		theirs[i].Header().Agent = "a"
		require.Equal(t, item, theirs[i])
	}
}

func TestAnExportLeavesTheArchiveOutUnlessAsked(t *testing.T) {
	t.Parallel()
	a := someone("a")
	s := store(t, a)
	_, err := s.Commit(context.Background(), memory.Write{Agent: "a", Add: oneOfEach("a")})
	require.NoError(t, err)
	_, live := export(t, s, a, false)
	_, everything := export(t, s, a, true)
	require.Equal(t, 11, live)
	require.Equal(t, 14, everything)
}

func TestAnExportPagesThroughAMomentFullerThanAPage(t *testing.T) {
	t.Parallel()
	a := someone("a")
	s := store(t, a)
	var b strings.Builder
	for i := range 3500 {
		at := now.Add(-time.Hour)
		if i < 200 || i > 3100 {
			at = at.Add(time.Duration(i-1600) * time.Millisecond)
		}
		fmt.Fprintf(&b, `{"at":%q,"content":"Item %d"}`+"\n", at.Format(time.RFC3339Nano), i)
	}
	report := importFiles(t, s, a, options(), text("many.jsonl", b.String()))
	_, n := export(t, s, a, false)
	require.Equal(t, report.Added, n)
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("disk is full") }

func TestAnExportReportsAFailedWrite(t *testing.T) {
	t.Parallel()
	a := someone("a")
	s := store(t, a)
	importFiles(t, s, a, options(), text("year.jsonl", year(20)))
	_, err := importer.Export(context.Background(), s, a, broken{}, importer.ExportOptions{})
	require.ErrorContains(t, err, "disk is full")
}

func TestThePlaybookReadsAsADocument(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 5, 8, 0, 0, 0, time.UTC)
	rule := func(state dream.State, confidence float64, text, from string) *dream.Playbook {
		return &dream.Playbook{
			Head:    dream.Head{ID: "pb", At: at, State: state, Taint: dream.FromHuman},
			Content: text, Confidence: confidence, Hypothesis: from,
		}
	}
	trial := func(id, status string, confidence float64, claim, step string) *dream.Hypothesis {
		return &dream.Hypothesis{
			Head:       dream.Head{ID: id, At: at, State: dream.Live, Dream: "dream/echo/0007"},
			Claim:      claim,
			FirstStep:  step,
			Confidence: confidence,
			Status:     status,
		}
	}
	golden(t, "PLAYBOOK.md", importer.PlaybookMarkdown([]*dream.Playbook{
		rule(dream.Live, .72, "Ask before you advise.", ""),
		rule(dream.Live, .9, "Believe the gauge,\nnot the *board*.", "hy_4"),
		rule(dream.Archived, .99, "Forgotten.", ""),
	}, []*dream.Hypothesis{
		trial("hy_1", dream.HypothesisStaged, .25, "# Rain moves the price <first>", "compare the two columns"),
		trial("hy_2", dream.HypothesisRefuted, .05, "Wool follows tin.", ""),
		trial("hy_4", dream.HypothesisPromoted, .74, "The gauge knows before the board.", ""),
		trial("hy_3", dream.HypothesisStaged, .3, "She counts when she cannot sleep.", ""),
	}))
	golden(t, "PLAYBOOK-empty.md", importer.PlaybookMarkdown(nil, nil))
}

func TestAPlaybookHoldsNothingToClickOn(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Look at https://tides.example/a_b?c=*d* each day.":   "Look at `https://tides.example/a_b?c=*d*` each day.",
		"_http://x.example_ and WWW.Tides.Example":            "\\_`http://x.example_` and `WWW.Tides.Example`",
		"Write to mara@tides.example, or mailto:m@x.example.": "Write to `mara@tides.example,` or `mailto:m@x.example.`",
		"[a](javascript:alert) <https://x.example>":           "\\[a](javascript:alert) \\<`https://x.example`>",
		"`https://x.example` stays code":                      "\\``https://x.example`\\` stays code",
		"At 3:15 it is 5/6, e.g. a_b @ noon":                  "At 3:15 it is 5/6, e.g. a\\_b @ noon",
	} {
		written := importer.PlaybookMarkdown([]*dream.Playbook{{Head: dream.Head{State: dream.Live}, Content: text}},
			nil)
		require.Contains(t, written, "- "+want+"  \n")
	}
}
