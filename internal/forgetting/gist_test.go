package forgetting_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/forgetting"
)

// Specifics are numbers, dates, addresses and names of protocols.
func TestSpecificsAreFound(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"ETH fell 4.2% to $3,120.50 on 2026-03-12.":     {"4.2%", "$3,120.50", "2026-03-12"},
		"Meet me on 12 March, or on Friday, or in May.": {"12", "Friday", "in May"},
		"May I march on?": nil,
		"The letter of September went to mina.lee+x@post.example.org!": {"September", "mina.lee+x@post.example.org"},
		"See (https://a.b/c?d=e#f), www.example.org and vitalik.eth.": {
			"https://a.b/c?d=e#f", "www.example.org",
			"vitalik.eth",
		},
		"Router 0xAbCd and 0xdeadbeefdeadbeefdeadbeefdeadbeefdeadbeef.": {
			"0xAbCd",
			"0xdeadbeefdeadbeefdeadbeefdeadbeefdeadbeef",
		},
		"Hash deadbeefcafebabe and wallet 7vfCXTUXx5WJV5JADk17DUJ4ksgau.": {
			"deadbeefcafebabe",
			"7vfCXTUXx5WJV5JADk17DUJ4ksgau",
		},
		"Key QwErTyUiOpAsDfGhJkLzXcVbNmQw is lost":                  {"QwErTyUiOpAsDfGhJkLzXcVbNmQw"},
		"Twenty-one nights, a dozen boats, three days, two friends": {"Twenty-one", "dozen", "three days"},
		"٣ قوارب و Ⅳ و ½":                                           {"٣", "Ⅳ", "½"},
		"When everyone leaves at once, the door is what matters.":   nil,
		"": nil,
	} {
		require.Equal(t, want, forgetting.Specifics(text), text)
	}
}

func TestAGistDropsSpecificsAndKeepsTheRest(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"She often speaks of shows: “I used to compete in a few competitions - I won 3 of them.”": "She often speaks of shows: “I used to compete in a few competitions.”",
		"In 2019 he said “never again”, 4 times, “by the sea, by night, at 10”":                   "“by the sea, by night.”",
		"There are 112 steps, and Mara counts them when she cannot sleep.":                        "Mara counts them when she cannot sleep.",
		"After 3 days, the pool always recovers its depth.":                                       "The pool always recovers its depth.",
		"Quiet pools drain slowly and then all at once, by 40 % or more.":                         "Quiet pools drain slowly and then all at once.",
		"Sellers hide in the noise (see https://x.io/1) until the noise stops":                    "Sellers hide in the noise until the noise stops.",
		"Fees rose to 50 gwei. Crowds arrive late!  They pay for each other's fear":               "Crowds arrive late! They pay for each other's fear",
		"Trust is spent faster than it is earned.":                                                "Trust is spent faster than it is earned.",
		"A calm week often comes before the storm — in 2026 as well — and nobody believes it.":    "A calm week often comes before the storm and nobody believes it.",
		"潮水退去以后，市场很安静。价格是3120。":                                                                   "潮水退去以后，市场很安静。",
	} {
		got, ok := forgetting.Gist(text)
		require.True(t, ok, text)
		require.Equal(t, want, got)
	}
	for _, empty := range []string{
		"", "  \n", "42", "...", "Pay 0xabc 5 ETH on Friday.", "Fell 3%. Rose 4%.",
		"After 3 days, the pool recovers.",
	} {
		got, ok := forgetting.Gist(empty)
		require.False(t, ok, "%q gave %q", empty, got)
		require.Empty(t, got)
	}
}

func FuzzAGistHasNoSpecificsAndIsItsOwnGist(f *testing.F) {
	for _, seed := range []string{
		"ETH fell 4.2% to $3,120.50 on 2026-03-12, and the herd ran.", "three. days of rain, (a b c d) in. May we go",
		"a, b: c; d - e — f ( g ) h",
		"mail a@b.co, see www.x.org. Quiet pools drain slowly.", "潮水退去以后，市场很安静。价格是3120。",
		"ten\npercent of, all boats sink anyway", "\xff\xfe 7",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, s := range forgetting.Specifics(text) {
			require.Contains(t, text, s)
			require.NotEmpty(t, s)
		}
		gist, ok := forgetting.Gist(text)
		if !ok {
			require.Empty(t, gist)
			return
		}
		require.NotEmpty(t, strings.TrimSpace(gist))
		require.True(t, utf8.ValidString(gist))
		require.Empty(t, forgetting.Specifics(gist), "%q became %q", text, gist)
		again, ok := forgetting.Gist(gist)
		require.True(t, ok)
		require.Equal(t, gist, again)
	})
}
