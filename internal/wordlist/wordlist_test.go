package wordlist_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/wordlist"
)

func TestListsAreReadByNameWithTheirPurpose(t *testing.T) {
	t.Parallel()
	lists := wordlist.Read("What this is.\n\n## one\n# Numbers: \"two\"\ntwo three\nfour\n\n# A heading\n\n## more\n# Phrases\na b |\nc\n")
	require.Equal(t, `Numbers: "two"`, lists["one"].Purpose)
	require.Equal(t, map[string]bool{"two": true, "three": true, "four": true}, lists["one"].Set())
	require.Equal(t, []string{"a b", "c"}, lists["more"].Phrases())
	require.Equal(t, map[string]bool{"a b": true, "c": true}, lists["more"].Set())
	require.Empty(t, lists["none"].Set())
}
