package console_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

func TestTheReportSaysWhichRolesTheBuiltInModelHad(t *testing.T) {
	t.Parallel()
	for _, night := range []struct {
		models      []string
		text, never string
	}{
		{
			[]string{"generator=builtin/associative", "observer=builtin/associative", "embedder=builtin/lexical"},
			"Built-in model, for trying things out: ", "",
		},
		{
			[]string{"generator=house/small", "observer=builtin/associative", "replay=builtin/associative"},
			"for trying things out, as observer and replay: ", "out: ",
		},
		{[]string{"generator=house/small", "embedder=builtin/lexical"}, "", "Built-in"},
	} {
		d := newFixture(t).furnish()
		record, err := memory.One[*dream.Record](t.Context(), d.store, "echo", dreamID)
		require.NoError(t, err)
		record.Models = night.models
		_, err = d.store.Commit(
			t.Context(),
			memory.Write{Agent: "echo", Cause: "test", Change: []dream.Item{record}},
		)
		require.NoError(t, err)
		require.Equal(t, exit.OK, d.run(110, "dreams", "show", "1", "-a", "echo"))
		require.Contains(t, d.out.String(), night.text)
		if night.never != "" {
			require.NotContains(t, d.out.String(), night.never)
		}
	}
}
