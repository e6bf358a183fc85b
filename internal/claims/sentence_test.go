package claims_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/claims"
)

func TestTheSentencesThatNameItAreQuoted(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"It was quiet. The storm came at 4.30 a.m. We slept.": {"The storm came at 4.30 a.m."},
		"quiet\nstorm\nsleep":               {"storm"},
		"It was quiet. We slept.":           {"It was quiet."},
		"静か。嵐が来た。Storm。":                    {"Storm。"},
		"A leak. We slept. A storm. Storm.": {"A leak.", "A storm."},
		"":                                  {""},
	} {
		require.Equal(t, want, claims.Sentences(text, "storm", "leak"), text)
	}
	require.Len(t, claims.Sentences(strings.Repeat("storm ", 100), "storm")[0], 240)
}

func FuzzSentences(f *testing.F) {
	f.Add("It was quiet. The storm came.", "storm")
	f.Add("。\n!? ", "")
	f.Fuzz(func(t *testing.T, text, name string) {
		for _, got := range claims.Sentences(text, name) {
			require.Contains(t, text, got)
			require.LessOrEqual(t, len(got), 240)
			if utf8.ValidString(text) {
				require.True(t, utf8.ValidString(got))
			}
		}
	})
}
