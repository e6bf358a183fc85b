package prose_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/prose"
)

func TestOnlyTheAuthorsWordsAreLeft(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ post, want string }{
		{"plain words", "plain words"},
		{"**bold** and _thin_", "  bold   and  thin "},
		{"a `b` c", "a     c"},
		{"```\na\n```\nb", "   \n \n   \nb"},
		{"    a\n\nb", "     \n\nb"},
		{"> a\n\nb", "   \n\nb"},
		{"> a\nb", "   \nb"},
		{"> a\n- > b\nc", "   \n     \nc"},
		{"- a\n- b", "  a\n  b"},
		{"# a", "  a"},
		{"[a](https://b.example) c", " a                     c"},
		{"![a](b) c", "        c"},
		{"see https://a.example/b.", "see                    ."},
		{"<b>a</b> c", "   a     c"},
		{"<div>\na\n</div>", "     \na\n      "},
		{"é", "é"},
		{"", ""},
	} {
		require.Equal(t, c.want, prose.Read(c.post).Text, "%q", c.post)
	}
	words := prose.Read("a [b](c) d [*e*](f)")
	require.Equal(t, []prose.Span{{3, 4}, {13, 14}}, words.Links)
}

func FuzzReadKeepsPlaces(f *testing.F) {
	f.Add("> a\nb `c` [d](e) http://f.example")
	f.Add("\t- a\r\n\t\tb\x00")
	f.Add("1. > ```\n> x")
	f.Fuzz(func(t *testing.T, post string) {
		words := prose.Read(post)
		require.Len(t, words.Text, len(post))
		for i := range words.Text {
			require.True(t, words.Text[i] == post[i] || words.Text[i] == ' ', "byte %d of %q", i, post)
		}
		require.Equal(t, strings.Count(post, "\n"), strings.Count(words.Text, "\n"))
		for _, link := range words.Links {
			require.True(t, 0 <= link.From && link.From <= link.To && link.To <= len(post))
		}
	})
}
