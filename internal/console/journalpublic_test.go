package console_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

func TestAJournalAsJSONHasItsWakeInMilliseconds(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	id := dreamID + "/woken"
	j := &dream.Journal{
		Head: head(dream.KindJournal, id, now, true), Content: "Half a tide.", Significance: .5,
		Wake: &dream.WakeTimes{Receipt: 1500 * time.Microsecond, Light: true},
	}
	_, err := d.store.Commit(t.Context(), memory.Write{Agent: "echo", Cause: dreamID, Add: []dream.Item{j}})
	require.NoError(t, err)
	for _, args := range [][]string{
		{"journal", "-a", "echo", "--json"},
		{"memory", "show", "-a", "echo", id, "--json"},
	} {
		require.Equal(t, exit.OK, d.run(0, args...), d.err.String())
		require.Contains(t, d.out.String(), `"receipt_ms": 1.5`)
		require.Contains(t, d.out.String(), "Half a tide.")
	}
}
