package testdeploy_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/review"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
	"github.com/seed-56a03226/oneiros/workflows"
)

// reviewed dreams one night of an agent with this kind of review.
func reviewed(t *testing.T, ctx context.Context,
	way dream.Review,
) (*testdeploy.Deployment, dream.Agent, workflows.Result, *provider.Server) {
	t.Helper()
	p := billedProvider(t, provider.Options{Seed: 1})
	deployment := open(t, func(config *testdeploy.Config) { config.Provider = p.URL })
	agent, err := deployment.AddAgent(ctx, 1, "")
	require.NoError(t, err)
	agent.Review = way
	require.NoError(t, deployment.Store.PutAgent(ctx, agent))
	faded(t, ctx, deployment, agent)
	seed := uint64(7)
	begun, err := deployment.Starter.Begin(
		ctx,
		starter.DreamRequest{Agent: agent.Handle, Seed: &seed, AsOf: testdeploy.Night},
	)
	require.NoError(t, err)
	result, err := deployment.Result(ctx, begun.Dream)
	require.NoError(t, err)
	require.Equal(t, dream.Completed, result.Outcome, result.Reason)
	return deployment, agent, result, p
}

// faded gives an agent an entry that is due to be archived tonight: no memory mentions it.
func faded(t *testing.T, ctx context.Context, deployment *testdeploy.Deployment, agent dream.Agent) {
	t.Helper()
	at := testdeploy.Night.AddDate(-1, 0, 0)
	_, err := deployment.Store.Commit(ctx,
		memory.Write{Agent: agent.ID, Cause: "import", Add: []dream.Item{&dream.Semantic{
			Head: dream.Head{
				ID:    "old",
				Agent: agent.ID,
				Kind:  dream.KindSemantic,
				At:    at,
				State: dream.Live,
				Taint: dream.FromWeb,
			},
			Content: "The quarterly tax statute exempts cooperatives from municipal depreciation levies.", Strength: .3,
			Due: at.AddDate(0, 1, 0),
		}}})
	require.NoError(t, err)
}

// everything is all that a dream has made, as JSON by id.
func everything(t *testing.T, ctx context.Context, deployment *testdeploy.Deployment, agent dream.Agent,
	dreamID string,
) map[string]string {
	t.Helper()
	items, err := deployment.Store.Find(ctx, memory.Query{Agent: agent.ID, Dream: dreamID, States: dream.States})
	require.NoError(t, err)
	all := map[string]string{}
	for _, item := range items {
		body, err := json.Marshal(item)
		require.NoError(t, err)
		all[item.Header().ID] = string(body)
	}
	return all
}

func kindsIn(t *testing.T, ctx context.Context, deployment *testdeploy.Deployment, q memory.Query) map[dream.Kind]int {
	t.Helper()
	items, err := deployment.Store.Find(ctx, q)
	require.NoError(t, err)
	kinds := map[dream.Kind]int{}
	for _, item := range items {
		kinds[item.Header().Kind]++
	}
	return kinds
}

