package core

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

func TestTheCacheHoldsOnlyUnfinishedDreams(t *testing.T) {
	t.Parallel()
	s := newRunCache()
	theme := func(id string) (theme string) {
		s.read(t.Context(), id, func(v *CachedRun) { theme = v.theme })
		return theme
	}
	s.read(t.Context(), "first", func(v *CachedRun) { v.theme = "rope" })
	require.Equal(t, "rope", theme("first"))
	s.Drop("first")
	s.Drop("never put")
	require.Empty(t, s.dreams)
	require.Empty(t, s.oldestFirst)
	require.Empty(t, theme("first"))
	for i := range cachedDreams + 5 {
		s.read(t.Context(), fmt.Sprint(i), func(v *CachedRun) { v.theme = "later" })
	}
	require.Len(t, s.dreams, cachedDreams)
	require.Len(t, s.oldestFirst, cachedDreams)
	require.Empty(t, theme("first"))
	(*runCache)(nil).Drop("nothing is kept")
}

// Entries of an activity that began to read before a removal are not used by activities that began after it, and the
// other way round.
func TestCachedReadsAreNotUsedAfterARemoval(t *testing.T) {
	t.Parallel()
	s := newRunCache()
	asOf := func(forgettings int64) context.Context {
		return context.WithValue(t.Context(), seenForgettingsKey{}, memory.SeenForgettings{Set: true, Forgettings: forgettings})
	}
	theme := func(ctx context.Context) (theme string) {
		s.read(ctx, "d", func(v *CachedRun) { theme = v.theme })
		return theme
	}
	put := func(ctx context.Context, theme string) {
		s.read(ctx, "d", func(v *CachedRun) { v.theme, v.spec = theme, &activities.Spec{} })
	}
	before, after := asOf(1), asOf(2)
	s.dropOutdated("d", 1)
	put(before, "gone")
	require.Equal(t, "gone", theme(before))
	require.Empty(t, theme(after), "before the removal count was read")
	s.dropOutdated("d", 2)
	put(before, "gone, too")
	require.Empty(t, theme(after))
	put(after, "there")
	s.dropOutdated("d", 1)
	require.Equal(t, "there", theme(after), "an older activity drops nothing")
	require.Empty(t, theme(before))
}
