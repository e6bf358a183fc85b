package wordpiece_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/embedder/wordpiece"
)

var pieces = strings.Fields(
	"[PAD] [UNK] [CLS] [SEP] ! ' , - . $ a b c un ##aff ##able ##a ##b able the cafe naive uber istanbul 日 本 ## ##c 2 ##3 ß й")

func vocabulary(tb testing.TB) *wordpiece.Vocabulary {
	tb.Helper()
	v, err := wordpiece.New(pieces)
	require.NoError(tb, err)
	return v
}

func TestTextIsCutAsTheModelWasTaught(t *testing.T) {
	t.Parallel()
	v := vocabulary(t)
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"spaces alone", " \t\r\n\u00a0\u3000", ""},
		{"the longest piece first", "unaffable able", "un ##aff ##able able"},
		{"lower case", "The THE", "the the"},
		{"accents are taken off", "Café naïve Über", "cafe naive uber"},
		{"accents written apart", "Cafe\u0301", "cafe"},
		{"the dotted capital", "İstanbul", "istanbul"},
		{"a letter that is no accented one", "ß", "ß"},
		{"marks stand alone", "a,b!c-$", "a , b ! c - $"},
		{"an apostrophe", "the's", "the ' [UNK]"},
		{"ideographs stand alone", "日本a", "日 本 a"},
		{"a word that cannot be cut is one unknown", "unaffx the", "[UNK] the"},
		{"control characters vanish", "a\u0000b\u200bc\ufffd", "a ##b ##c"},
		{"a marker in the text is text", "[CLS]", "[UNK] [UNK] [UNK]"},
		{"digits", "23", "2 ##3"},
		{"a word of a hundred letters is cut", "a" + strings.Repeat("b", 99), "a" + strings.Repeat(" ##b", 99)},
		{"a longer one is unknown", "a" + strings.Repeat("b", 100), "[UNK]"},
		{"broken UTF-8", "a\xffb", "a b"},
	} {
		var got []string
		for _, id := range v.Pieces(c.text, 0) {
			got = append(got, pieces[id])
		}
		require.Equal(t, c.want, strings.Join(got, " "), c.name)
	}
}

func TestAtMostSoManyPiecesAreCut(t *testing.T) {
	t.Parallel()
	v := vocabulary(t)
	whole := v.Pieces("unaffable a b c", 0)
	require.Len(t, whole, 6)
	for most := 1; most <= 7; most++ {
		require.Equal(t, whole[:min(most, 6)], v.Pieces("unaffable a b c", most))
	}
}

func TestABrokenVocabularyIsRefused(t *testing.T) {
	t.Parallel()
	_, err := wordpiece.New([]string{"a", "b"})
	require.ErrorContains(t, err, "[UNK]")
	_, err = wordpiece.New([]string{"[UNK]", "a", "a"})
	require.ErrorContains(t, err, `"a" stands twice`)
	v, err := wordpiece.New([]string{"[UNK]"})
	require.NoError(t, err)
	_, _, found := v.Frame()
	require.False(t, found)
}

func FuzzPieces(f *testing.F) {
	for _, seed := range []string{
		"", "Café, naïve!", "unaffable", "日本語テキスト", "a\xff\xfe", "\u0300\u0301", "İİ",
		strings.Repeat("é", 300), "👩‍👩‍👧", "ǅ\u212a",
	} {
		f.Add(seed)
	}
	v := vocabulary(f)
	f.Fuzz(func(t *testing.T, text string) {
		got := v.Pieces(text, 0)
		require.LessOrEqual(t, len(got), 4*utf8.RuneCountInString(text), "decomposition makes few letters of one")
		for _, id := range got {
			require.GreaterOrEqual(t, id, int32(0))
			require.Less(t, int(id), v.Size())
			require.NotContains(t, []string{"[PAD]", "[CLS]", "[SEP]"}, pieces[id],
				"text never makes a structural piece")
		}
		require.Equal(t, got[:min(3, len(got))], v.Pieces(text, 3)[:min(3, len(got))])
	})
}
