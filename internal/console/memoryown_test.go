package console_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

func TestTalkIsListedByOwnerAndGivenToAnother(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	require.Equal(t, exit.OK, d.run(0, "memory", "owners", "-a", "tally"), d.err.String())
	require.Contains(t, d.err.String(), "tally keeps no talk of anybody")
	require.Equal(t, exit.NotFound,
		d.run(0, "memory", "own", "-a", "tally", "--from", "anna", "--to", "ben", "--yes"))
	require.Contains(t, d.err.String(), "nor of anybody else")
	echo, err := d.store.Agent(t.Context(), "echo")
	require.NoError(t, err)
	for i, origin := range []string{"talk/key_a/", "talk/key_a/ann", "talk/key_a/ann", "talk//"} {
		e := &dream.Episode{
			Head: dream.Head{
				ID:    fmt.Sprint("said", i),
				Agent: echo.ID,
				Kind:  dream.KindEpisode,
				At:    now,
				State: dream.Live,
				Taint: dream.FromHuman,
			},
			Content: fmt.Sprint("Words ", i), Origin: origin,
		}
		if i == 2 {
			e.State = dream.Archived
		}
		_, err := d.store.Commit(t.Context(), memory.Write{Agent: echo.ID, Cause: "talk", Add: []dream.Item{e}})
		require.NoError(t, err)
	}
	d.keyFrom("keys", "add", "phone", "--principal", "anna")
	listed := func() string {
		t.Helper()
		require.Equal(t, exit.OK, d.run(0, "memory", "owners", "-a", "echo", "--json"), d.err.String())
		var owners []struct {
			Principal, User  string
			Memories, Others int
			Keys             []string
		}
		require.NoError(t, json.Unmarshal(d.out.Bytes(), &owners))
		return fmt.Sprint(owners)
	}
	require.Equal(t, "[{key_a  1 0 []} {key_a ann 1 1 []} {local  1 0 []}]", listed())

	require.Equal(t, exit.NotFound,
		d.run(0, "memory", "own", "-a", "echo", "--from", "key_b", "--to", "anna", "--yes"))
	require.Contains(t, d.err.String(), "keeps nothing that key_b said; it keeps talk of key_a/, key_a/ann, local/")
	require.Equal(t, exit.Refused, d.run(0, "memory", "own", "-a", "echo", "--from", "key_a", "--to", "anna"))
	require.Contains(t, d.err.String(), "This gives 3 memories that key_a said to echo to anna")
	require.Equal(t, exit.OK,
		d.run(0, "memory", "own", "-a", "echo", "--from", "key_a", "--to", "anna", "--dry-run"))
	require.Contains(t, d.out.String(), "2 memories of key_a/ann would be of anna/ann.")
	require.Equal(t, "[{key_a  1 0 []} {key_a ann 1 1 []} {local  1 0 []}]", listed())
	require.Equal(
		t,
		exit.OK,
		d.run(
			0,
			"memory",
			"own",
			"-a",
			"echo",
			"--from",
			"key_a",
			"--to",
			"anna",
			"--json",
			"--yes",
		),
		d.err.String(),
	)
	require.JSONEq(
		t,
		`{"agent":"echo","given":[{"from":"key_a/","to":"anna/","memories":1},{"from":"key_a/ann","to":"anna/ann","memories":2}],"memories":3,"dry_run":false}`,
		d.out.String(),
	)
	require.Equal(t, "[{anna  1 0 [phone]} {anna ann 1 1 [phone]} {local  1 0 []}]", listed())
	require.Equal(t, exit.OK, d.run(100, "memory", "owners", "-a", "echo"))
	require.Contains(t, d.out.String(), "PRINCIPAL")

	for _, wrong := range [][]string{
		{"--to", "anna"},
		{"--from", "anna"},
		{"--from", "a b", "--to", "anna"},
		{"--from", "anna", "--to", "anna"},
	} {
		require.Equal(t, exit.Usage,
			d.run(0, append([]string{"memory", "own", "-a", "echo", "--yes"}, wrong...)...), wrong)
	}
}
