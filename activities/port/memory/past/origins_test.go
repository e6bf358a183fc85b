package past_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory/past"
)

func TestLaterItemsAreNotOrigins(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		item dream.Item
		want []string
	}{
		{&dream.Gist{Head: dream.Head{Sources: []string{"a", "b", "a"}, NewerID: "c"}}, []string{"a", "b"}},
		{
			&dream.Scenario{Head: dream.Head{Sources: []string{"a"}}, Parents: []string{"p"}, Seeds: []string{"f"}},
			[]string{"a", "p", "f"},
		},
		{
			&dream.Hypothesis{
				Head: dream.Head{Sources: []string{"a"}}, Confirmed: []string{"x"},
				Contradicted: []string{"y"},
			}, []string{"a"},
		},
		{&dream.Record{Insights: []string{"j"}}, nil},
	} {
		origins, err := past.Origins(c.item)
		require.NoError(t, err)
		require.ElementsMatch(t, c.want, origins)
	}
}

func TestTextsDescendThroughOthersInAnyOrder(t *testing.T) {
	t.Parallel()
	texts := []past.Text{
		{"third", "d3", []string{"second"}},
		{"second", "d2", []string{"plain", "first"}},
		{"first", "d1", []string{"secret"}},
		{"silent", "d2", nil},
		{"of the silent", "d9", []string{"silent"}},
		{"other", "d1", []string{"plain"}},
		{"silent too", "d4", nil},
		{"round", "d5", []string{"about"}},
		{"about", "d5", []string{"round"}},
	}
	for range 2 {
		marked := past.Descend(texts, "secret")
		require.Equal(t, []string{"first", "of the silent", "second", "silent", "third"},
			slices.Sorted(maps.Keys(marked)))
		slices.Reverse(texts)
	}
	require.Equal(t, []string{"about"}, slices.Sorted(maps.Keys(past.Descend(texts, "round"))))
	require.Empty(t, past.Descend(texts))
}
