package memory_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
)

func episode() *dream.Episode {
	return &dream.Episode{
		Head: dream.Head{
			ID:    "e",
			Agent: "a",
			Kind:  dream.KindEpisode,
			State: dream.Live,
			Taint: dream.FromHuman,
		},
		Content: "x",
	}
}

func changed(edit func(*dream.Episode)) []dream.Item {
	e := episode()
	edit(e)
	return []dream.Item{e}
}

func TestAWriteIsRefusedForWhatNoStoreCouldMakeRight(t *testing.T) {
	t.Parallel()
	dreaming := memory.Fence{Dream: "d", Run: "r"}
	require.NoError(t, memory.Write{
		Agent:   "a",
		Fence:   dreaming,
		Add:     []dream.Item{episode()},
		Vectors: []memory.Vector{{Item: "e", Space: "s", V: []float32{1}}},
		Events:  []event.Event{{ID: "v", Agent: "a"}},
		Affect:  &dream.Affect{},
		OnWake:  &memory.OnWake{Mood: &mood.PAD{}},
	}.Validate())
	nan := float32(math.NaN())
	var missing *dream.Episode
	for want, w := range map[string]memory.Write{
		"the agent's id is empty":   {},
		"which only Undo may write": {Agent: "a", Cause: "undo:d"},
		"item 0: it is nil":         {Agent: "a", Add: []dream.Item{missing}},
		"its id is":                 {Agent: "a", Add: changed(func(e *dream.Episode) { e.ID = "" })},
		"an id is UTF-8":            {Agent: "a", Change: changed(func(e *dream.Episode) { e.ID = "\xff" })},
		"this memory is of \"b\"":   {Agent: "b", Add: []dream.Item{episode()}},
		"a kind has one type":       {Agent: "a", Add: changed(func(e *dream.Episode) { e.Kind = dream.KindGist })},
		"states are live":           {Agent: "a", Add: changed(func(e *dream.Episode) { e.State = "odd" })},
		"its space is empty":        {Agent: "a", Vectors: []memory.Vector{{Item: "e", V: []float32{1}}}},
		"it has no numbers":         {Agent: "a", Vectors: []memory.Vector{{Item: "e", Space: "s"}}},
		"it must be finite":         {Agent: "a", Vectors: []memory.Vector{{Space: "s", V: []float32{nan}}}},
		"it needs an id":            {Agent: "a", Events: []event.Event{{Agent: "a"}}},
		"and the agent \"a\"":       {Agent: "a", Events: []event.Event{{ID: "v", Agent: "b"}}},
		"affect: ":                  {Agent: "a", Affect: &dream.Affect{PAD: mood.PAD{Pleasure: 2}}},
		"a late write must not":     {Agent: "a", Fence: dreaming, Late: true, OnWake: &memory.OnWake{}},
		"this write names no dream": {Agent: "a", OnWake: &memory.OnWake{Mood: &mood.PAD{}}},
		"the waking mood: ":         {Agent: "a", Fence: dreaming, OnWake: &memory.OnWake{Mood: &mood.PAD{Arousal: 2}}},
	} {
		require.ErrorContains(t, w.Validate(), want)
	}
}

func TestAFenceIsCheckedForHolderAndEpoch(t *testing.T) {
	t.Parallel()
	holder := memory.Fence{Dream: "d", Run: "r"}
	at := func(f memory.Fence, epoch int64) memory.Fence {
		f.Epoch = epoch
		return f
	}
	for name, c := range map[string]struct {
		fence, holder memory.Fence
		epoch         int64
		late          bool
		want          error
	}{
		"awake":                   {memory.Fence{}, holder, 3, false, nil},
		"holder":                  {at(holder, 3), holder, 3, false, nil},
		"a newer stretch":         {at(holder, 4), holder, 3, false, memory.ErrFenced},
		"woken":                   {at(holder, 2), holder, 3, false, memory.ErrWoken},
		"woken, the last write":   {at(holder, 2), holder, 3, true, nil},
		"another run":             {memory.Fence{Dream: "d", Run: "s"}, holder, 0, true, memory.ErrFenced},
		"nobody holds it":         {holder, memory.Fence{}, 0, false, memory.ErrFenced},
		"woken, and it was freed": {at(holder, 2), memory.Fence{}, 3, false, memory.ErrWoken},
		"freed, the last write":   {at(holder, 2), memory.Fence{}, 3, true, memory.ErrFenced},
		"woken, another holds it": {memory.Fence{Dream: "d", Run: "s"}, holder, 3, false, memory.ErrFenced},
		"woken, without names":    {memory.Fence{Epoch: 1}, memory.Fence{}, 3, false, memory.ErrFenced},
		"an epoch without names":  {memory.Fence{Epoch: 1}, memory.Fence{}, 0, false, memory.ErrFenced},
	} {
		err := c.fence.Check(c.holder, c.epoch, c.late)
		if c.want == nil {
			require.NoError(t, err, name)
		} else {
			require.ErrorIs(t, err, c.want, name)
		}
	}
	require.NoError(t, memory.SeenForgettings{}.Check(9))
	require.NoError(t, memory.SeenForgettings{Set: true, Forgettings: 9}.Check(9))
	require.ErrorIs(t, memory.SeenForgettings{Set: true, Forgettings: 8}.Check(9), memory.ErrForgotten)
	require.NoError(t, memory.CheckRevision(0, 3))
	require.NoError(t, memory.CheckRevision(3, 3))
	require.ErrorIs(t, memory.CheckRevision(2, 3), memory.ErrStale)
}

func TestAProgramWithoutFeedsHasNone(t *testing.T) {
	t.Parallel()
	var feeds memory.Feeds = memory.NoFeeds{}
	require.ErrorContains(t, feeds.PutFeed(t.Context(), dream.Feed{Name: "tides"}), "keeps no feeds")
	_, err := feeds.Feed(t.Context(), "tides")
	require.ErrorIs(t, err, memory.ErrNotFound)
	require.ErrorIs(t, feeds.DropFeed(t.Context(), "tides"), memory.ErrNotFound)
	all, err := feeds.Feeds(t.Context())
	require.NoError(t, err)
	require.Empty(t, all)
}
