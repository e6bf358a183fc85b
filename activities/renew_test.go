package activities_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/review"
)

func (r *rig) entry(id string) *dream.Semantic {
	r.t.Helper()
	e, err := memory.One[*dream.Semantic](context.Background(), r.store, "a", id)
	require.NoError(r.t, err)
	return e
}

func TestRecalledKnowledgeKeepsItsStrength(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := context.Background()
	r.live(3)
	r.knows(2, dream.FromWeb)
	r.gistsOf(repeated("somebody by the sea likes warm soup", 2)...)
	yesterday := tonight.Add(-24 * time.Hour)
	for _, at := range []time.Time{yesterday.Add(-24 * time.Hour), yesterday, yesterday.Add(time.Minute)} {
		require.NoError(t, memory.NoteUse(ctx, r.store, "a", at, "k00", "unknown"))
	}
	before := r.entry("k00")
	r.looks(1)
	after := r.entry("k00")
	require.Equal(t, dream.Live, after.State)
	require.Equal(t, 2, after.Uses, "two uses on one day count once")
	require.Equal(t, yesterday, after.Used)
	require.True(t, after.Due.After(before.Due))
	require.Equal(t, dream.Archived, r.entry("k01").State, "control: it was not recalled")
	left, err := memory.Uses(ctx, r.store, "a")
	require.NoError(t, err)
	require.Empty(t, left)
	events, err := r.store.Events(ctx, "a", 0, 100)
	require.NoError(t, err)
	announced := func() (renewed []string) {
		for _, e := range events {
			if e.Type == (event.MemoriesRenewed{}).EventType() {
				renewed = append(renewed, string(e.Data))
			}
		}
		return renewed
	}
	require.Equal(t, []string{`{"memories":1}`}, announced())
	revision := after.Revision
	r.looks(2)
	require.Equal(t, revision, r.entry("k00").Revision, "a dream without uses writes nothing")
	events, err = r.store.Events(ctx, "a", 0, 100)
	require.NoError(t, err)
	require.Len(t, announced(), 1, "and announces nothing")
}

func TestMentionedKnowledgeKeepsItsStrength(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := context.Background()
	r.live(3)
	r.knows(2, dream.FromWeb)
	r.gistsOf(repeated("somebody by the sea likes warm soup", 2)...)
	text := r.entry("k00").Content
	e := &dream.Episode{
		Head: dream.Head{
			ID:    "mention",
			Agent: "a",
			Kind:  dream.KindEpisode,
			At:    tonight.Add(-time.Hour),
			State: dream.Live,
			Taint: dream.FromHuman,
		},
		Content: text, Salience: .5,
	}
	w := memory.Write{Agent: "a", Cause: "talk", Add: []dream.Item{e}}
	w.Vectors = []memory.Vector{
		{Item: e.ID, Space: space, V: vectorOf(text)},
		{Item: "k00", Space: space, V: vectorOf(text)},
	}
	_, err := r.store.Commit(ctx, w)
	require.NoError(t, err)
	r.looks(1)
	require.Equal(t, dream.Live, r.entry("k00").State)
	require.Equal(t, dream.Archived, r.entry("k01").State, "control: it was not mentioned")
	r.looks(2)
	require.Equal(t, 1, r.entry("k00").Uses)
	require.Equal(t, e.At, r.entry("k00").Used)
}

func TestRestoredKnowledgeIsNotArchivedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.live(3)
	r.knows(1, dream.FromWeb)
	r.gistsOf("somebody by the sea likes warm soup")
	r.looks(1)
	require.Equal(t, dream.Archived, r.entry("k00").State)
	_, err := review.Restorer{Memory: r.store, Now: func() time.Time { return tonight.Add(time.Hour) }}.Restore(
		context.Background(),
		"a", "k00")
	require.NoError(t, err)
	r.looks(2)
	require.Equal(t, dream.Live, r.entry("k00").State)
}
