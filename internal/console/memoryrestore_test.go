package console_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

// fade archives memories of echo, as a dream does.
func (d *fixture) fade(by string, ids ...string) {
	d.Helper()
	items, err := d.store.Get(d.Context(), "echo", ids...)
	require.NoError(d, err)
	require.Len(d, items, len(ids))
	for _, item := range items {
		item.Header().State = dream.Archived
	}
	_, err = d.store.Commit(d.Context(), memory.Write{Agent: "echo", Cause: by, Change: items})
	require.NoError(d, err)
}

func (d *fixture) state(id string) dream.State {
	d.Helper()
	items, err := d.store.Get(d.Context(), "echo", id)
	require.NoError(d, err)
	require.Len(d, items, 1)
	return items[0].Header().State
}

// restorable lists what can be restored, by the command.
func (d *fixture) restorable(args ...string) (archived, restored []string) {
	d.Helper()
	require.Equal(d, exit.OK, d.run(0, append([]string{"memory", "restore", "-a", "echo", "--json"}, args...)...),
		d.err.String())
	var answer struct{ Archived, Restored []string }
	require.NoError(d, json.Unmarshal(d.out.Bytes(), &answer))
	return answer.Archived, answer.Restored
}

func TestWhatDreamsHaveArchivedIsListedAndRestored(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	require.Equal(t, exit.OK, d.run(0, "memory", "restore", "-a", "echo"))
	require.Equal(t, "No dream has archived anything of echo that is not live again.\n", d.out.String())
	d.fade(dreamID, "e-0002", "s-0001")
	d.fade("operator", "e-0001")

	require.Equal(t, exit.OK, d.run(0, "memory", "restore", "-a", "echo"))
	require.Contains(t, d.out.String(), "Dreams have archived 2 memories of echo:")
	require.Contains(t, d.out.String(), "oneiros memory restore -a echo ID... brings them back.")
	archived, restored := d.restorable()
	require.ElementsMatch(t, []string{"e-0002", "s-0001"}, archived, "what a person archived is not a dream's")
	require.Empty(t, restored)
	require.Equal(t, dream.Archived, d.state("s-0001"), "a list restores nothing")

	require.Equal(t, exit.OK, d.run(0, "memory", "restore", "-a", "echo", "s-0001"), d.err.String())
	require.Equal(t, "s-0001  The tide turns before the wind does.\n1 memory restored.\n", d.out.String())
	require.Equal(t, dream.Live, d.state("s-0001"))
	archived, _ = d.restorable()
	require.Equal(t, []string{"e-0002"}, archived)

	require.Equal(t, exit.Usage, d.run(0, "memory", "restore", "-a", "echo", "e-0002", "s-0001"))
	require.Contains(t, d.err.String(), "s-0001 was not archived by a dream: it is live; nothing was restored")
	require.Equal(t, dream.Archived, d.state("e-0002"), "all or none")
	require.Equal(t, exit.NotFound, d.run(0, "memory", "restore", "-a", "echo", "s-9999"))
}

func TestAllThatOneDreamHasArchivedIsRestored(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	require.Equal(t, exit.OK, d.run(0, "memory", "restore", "-a", "echo", "--dream", "last"))
	require.Equal(t, "Dream last has archived nothing of echo that is not live again.\n", d.out.String())
	d.fade(dreamID, "e-0002", "s-0001")
	require.Equal(t, exit.Usage, d.run(0, "memory", "restore", "-a", "echo", "--dream", "last", "s-0001"))
	require.Contains(t, d.err.String(), "--dream restores all of one dream, and s-0001 is named too")
	require.Equal(t, exit.NotFound, d.run(0, "memory", "restore", "-a", "echo", "--dream", "0009"))
	_, restored := d.restorable("--dream", "0001")
	require.ElementsMatch(t, []string{"e-0002", "s-0001"}, restored)
	require.Equal(t, dream.Live, d.state("e-0002"))
	require.Equal(t, dream.Live, d.state("s-0001"))
	require.Equal(t, exit.OK, d.run(0, "memory", "restore", "-a", "echo", "--dream", "0001"))
	require.Equal(t, "Dream 0001 has archived nothing of echo that is not live again.\n", d.out.String())
}
