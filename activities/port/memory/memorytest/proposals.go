package memorytest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
)

var proposals = []clause[memory.DreamStore]{
	{"AProposalIsFoundOnlyByItsStateOrId", proposedIsUnseen},
	{"AcceptedProposalsAreLiveAndRejectedOnesAreKept", proposedIsDecided},
	{"UndoingADreamArchivesItsAcceptedProposals", acceptedIsUndone},
	{"AProposalComesBackAsItWas", proposalComesBack},
}

// proposed is a gist that a dream proposed.
func proposed(dreamID, id string) *dream.Gist {
	g := dreamt(dreamID, id)
	g.State = dream.Proposed
	return g
}

func proposedIsUnseen(t *testing.T, s memory.DreamStore) {
	f := sleep(t, s, "d1")
	commit(t, s, memory.Write{
		Fence: f, Add: []dream.Item{proposed("d1", "g"), dreamt("d1", "h")},
		Vectors: []memory.Vector{vector("g", 1, 0), vector("h", 0, 1)},
	})
	wakeUp(t, s, f)
	for _, by := range []memory.SortOrder{"", memory.Newest, memory.Oldest, memory.MostSalient, memory.HighestScore} {
		for _, q := range []memory.Query{{}, {Dream: "d1"}, {Kinds: []dream.Kind{dream.KindGist}}} {
			q.Sort = by
			require.Equal(t, []dream.Item{dreamt("d1", "h")}, find(t, s, q), "%+v", q)
		}
	}
	n, err := s.Count(t.Context(), memory.Query{Agent: echo})
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, []string{"h"}, near(t, s, []float32{1, 0}, 5))
	bare, err := s.WithoutVector(t.Context(), echo, "another/1/2", []dream.Kind{dream.KindGist}, 5)
	require.NoError(t, err)
	require.Equal(t, []dream.Item{dreamt("d1", "h")}, withoutRevisions(t, bare))

	require.Equal(t, []dream.Item{proposed("d1", "g")}, find(t, s, memory.Query{States: []dream.State{dream.Proposed}}))
	require.Len(t, find(t, s, memory.Query{Dream: "d1", States: dream.States}), 2)
	require.Equal(t, []dream.Item{proposed("d1", "g")}, get(t, s, "g"), "it is found by its id")
}

func proposedIsDecided(t *testing.T, s memory.DreamStore) {
	f := sleep(t, s, "d1")
	commit(t, s, memory.Write{
		Fence: f, Add: []dream.Item{proposed("d1", "yes"), proposed("d1", "no")},
		Vectors: []memory.Vector{vector("yes", 1, 0), vector("no", 1, 0)},
	})
	wakeUp(t, s, f)
	require.Empty(t, near(t, s, []float32{1, 0}, 5))
	no := dreamt("d1", "no")
	no.State = dream.Archived
	commit(t, s, memory.Write{Cause: "d1", Change: []dream.Item{dreamt("d1", "yes"), no}})
	require.Equal(t, []dream.Item{dreamt("d1", "yes")}, find(t, s, memory.Query{}))
	require.Equal(t, []string{"yes"}, near(t, s, []float32{1, 0}, 5), "its vector was kept")
	require.Empty(t, find(t, s, memory.Query{States: []dream.State{dream.Proposed}}))
	require.Equal(t, dream.Archived, stateOf(t, s, "no"))
}

func acceptedIsUndone(t *testing.T, s memory.DreamStore) {
	add(t, s, semantic("s", "tides"))
	f := sleep(t, s, "d1")
	commit(t, s, memory.Write{Fence: f, Add: []dream.Item{proposed("d1", "yes"), proposed("d1", "later")}})
	wakeUp(t, s, f)
	commit(t, s, memory.Write{
		Cause: "d1", Change: []dream.Item{dreamt("d1", "yes"), faded(semantic("s", "tides"))},
		Affect: &dream.Affect{PAD: mood.PAD{Arousal: .5}, Since: dawn, Cause: "d1"},
	})
	require.Equal(t, memory.UndoResult{Archived: 2, Restored: 1}, undo(t, s, "d1"))
	require.Equal(t, dream.Archived, stateOf(t, s, "yes"))
	require.Equal(t, dream.Archived, stateOf(t, s, "later"), "it is not open any more")
	require.Equal(t, dream.Live, stateOf(t, s, "s"))
	affect, err := s.Affect(t.Context(), echo)
	require.NoError(t, err)
	require.Zero(t, affect.PAD)
}

func proposalComesBack(t *testing.T, s memory.DreamStore) {
	from, to := mood.PAD{Pleasure: .1}, mood.PAD{Pleasure: .2, Arousal: -.1}
	p := &dream.Proposal{
		Head: head(dream.KindProposal, "d1/return/mood"), Does: dream.ProposeMood, From: &from,
		To: &to,
	}
	q := &dream.Proposal{
		Head:  head(dream.KindProposal, "d1/nrem/archive/s"),
		Does:  dream.ProposeArchive,
		Of:    "s",
		Was:   3,
		Newer: "gist/s",
	}
	p.State, q.State = dream.Proposed, dream.Proposed
	add(t, s, p, q)
	require.Equal(t, []dream.Item{p, q}, get(t, s, p.ID, q.ID))
	require.Equal(t, []dream.Item{q},
		find(t, s, memory.Query{States: []dream.State{dream.Proposed}, Statuses: []string{dream.ProposeArchive}}))
}
