package console_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/starter"
)

// waiting gives the furnished dream items that wait for a person, and two fragments that are held.
func (d *fixture) waiting() *fixture {
	d.Helper()
	proposed := func(kind dream.Kind, id string) dream.Head {
		h := head(kind, dreamID+"/"+id, now.Add(-time.Hour), true)
		h.State = dream.Proposed
		return h
	}
	held := func(id, by string) *dream.Fragment {
		return &dream.Fragment{
			Head:    head(dream.KindFragment, dreamID+"/"+id, now.Add(-time.Hour), true),
			Content: "A harbour that sells its own tide.", Status: dream.FragmentRaw,
			Flags: []dream.Flag{{By: by, Reason: "a person should look", Bars: true}},
		}
	}
	_, err := d.store.Commit(d.Context(), memory.Write{Agent: "echo", Cause: "import", Add: []dream.Item{
		&dream.Semantic{
			Head:    head(dream.KindSemantic, "s-0009", now.AddDate(0, -9, 0), false),
			Content: "The mole has forty steps.", Strength: .1,
		},
	}})
	require.NoError(d, err)
	_, err = d.store.Commit(d.Context(), memory.Write{Agent: "echo", Cause: dreamID, Add: []dream.Item{
		&dream.Gist{Head: proposed(dream.KindGist, "g"), Content: "What turns first is not what is felt first."},
		&dream.Hypothesis{
			Head:  proposed(dream.KindHypothesis, "h2"),
			Claim: "A song is finished when nobody asks for the next verse.", Confidence: .25,
			Status: dream.HypothesisStaged,
		},
		&dream.Proposal{
			Head: proposed(dream.KindProposal, "return/mood"), Does: dream.ProposeMood, From: &mood.PAD{},
			To: &mood.PAD{Pleasure: .12, Arousal: -.05},
		},
		&dream.Proposal{
			Head:  proposed(dream.KindProposal, "nrem/archive/s-0009"),
			Does:  dream.ProposeArchive,
			Of:    "s-0009",
			Was:   1,
			Newer: dreamID + "/g",
		},
		held("f8", "hook/guard"), held("f9", "policy/leverage"),
	}})
	require.NoError(d, err)
	return d
}

func TestWhatWaitsIsListedShownAndDecided(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish().waiting()
	for _, width := range []int{80, 200} {
		d.ok(width, "review", "list", "-a", "echo")
		d.golden(fmt.Sprintf("review-list-%d", width))
		d.ok(width, "review", "show", dreamID+"/f8", "-a", "echo")
		d.golden(fmt.Sprintf("review-show-held-%d", width))
	}
	d.ok(80, "review", "show", dreamID+"/h2", "-a", "echo")
	d.golden("review-show-80")
	d.ok(0, "review", "list", "-a", "echo", "--json")
	var list []map[string]any
	require.NoError(t, json.Unmarshal(d.out.Bytes(), &list))
	require.Len(t, list, 6)

	require.Equal(
		t,
		exit.Refused,
		d.run(80, "review", "accept", dreamID+"/g", dreamID+"/f9", "-a", "echo", "--yes"),
	)
	require.Contains(t, d.err.String(), "is barred by the policy, which no review lifts")
	require.Equal(t, dream.Proposed, d.stateOf(dreamID+"/g"), "all or nothing")

	require.Equal(t, exit.Refused, d.run(80, "review", "accept", "--all", "-a", "echo"), "nobody is there to ask")
	d.ok(80, "review", "accept", "--dream", "1", "-a", "echo", "--yes")
	d.golden("review-accept-80")
	require.Equal(t, dream.Live, d.stateOf(dreamID+"/g"))
	require.Equal(t, dream.Archived, d.stateOf("s-0009"))
	require.Equal(t, dream.Archived, d.stateOf(dreamID+"/return/mood"))
	affect, err := d.store.Affect(t.Context(), "echo")
	require.NoError(t, err)
	require.Equal(t, mood.PAD{Pleasure: .12, Arousal: -.05}, affect.PAD)
	lifted, err := memory.One[*dream.Fragment](t.Context(), d.store, "echo", dreamID+"/f8")
	require.NoError(t, err)
	_, barred := lifted.Barred()
	require.False(t, barred)
	require.Equal(t, now, lifted.Flags[0].Lifted, "the flag stays on record")
	d.ok(200, "fragments", "explain", dreamID+"/f8", "-a", "echo")
	require.Contains(t, d.out.String(), "lifted by a person at 2026-11-20 06:00")

	require.Equal(t, exit.NotFound, d.run(80, "review", "accept", dreamID+"/g", "-a", "echo"))
	require.Contains(t, d.err.String(), "does not wait for a review")
	d.ok(80, "review", "reject", dreamID+"/f9", "-a", "echo")
	d.ok(80, "review", "list", "-a", "echo")
	require.Contains(t, d.err.String(), "Nothing of echo waits for a review.")

	d.ok(80, "memory", "undo", dreamID, "-a", "echo", "--yes")
	require.Equal(t, dream.Live, d.stateOf("s-0009"))
	require.Equal(t, dream.Archived, d.stateOf(dreamID+"/g"))
	affect, err = d.store.Affect(t.Context(), "echo")
	require.NoError(t, err)
	require.Zero(t, affect.PAD)
}

func (d *fixture) stateOf(id string) dream.State {
	d.Helper()
	items, err := d.store.Get(d.Context(), "echo", id)
	require.NoError(d, err)
	require.Len(d, items, 1)
	return items[0].Header().State
}

