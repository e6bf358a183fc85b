package console_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

func TestWhatIsAddedIsAPersonsOwnAndCorrects(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	echo, err := d.store.Agent(t.Context(), "echo")
	require.NoError(t, err)
	add := func(args ...string) (added struct {
		ID       string
		Owner    string
		Existing bool
		Replaced []string
	},
	) {
		require.Equal(t, exit.OK, d.run(0, append([]string{"memory", "add", "-a", "echo", "--json"}, args...)...),
			d.err.String())
		require.NoError(t, json.Unmarshal(d.out.Bytes(), &added))
		return added
	}
	first := add("The rent is 900 euros.", "--owner", "anna", "--at", "2020-01-02")
	require.Equal(t, "anna", first.Owner)
	e, err := memory.One[*dream.Episode](t.Context(), d.store, echo.ID, first.ID)
	require.NoError(t, err)
	require.Equal(t, dream.FromHuman, e.Taint)
	require.Equal(t, dream.TalkOrigin+"anna/", e.Origin)
	require.Equal(t, 2020, e.At.Year())
	require.True(t, add("The rent is 900 euros.", "--owner", "anna").Existing)
	require.Empty(t, add("The rent is 940 euros.", "--owner", "ben").Replaced, "another owner's stays")
	require.Equal(t, []string{first.ID}, add("The rent is 940 euros.", "--owner", "anna").Replaced)
	require.Empty(t, add("The rent is 800 euros.", "--owner", "anna", "--at", "2019-01-02").Replaced,
		"what was so before replaces nothing")
	local := add("I live alone.")
	e, err = memory.One[*dream.Episode](t.Context(), d.store, echo.ID, local.ID)
	require.NoError(t, err)
	require.Equal(t, dream.TalkOrigin+"/", e.Origin)
	for _, args := range [][]string{
		{" "},
		{"x", "--owner", ""},
		{"x", "--at", "soon"},
		{"x", "--at", "2999-01-01"},
		{},
	} {
		require.NotEqual(t, exit.OK, d.run(0, append([]string{"memory", "add", "-a", "echo"}, args...)...), args)
	}
}
