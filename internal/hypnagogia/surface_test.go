package hypnagogia_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

var spoken = []string{
	"The harbour lights go out one by one, the way liquidity leaves a pool before anybody says so.",
	"What if the gas spike was not a cause but a shadow? Mina closed the shop early that week too.",
	"Waiting is also a trade. I paid for it with sleep, and the fee was higher than the 0.3% I saved.",
	"she keeps the letters in the tin where the buttons were, and the buttons are somewhere in the sea, which is",
	"ETH fell 4.2% to $3,120.50 on 2026-03-12 while the USDC pool on Uniswap v4 stayed flat; nobody sold.",
	"Die Stadt schläft, aber der Markt träumt weiter. Vielleicht ist das Zögern selbst ein Zeichen.",
	"Рынок молчит, как молчит река перед льдом. Я снова вспомнил её письмо.",
	"市场像潮水一样退去，只留下几只小船。我想起了去年的秋天。",
	"Patterns: the quiet ones. 1. A pool drains slowly. 2. A friend answers later each day. 3. Both are leaving.",
}

var noise = map[string]string{
	"token soup":      "xq7zr vbnmt %%k lpwqs {{]} trgf|| zzxcv <<<>> qwrtp ;;;; mnbvc #$@! hjklp",
	"mixed scripts":   "ainted fabric Дляprze cutor 请upon ${ zł의 ofthe ребята 関係 pgfqpoint หรือ nakalista",
	"word loop":       "the pool the pool the pool the pool the pool the pool the pool",
	"one word":        "yes yes yes yes yes yes yes yes",
	"sentence loop":   strings.Repeat("I remember the sea and the sea remembers me. ", 6),
	"stretched word":  "aaaaaaaaaaa hahahahahahahaha ooooooooh zzzzzzzzzzz aaaaaaaaaaa",
	"marks":           "... --- !!! ??? ,,, ;;;",
	"word salad":      "the of market and or the in river of and a the was pool by to the of sleep is a and of the",
	"run-on letters":  "Thequickbrownfoxjumpedoverthelazydogandkeptrunningforalongtimeindeed",
	"code":            "{\"a\":[{\"b\":0x1f}],}; fn(x)=>{return[y||z]}; <div></div>",
	"nothing at all":  "",
	"only whitespace": " \t\n ",
}

func TestNaturalSpeechLooksCoherentAndNoiseDoesNot(t *testing.T) {
	t.Parallel()
	for _, text := range spoken {
		require.GreaterOrEqual(t, hypnagogia.Surface(text), .75, text)
	}
	for name, text := range noise {
		require.LessOrEqual(t, hypnagogia.Surface(text), .01, name)
	}
}

func TestFlawedSpeechLiesBetween(t *testing.T) {
	t.Parallel()
	twice := "I remember the sea and the sea remembers me. I remember the sea and the sea remembers me."
	runOn := "and then somebody opened another window onto a different street while " + strings.Join(strings.Fields(
		"seven grey horses walked past without looking up because rain had started early over our quiet valley where old "+
			"neighbours still argue about prices nobody remembers paying during winters long before any bridge crossed that "+
			"narrow water between two towns sharing one church bell whose rope had been sold twice already for firewood money"),
		" ")
	for _, text := range []string{twice, runOn, "Salt.", "Salt again."} {
		got := hypnagogia.Surface(text)
		require.Greater(t, got, .1, text)
		require.Less(t, got, .95, text)
	}
}

func FuzzSurfaceStaysBetweenNoneAndAll(f *testing.F) {
	for _, text := range spoken {
		f.Add(text)
	}
	for _, text := range noise {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := hypnagogia.Surface(text)
		require.False(t, got < 0 || got > 1 || got != got, "%v for %q", got, text)
		if utf8.ValidString(text) && strings.TrimSpace(text) == "" {
			require.Zero(t, got)
		}
	})
}