func TestADecisionThatMayNotBeMadeChangesNothing(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish().waiting()
	for line, want := range map[string]string{
		"":                    "name what is decided in one way: by ids, by --dream or by --all",
		"--all --dream 1":     "name what is decided in one way",
		dreamID + "/g --all":  "name what is decided in one way",
		"--dream 1 --dreem 2": "unknown flag: --dreem",
	} {
		args := append([]string{"review", "accept", "-a", "echo", "--yes"}, strings.Fields(line)...)
		require.Equal(t, exit.Usage, d.run(80, args...), line)
		require.Contains(t, d.err.String(), want, line)
	}
	require.Equal(t, exit.NotFound, d.run(80, "review", "accept", "nobody-knows", "-a", "echo"))

	s, err := memory.One[*dream.Semantic](t.Context(), d.store, "echo", "s-0009")
	require.NoError(t, err)
	s.Strength = .9
	_, err = d.store.Commit(t.Context(), memory.Write{Agent: "echo", Cause: "talk", Change: []dream.Item{s}})
	require.NoError(t, err)
	require.Equal(t, exit.Refused, d.run(80, "review", "accept", "--dream", "1", "-a", "echo", "--yes"))
	require.Contains(t, d.err.String(), "has changed since; reject that")
	require.Equal(t, dream.Proposed, d.stateOf(dreamID+"/g"))
	d.ok(80, "review", "reject", dreamID+"/nrem/archive/s-0009", "-a", "echo")
	d.ok(80, "review", "accept", "--dream", "1", "-a", "echo", "--yes")
	require.Equal(t, dream.Live, d.stateOf("s-0009"))

	n := d.interrupt(now.Add(time.Hour))
	late := &dream.Gist{Head: head(dream.KindGist, n.ID+"/g", now, true), Content: "Late."}
	late.Dream, late.State = n.ID, dream.Proposed
	_, err = d.store.Commit(t.Context(), memory.Write{Agent: "echo", Cause: n.ID, Add: []dream.Item{late}})
	require.NoError(t, err)
	require.Equal(t, exit.Refused, d.run(80, "review", "accept", late.ID, "-a", "echo"))
	require.Contains(t, d.err.String(), "still goes on; what it made can be reviewed when it is over")
}

func TestAnAgentIsReviewedAsConfigured(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	d.ok(80, "agents", "edit", "echo", "--review", "journal-only")
	a, err := d.store.Agent(t.Context(), "echo")
	require.NoError(t, err)
	require.Equal(t, dream.JournalOnly, a.Review)
	d.ok(80, "agents", "show", "echo")
	require.Contains(t, d.out.String(), "journal-only")
	require.Equal(t, exit.Usage, d.run(80, "agents", "edit", "echo", "--review", "never"))
	require.Contains(t, d.err.String(), `--review: "never" must be one of auto, review, journal-only`)
	d.ok(80, "agents", "edit", "echo", "--review", "")
	a, err = d.store.Agent(t.Context(), "echo")
	require.NoError(t, err)
	require.Empty(t, a.Review)
}

func TestANightIsDreamtAnewFromTheCommandLine(t *testing.T) {
	t.Parallel()
	s := &sleeper{outcome: dream.Completed}
	d := newFixture(t).furnish().asleep(s, 0)
	d.dream.EstimateAgain = func(ctx context.Context, w starter.RedreamRequest) (starter.Estimate, error) {
		return d.dream.Estimate(ctx, w.DreamRequest)
	}
	d.ok(0, "dreams", "redream", "last", "-a", "echo", "--from", "rem", "--seed", "9", "--json")
	require.JSONEq(t, `{"agent":"echo","dream":"dream/echo/0042","from":"rem","redreams":"dream/echo/0001"}`,
		d.out.String())
	require.Equal(t, dreamID, s.again.Dream)
	require.Equal(t, dream.REM, s.again.From)
	require.EqualValues(t, 9, *s.again.Seed)
	for _, from := range []string{"onset", "", "dawn"} {
		require.Equal(t, exit.Usage, d.run(80, "dreams", "redream", "1", "-a", "echo", "--from", from))
		require.Contains(t, d.err.String(), "must be nrem, rem, integration or return")
	}
	require.Equal(t, exit.NotFound, d.run(80, "dreams", "redream", "77", "-a", "echo", "--from", "rem"))
	s.refuse = fmt.Errorf("%s was undone: it %w", dreamID, activities.ErrNoRedream)
	require.Equal(t, exit.Refused, d.run(80, "dreams", "redream", "1", "-a", "echo", "--from", "rem"))
	require.Contains(t, d.err.String(), "was undone: it cannot be dreamt anew")
	s.refuse = nil
	d.ok(80, "dreams", "redream", "1", "-a", "echo", "--from", "return", "--estimate")
}

func TestADryRunDescribesTheDreamAndBeginsNothing(t *testing.T) {
	t.Parallel()
	s := &sleeper{}
	d := newFixture(t).furnish().asleep(s, 40_000)
	d.dream.Rehearse = func(ctx context.Context, w starter.DreamRequest) (starter.Rehearsal, error) {
		e, err := d.dream.Estimate(ctx, w)
		return rehearsed(e), err
	}
	for _, width := range []int{80, 200} {
		d.ok(width, "dream", "-a", "echo", "--dry-run")
		d.golden(fmt.Sprintf("dry-run-%d", width))
	}
	d.ok(0, "dream", "-a", "echo", "--dry-run", "--json")
	var values map[string]any
	require.NoError(t, json.Unmarshal(d.out.Bytes(), &values))
	require.Contains(t, values, "gather")
	require.Empty(t, s.begun)
	require.Equal(t, exit.Usage, d.run(80, "dream", "-a", "echo", "--dry-run", "--watch"))
	require.Contains(t, d.err.String(), "--dry-run begins nothing")
	require.Zero(t, s.stopped, "Temporal was not asked")
}