// Nothing of a reviewed dream is used until a person accepts it. Once accepted it is as if there had been no review,
// and undoing the dream takes all of it back.
func TestNothingOfAReviewedNightCountsUntilItIsAccepted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	deployment, agent, result, _ := reviewed(t, ctx, dream.ReviewAsk)
	live := kindsIn(t, ctx, deployment, memory.Query{Agent: agent.ID, Dream: result.Dream})
	for kind := range live {
		require.False(t, kind.Outlives(), "%s is live", kind)
	}
	waiting := kindsIn(t, ctx, deployment, memory.Query{Agent: agent.ID, States: []dream.State{dream.Proposed}})
	for _, kind := range []dream.Kind{
		dream.KindGist, dream.KindHypothesis, dream.KindPrediction, dream.KindJournal,
		dream.KindProposal,
	} {
		require.Positive(t, waiting[kind], "%s: %v", kind, waiting)
	}
	before, err := deployment.Store.Affect(ctx, agent.ID)
	require.NoError(t, err)
	require.NotEqual(t, result.Dream, before.Cause, "the mood stays")
	old, err := memory.One[*dream.Semantic](ctx, deployment.Store, agent.ID, "old")
	require.NoError(t, err)
	require.Equal(t, dream.Live, old.State)
	status, err := deployment.Store.Arrive(ctx, presence.Visit{
		Agent:  agent.ID,
		Client: "desk",
		Cause:  presence.Connect,
		Now:    time.Now(),
		For:    time.Second,
	})
	require.NoError(t, err)
	require.Empty(t, status.Digest, "a client is sent no digest")

	reviewing := review.Reviewer{Memory: deployment.Store, Now: time.Now, MaxStaged: 10}
	items, err := reviewing.Waiting(ctx, agent.ID)
	require.NoError(t, err)
	var ids []string
	for _, item := range items {
		ids = append(ids, item.Header().ID)
	}
	_, err = reviewing.Decide(ctx, agent.ID, result.Dream, append(slices.Clone(ids), "nobody"), true)
	require.ErrorIs(t, err, memory.ErrNotFound)
	require.Equal(t, waiting,
		kindsIn(t, ctx, deployment, memory.Query{Agent: agent.ID, States: []dream.State{dream.Proposed}}),
		"all or nothing")
	_, err = reviewing.Decide(ctx, agent.ID, result.Dream, ids, true)
	require.NoError(t, err)
	live = kindsIn(t, ctx, deployment, memory.Query{Agent: agent.ID, Dream: result.Dream})
	require.Equal(t, waiting[dream.KindHypothesis], live[dream.KindHypothesis])
	require.Equal(t, waiting[dream.KindGist], live[dream.KindGist])
	require.Equal(t, waiting[dream.KindPrediction], live[dream.KindPrediction])
	after, err := deployment.Store.Affect(ctx, agent.ID)
	require.NoError(t, err)
	require.Equal(t, result.Dream, after.Cause)
	old, err = memory.One[*dream.Semantic](ctx, deployment.Store, agent.ID, "old")
	require.NoError(t, err)
	require.Equal(t, dream.Archived, old.State)
	require.Equal(t, "gist/old", old.NewerID)
	_, err = reviewing.Decide(ctx, agent.ID, result.Dream, ids[:1], true)
	require.ErrorIs(t, err, review.ErrNotWaiting)

	undone, err := deployment.Store.Undo(ctx, agent.ID, result.Dream)
	require.NoError(t, err)
	require.Empty(t, undone.Kept)
	require.Empty(t, kindsIn(t, ctx, deployment, memory.Query{Agent: agent.ID, Dream: result.Dream}))
	old, err = memory.One[*dream.Semantic](ctx, deployment.Store, agent.ID, "old")
	require.NoError(t, err)
	require.Equal(t, dream.Live, old.State)
	again, err := deployment.Store.Affect(ctx, agent.ID)
	require.NoError(t, err)
	require.Equal(t, before.PAD, again.PAD)
}

// A dream that writes only its journal leaves the journal and its record, and its record says so.
func TestAJournalOnlyNightLeavesItsJournalAndItsRecord(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	deployment, agent, result, _ := reviewed(t, ctx, dream.JournalOnly)
	made := kindsIn(t, ctx, deployment, memory.Query{Agent: agent.ID, Dream: result.Dream, States: dream.States})
	require.Positive(t, made[dream.KindJournal])
	require.Positive(t, made[dream.KindFragment])
	for kind, n := range made {
		require.True(t, kind == dream.KindJournal || !kind.Outlives(), "%d of %s", n, kind)
	}
	require.Zero(t, made[dream.KindProposal])
	affect, err := deployment.Store.Affect(ctx, agent.ID)
	require.NoError(t, err)
	require.NotEqual(t, result.Dream, affect.Cause)
	old, err := memory.One[*dream.Semantic](ctx, deployment.Store, agent.ID, "old")
	require.NoError(t, err)
	require.Equal(t, dream.Live, old.State)
	journal, err := deployment.Store.Find(ctx,
		memory.Query{Agent: agent.ID, Dream: result.Dream, Kinds: []dream.Kind{dream.KindJournal}})
	require.NoError(t, err)
	for _, j := range journal {
		sources, err := deployment.Store.Get(ctx, agent.ID, j.Header().Sources...)
		require.NoError(t, err)
		require.Len(t, sources, len(j.Header().Sources), "its sources exist")
	}
	notes, err := deployment.Store.Notes(ctx, agent.ID, result.Dream, "")
	require.NoError(t, err)
	require.Empty(t, notes, "its drafts are deleted")
	for _, tally := range result.Tallies {
		if tally.Phase == dream.NREM || tally.Phase == dream.Integration {
			require.Zero(t, tally.Kept, "%s", tally.Phase)
		}
	}
}

