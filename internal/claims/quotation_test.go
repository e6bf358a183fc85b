package claims_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/claims"
)

const exchange = "Anna: I went to the harbour. The boat   sank\nin the night.\nBen: I never said the mast broke! Did it?\n" +
	"Then we had soup"

func TestOnlyWholeSentencesOfTheTextAreQuotations(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, quotation, want string
	}{
		{"a sentence", "Did you see it? No, never seen.", ""},
		{"word for word", "Anna: I went to the harbour.", "Anna: I went to the harbour."},
		{"without the speaker's name", "I went to the harbour.", "Anna: I went to the harbour."},
		{"without the full stop", "I went to the harbour", "Anna: I went to the harbour."},
		{"other white space", " The  boat sank in\tthe night. ", "The boat sank in the night."},
		{"a line that goes on", "The boat sank", ""},
		{
			"several in a row", "The boat sank in the night. Ben: I never said the mast broke!",
			"The boat sank in the night. Ben: I never said the mast broke!",
		},
		{"the last without a mark", "Then we had soup", "Then we had soup"},
		{"a part that says the opposite", "the mast broke!", ""},
		{"a part that begins a sentence", "I never said", ""},
		{"another mark at the end", "I never said the mast broke.", ""},
		{"cut off by dots", "I went to the …", ""},
		{"dots in between", "I went … the harbour.", ""},
		{"sentences that do not follow each other", "I went to the harbour. Then we had soup", ""},
		{"in other words", "I walked to the harbour.", ""},
		{"another case", "i went to the harbour.", ""},
		{"too few words", "Did it?", ""},
		{"nothing", "", ""},
		{"half a word", "nna: I went to the harbour.", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, ok := claims.Quoted(exchange, c.quotation)
			require.Equal(t, c.want, got)
			require.Equal(t, c.want != "", ok)
		})
	}
	_, ok := claims.Quoted("昨日、港で船が沈んだ。雨だった。", "昨日、港で船が沈んだ。")
	require.True(t, ok, "a script without spaces")
	_, ok = claims.Quoted("Bob lied: the boat sank here.", "the boat sank here.")
	require.False(t, ok, "what stands before the colon is no name")
	_, ok = claims.Quoted("I was never told by Dr. Smith that it sank.", "Smith that it sank.")
	require.False(t, ok, "an abbreviation ends no sentence")
	_, ok = claims.Quoted("He said \"It will never do.\" Then he left us.", "Then he left us.")
	require.True(t, ok, "a mark before a closing quotation mark")
	long := strings.Repeat("very ", 200) + "long."
	_, ok = claims.Quoted(long, long)
	require.False(t, ok, "too long")
}

func TestAnExcerptIsThePartThatSharesMostWords(t *testing.T) {
	t.Parallel()
	text := "We had soup. It rained all day. The boat sank in the harbour. Nobody was hurt. Then we slept."
	require.Equal(t, text, claims.Excerpt(text, "a boat sinks", 200))
	require.Equal(t, "The boat sank in the harbour. Nobody was hurt.",
		claims.Excerpt(text, "a boat in the harbour hurt", 50))
	require.Equal(t, "It rained all day.", claims.Excerpt(text, "rain", 20))
}

func FuzzAQuotationStandsInTheText(f *testing.F) {
	f.Add(exchange, "I went to the harbour.")
	f.Add("a\xffb. c d e.", "c d e")
	f.Add("\n\n", "  ")
	f.Fuzz(func(t *testing.T, text, quotation string) {
		found, ok := claims.Quoted(text, quotation)
		folded := strings.Join(strings.Fields(text), " ")
		if ok {
			require.Contains(t, folded, found)
			require.Contains(t, folded, strings.Join(strings.Fields(quotation), " "))
		}
		require.LessOrEqual(t, len(claims.Excerpt(text, quotation, 80)), max(len(text), 0))
	})
}
