package memorytest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

var uses = []clause[memory.DreamStore]{
	{"UsesAreNotedAwakeOnceADay", usesAreNoted},
}

func usesAreNoted(t *testing.T, s memory.DreamStore) {
	ctx := t.Context()
	require.NoError(t, memory.NoteUse(ctx, s, echo, dawn, "a", "b/c"))
	require.NoError(t, memory.NoteUse(ctx, s, echo, dawn.Add(time.Minute), "a"))
	require.NoError(t, memory.NoteUse(ctx, s, echo, dawn.Add(48*time.Hour), "a"))
	found, err := memory.Uses(ctx, s, echo)
	require.NoError(t, err)
	at := map[string][]time.Time{}
	for _, u := range found {
		at[u.Item] = append(at[u.Item], u.At)
	}
	require.ElementsMatch(t, []time.Time{dawn, dawn.Add(48 * time.Hour)}, at["a"])
	require.Equal(t, []time.Time{dawn}, at["b/c"])
	require.NoError(t, memory.DropUses(ctx, s, echo, found[:1]))
	left, err := memory.Uses(ctx, s, echo)
	require.NoError(t, err)
	require.Len(t, left, 2)
	require.NoError(t, memory.DropUses(ctx, s, echo, nil))
	left, err = memory.Uses(ctx, s, echo)
	require.NoError(t, err)
	require.Len(t, left, 2)
}
