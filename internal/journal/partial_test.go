package journal_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/journal"
)

func TestLegiblePartsOfATruncatedText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"prose stays", "  the tide went out over gl", "the tide went out over gl"},
		{
			"sentences of broken JSON",
			`{"fragments":[{"text":"A lighthouse made of rope.","sources":["r1"]},{"text":"The harbour lis`,
			"A lighthouse made of rope.\nThe harbour lis",
		},
		{"escapes are read", `["a line\nand a \"quoted\" wo`, `a line and a "quoted" wo`},
		{"keys and references are left out", `{"a":"r1","b":"r2"}`, ""},
		{"nothing", "", ""},
		{"an escape at the end", `{"text":"cut in the middle of an esc\`, "cut in the middle of an esc"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, journal.ReadableText(c.text))
		})
	}
}

func TestATextDrawsOnTheLinesItSharesWordsWith(t *testing.T) {
	t.Parallel()
	lines := []string{
		"The harbour master counted lanterns at midnight.", "The harbour master counted lanterns at midnight.",
		"Ropes were spliced in the lighthouse.", "Somebody baked bread.", "",
	}
	require.Equal(t, 2, journal.CountDrawnLines("lanterns hang from the harbour like ropes from a lighthouse", lines),
		"a repeated line counts once")
	require.Equal(t, 0, journal.CountDrawnLines("harbour", lines), "one shared word is a coincidence")
	require.Equal(t, 0, journal.CountDrawnLines("", lines))
}

func FuzzLegible(f *testing.F) {
	for _, seed := range []string{`{"a":"a long enough string","b":["x`, "plain", `["\u00e9\\`, "\x00\xff{", `{"`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		legible := journal.ReadableText(text)
		if utf8.ValidString(text) && (!utf8.ValidString(legible) || len(legible) > len(text)+1) {
			t.Fatalf("%q became %q", text, legible)
		}
		journal.CountDrawnLines(legible, strings.Split(text, "\n"))
	})
}
