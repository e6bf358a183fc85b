package words_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/recall/words"
)

func TestTermsOfATextAreItsWordsWithoutThoseThatSayNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		language   words.Language
		want       []string
	}{
		{"English is stemmed", "Anna's dogs were running home.", words.English, []string{"anna", "dog", "run", "home"}},
		{"German is stemmed", "Ich habe die Rechnungen nicht bezahlt.", words.German, []string{"rechnung", "bezahlt"}},
		{"Russian is stemmed", "У меня есть собака и кошка", words.Russian, []string{"собак", "кошк"}},
		{"ports", "It listens on host:5434 now", words.English, []string{"listen", "host", "5434", "host:5434", "now"}},
		{
			"addresses", "Write to ann.lee@example.org.", words.English,
			[]string{"write", "ann", "lee", "exampl", "org", "ann.lee@example.org"},
		},
		{
			"paths", "see /etc/nginx/nginx.conf", words.English,
			[]string{"see", "etc", "nginx", "nginx", "conf", "etc/nginx/nginx.conf"},
		},
		{"CamelCase", "the BadgerServer", words.English, []string{"badger", "server", "badgerserver"}},
		{"hashes stay whole", "commit a3f5c9e0", words.English, []string{"commit", "a3f5c9e0"}},
		{"languages of computers", "C++ and C#", words.English, []string{"c++", "c", "c#", "c"}},
		{"scripts without spaces are pairs", "犬を飼う", words.Unknown, []string{"犬を", "を飼", "飼う"}},
		{"wide forms are plain ones", "ＡＢＣ１２ 猫", words.Unknown, []string{"abc12", "猫"}},
		{"nothing", " …— ", words.Unknown, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := words.Of(c.text)
			require.Equal(t, c.want, got.Terms)
			require.Equal(t, c.language, got.Language)
		})
	}
}

func TestAQuestionHasTheFormsOfTheTextsLanguages(t *testing.T) {
	t.Parallel()
	terms := words.Question("Where are the invoices? Invoices!", words.English, words.German)
	require.Len(t, terms, 1)
	require.Contains(t, terms[0].Forms, "invoic")
	require.Contains(t, terms[0].Forms, "invoices")
	require.Empty(t, words.Question("What is it?"))
}

func FuzzTermsAreBoundedAndValid(f *testing.F) {
	for _, seed := range []string{"", "host:5434", "犬を飼う", "aB\xffc", strings.Repeat("x", 5000), "ﬁﬂ Ⅷ a'b''c"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := words.Of(text)
		require.LessOrEqual(t, len(got.Terms), 4000)
		for _, term := range got.Terms {
			require.NotEmpty(t, term)
			require.LessOrEqual(t, len(term), 64)
			if utf8.ValidString(text) {
				require.True(t, utf8.ValidString(term), "%q", term)
			}
		}
		require.Equal(t, got, words.Of(text))
		words.Question(text, words.English, words.Turkish)
	})
}