// A dream run again from a phase reuses the results of earlier phases, pays for the others anew, and leaves the first
// dream as it was.
func TestANightIsDreamtAnewFromEachOfItsPhases(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	deployment, agent, first, p := reviewed(t, ctx, dream.ReviewAuto)
	before := everything(t, ctx, deployment, agent, first.Dream)
	for _, from := range dream.Redreamt {
		calls := len(p.Billing.Calls())
		seed := uint64(11)
		begun, err := deployment.Starter.Redream(ctx, starter.RedreamRequest{
			DreamRequest: starter.DreamRequest{Agent: agent.Handle, Seed: &seed, AsOf: testdeploy.Night},
			Dream:        first.Dream, From: from,
		})
		require.NoError(t, err, from)
		result, err := deployment.Result(ctx, begun.Dream)
		require.NoError(t, err)
		require.Contains(t, []dream.Outcome{dream.Completed, dream.Empty}, result.Outcome, result.Reason)
		require.Greater(t, len(p.Billing.Calls()), calls, "its calls are made and paid again")
		record, err := memory.One[*dream.Record](ctx, deployment.Store, agent.ID, begun.Dream)
		require.NoError(t, err)
		require.Equal(t, &dream.Redream{Dream: first.Dream, From: from}, record.Redreams)
		require.Nil(t, record.Depth, "its onset was not dreamt, so no depth is learned from it")
		for _, tally := range record.Phases {
			taken := record.Redreams.Taken(tally.Phase)
			require.Equal(t, taken, tally.State == "skipped" && tally.Reason == "taken over from "+first.Dream,
				"%s of %s", tally.Phase, from)
			require.False(t, taken && tally.Calls > 0)
		}
		now := everything(t, ctx, deployment, agent, first.Dream)
		for id, body := range before {
			require.Equal(t, body, now[id], "%s, after a dream anew from %s", id, from)
		}
	}
	again, err := deployment.Starter.Redream(ctx,
		starter.RedreamRequest{
			DreamRequest: starter.DreamRequest{Agent: agent.Handle, AsOf: testdeploy.Night},
			Dream:        "dream/" + agent.Handle + "/0002", From: dream.REM,
		})
	require.NoError(t, err, "what was itself taken over is found in the first dream")
	result, err := deployment.Result(ctx, again.Dream)
	require.NoError(t, err)
	require.NotEqual(t, dream.Aborted, result.Outcome, result.Reason)

	_, err = deployment.Store.Undo(ctx, agent.ID, first.Dream)
	require.NoError(t, err)
	_, err = deployment.Starter.Redream(ctx,
		starter.RedreamRequest{DreamRequest: starter.DreamRequest{Agent: agent.Handle}, Dream: first.Dream, From: dream.REM})
	require.ErrorIs(t, err, activities.ErrNoRedream)
	require.ErrorContains(t, err, "was undone")
}

// A rehearsal writes nothing anywhere and calls no model.
func TestARehearsalWritesNothingAndAsksNoModel(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	p := billedProvider(t, provider.Options{Seed: 1})
	deployment := open(t, func(config *testdeploy.Config) {
		config.Provider = p.URL
		config.Rules = []activities.HookRule{
			{Name: "guard", At: activities.Borders, Timeout: time.Second, Silent: activities.SilentAllow},
		}
	})
	agent, err := deployment.AddAgent(ctx, 1, "")
	require.NoError(t, err)
	calls := len(p.Billing.Calls())
	before := storedKeys(t, ctx, deployment)
	r, err := deployment.Starter.Rehearse(ctx, starter.DreamRequest{Agent: agent.Handle, AsOf: testdeploy.Night})
	require.NoError(t, err)
	require.Equal(t, before, storedKeys(t, ctx, deployment))
	require.Len(t, p.Billing.Calls(), calls)
	require.Positive(t, r.Gather.Shown)
	require.NotNil(t, r.Depth)
	require.Positive(t, r.Estimate.Calls)
	require.Len(t, r.Hooks, 1)
	require.Empty(t, r.Against)

	begun, err := deployment.Starter.Begin(ctx,
		starter.DreamRequest{Agent: agent.Handle, Seed: &r.Seed, AsOf: testdeploy.Night})
	require.NoError(t, err)
	result, err := deployment.Result(ctx, begun.Dream)
	require.NoError(t, err)
	record, err := memory.One[*dream.Record](ctx, deployment.Store, agent.ID, begun.Dream)
	require.NoError(t, err)
	require.Equal(t, r.Gather.Pieces, record.Selected, "the dream gathers what the rehearsal listed")
	require.Equal(t, r.Gather.Shown, record.Shown)
	require.Equal(t, r.Depth.Aim.Stage, record.Depth.Stage)
	require.LessOrEqual(t, result.Spent, r.Estimate.Worst)
}

// storedKeys lists everything that the store holds.
func storedKeys(t *testing.T, ctx context.Context, deployment *testdeploy.Deployment) []string {
	t.Helper()
	var all []string
	for record, err := range deployment.Store.(memory.Movable).Export(ctx) {
		require.NoError(t, err)
		body, err := json.Marshal(record)
		require.NoError(t, err)
		all = append(all, string(body))
	}
	return all
}
