package sentence_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/sentence"
)

func TestATextIsSplitAtTheEndsOfItsSentences(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]string{
		"One. Two! Three? Four":                    {"One.", "Two!", "Three?", "Four"},
		"Dr. Marsh paid 3.50 to J. Pell. He left.": {"Dr. Marsh paid 3.50 to J. Pell.", "He left."},
		"He said \"Go.\" Then he went…":            {"He said \"Go.\"", "Then he went…"},
		"“Really?” she asked.":                     {"“Really?”", "she asked."},
		"- a list\n- of things":                    {"- a list", "- of things"},
		"one line\n\n\nand another":                {"one line", "and another"},
		"Wait... what?!":                           {"Wait...", "what?!"},
		"See example.org/a.b for more":             {"See example.org/a.b for more"},
		"So do I. He left.":                        {"So do I.", "He left."},
		"終わり。始まり。":                                 {"終わり。", "始まり。"},
		"你好；再见":                                    {"你好；", "再见"},
		"هل تسمع؟ نعم.":                            {"هل تسمع؟", "نعم."},
		"...":                                      {"..."},
		" \n ":                                     nil,
		"":                                         nil,
	} {
		require.Equal(t, want, sentence.Split(in), in)
	}
}

func FuzzSplit(f *testing.F) {
	for _, text := range []string{"One. Two!", "Dr. J. Pell (see A.)", "。\n", "x.\xff", "...\"')] ", "I. A. b."} {
		f.Add(text)
	}
	bare := func(text string) string { return strings.Join(strings.FieldsFunc(text, unicode.IsSpace), "") }
	f.Fuzz(func(t *testing.T, text string) {
		sentences := sentence.Split(text)
		require.Equal(t, bare(text), bare(strings.Join(sentences, "")), "nothing but blanks is left out")
		for _, s := range sentences {
			require.Equal(t, strings.TrimSpace(s), s)
			require.NotEmpty(t, s)
		}
	})
}
