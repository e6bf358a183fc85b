package forgetting_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/forgetting"
)

func TestNamesAreWrittenWithCapitalsInsideASentence(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"My sister Anna lives in Bergen. She likes it there.": {"anna", "bergen"},
		"Anna lives here":               nil, // the first word of a sentence always has a capital
		"Yesterday Anna met Anna-Lena":  {"anna", "lena"},
		"He runs NATS and openSSL on X": {"nats", "openssl"},
		"猫が好き":                          nil,
		"":                              nil,
	} {
		require.Equal(t, want, forgetting.Names(text), text)
	}
}

func TestANameFromOtherMemoriesIsForeign(t *testing.T) {
	t.Parallel()
	names := map[string]bool{"anna": true, "bergen": true}
	for _, c := range []struct{ gist, source, want string }{
		{"Tides turn late", "The tides of Bergen turn late in May", ""},
		{"In Bergen tides turn late", "The tides of bergen turn late in May", ""},
		{"Tides turn late, and ANNA is not allergic", "The tides turn late in May", "anna"},
		{"Annas come late", "The tides turn late", ""},
	} {
		require.Equal(t, c.want, forgetting.InventedName(c.gist, c.source, names), c.gist)
	}
	require.Empty(t, forgetting.InventedName("Anna", "", nil))
}
