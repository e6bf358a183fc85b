package inference_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

func TestAModelOfTheWrongSortSaysWhichLineIsMissing(t *testing.T) {
	t.Parallel()
	embedder := inference.Spec{Name: "house/gte", Provider: "house", Embeds: true}
	require.NoError(t, embedder.Fit(true))
	require.ErrorContains(t, embedder.Fit(false), `"house/gte" is the wrong sort of model: it is an embedder`)
	unknown := inference.Spec{Name: "house/BAAI/bge", Provider: "house", Price: &budget.Price{}}
	require.NoError(t, unknown.Fit(false))
	require.ErrorContains(t, unknown.Fit(true), "add under providers.house.models: {name: BAAI/bge, embeds: true}")
	unknown.Price = nil
	require.ErrorContains(t, unknown.Fit(true), `{name: BAAI/bge, embeds: true, price: {in: IN, out: "0"}}, with the dollars per million tokens of the provider's own`)
	builtIn := inference.Spec{Name: "builtin/associative", Provider: "builtin", BuiltIn: true}
	require.ErrorContains(t, builtIn.Fit(true), "such as builtin/static")
}

func TestASpaceNamesItsEmbedder(t *testing.T) {
	t.Parallel()
	for space, want := range map[string]string{
		"builtin-lexical/1/384":    "builtin/lexical",
		"builtin-static/1/256":     "builtin/static",
		"house/gte/384":            "house/gte",
		"house/BAAI/bge-small/384": "house/BAAI/bge-small",
		"":                         "",
		"house":                    "",
		"house/384":                "",
		"builtin-lexical":          "",
		"builtin-lexical/1":        "",
		"/":                        "",
	} {
		require.Equal(t, want, inference.NamedBy(space), space)
	}
}

func TestAnAgentIsServedByTheEmbedderOfItsSpace(t *testing.T) {
	t.Parallel()
	catalog := inference.Table{
		"builtin/static":  {Name: "builtin/static", Embeds: true, Space: "builtin-static/1/256"},
		"builtin/lexical": {Name: "builtin/lexical", Embeds: true, Space: "builtin-lexical/1/384"},
		"house/gte":       {Name: "house/gte", Provider: "house", Wire: "gte", Embeds: true},
		"house/chat":      {Name: "house/chat", Provider: "house", Wire: "chat"},
	}
	for _, c := range []struct{ usual, space, want string }{
		{"builtin/static", "", "builtin/static"},
		{"builtin/static", "builtin-static/1/256", "builtin/static"},
		{"builtin/static", "builtin-lexical/1/384", "builtin/lexical"},
		{"builtin/lexical", "house/gte/384", "house/gte"},
		{"builtin/static", "house/gone/384", "builtin/static"},
		{"builtin/static", "house/chat/384", "builtin/static"},
		{"house/unknown", "builtin-lexical/1/384", "builtin/lexical"},
		{"builtin/static", "builtin-lexical/2/384", "builtin/static"},
	} {
		spec, err := inference.EmbedderIn(catalog, "", c.usual, c.space)
		require.NoError(t, err)
		require.Equal(t, c.want, spec.Name, "%s in %s", c.usual, c.space)
	}
	_, err := inference.EmbedderIn(catalog, "", "house/unknown", "")
	require.Error(t, err)
	own, err := inference.EmbedderIn(catalog, "house/gte", "builtin/static", "builtin-static/1/256")
	require.NoError(t, err)
	require.Equal(t, "house/gte", own.Name, "what an agent names itself is never replaced")
}

func TestATextIsClippedToTheWindowBetweenLetters(t *testing.T) {
	t.Parallel()
	spec := inference.Spec{Context: 5}
	for in, want := range map[string]string{"": "", "short": "short", "longer": "longe", "ééé": "éé", "日本": "日"} {
		require.Equal(t, want, spec.Clip(in))
	}
	long := strings.Repeat("x", 10_000)
	require.Equal(t, long, inference.Spec{}.Clip(long), "no window is known")
}

func TestASpaceBelongsToTheEmbedderThatMakesIt(t *testing.T) {
	t.Parallel()
	own := inference.Spec{Provider: "builtin", Wire: "lexical", Space: "builtin-lexical/1/384"}
	far := inference.Spec{Provider: "openai", Wire: "text-embedding-3-small"}
	require.True(t, own.Makes("builtin-lexical/1/384"))
	require.False(t, own.Makes("builtin-lexical/2/384"))
	require.True(t, far.Makes("openai/text-embedding-3-small/1536"))
	require.False(t, far.Makes("openai/text-embedding-3-smaller/1536"))
	require.False(t, own.Makes("openai/text-embedding-3-small/1536"))
}

// query is a catalogue that counts who asks.
type query struct {
	inference.Table
	times map[string]int
}

func (a query) Lookup(model string) (inference.Spec, error) {
	a.times[model]++
	return a.Table.Lookup(model)
}

func TestARememberedCatalogueIsAskedOnceForEachModelThatItHas(t *testing.T) {
	t.Parallel()
	from := query{inference.Table{"a/x": {Name: "a/x", Provider: "a", Context: 9}}, map[string]int{}}
	c := inference.CachedCatalog(from)
	for range 3 {
		s, err := c.Lookup("a/x")
		require.NoError(t, err)
		require.Equal(t, from.Table["a/x"], s)
		_, err = c.Lookup("a/y")
		f, ok := inference.AsFailure(err)
		require.True(t, ok)
		require.Equal(t, inference.Unknown, f.Kind)
	}
	require.Equal(t, map[string]int{"a/x": 1, "a/y": 3}, from.times)
}
