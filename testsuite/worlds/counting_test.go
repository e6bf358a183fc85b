package worlds_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/claims"
	"github.com/seed-56a03226/oneiros/testsuite/worlds"
)

// spelled is a world's name in letters alone, as episodes write it.
func spelled(name string) string {
	return "k" + strings.Map(func(r rune) rune { return 'a' + 2*(r-'0') }, strings.TrimPrefix(name, "thing")) + "k"
}

// texts are the episodes of a world in words.
func texts(w worlds.World) []claims.Text {
	var all []claims.Text
	for _, e := range w.Lived {
		var words []string
		for _, name := range e.Terms {
			words = append(words, "There was the "+spelled(name)+".")
		}
		all = append(all, claims.Text{ID: e.ID, At: e.At, Content: strings.Join(words, " ")})
	}
	return all
}

func TestCountingFindsTheRulesOfAWorldAndLittleElse(t *testing.T) {
	t.Parallel()
	n := 8
	if full {
		n = 100
	}
	rules, found, offered := 0, 0, 0
	for seed := range n {
		w := worlds.Make(uint64(frozen+seed), worlds.Options{
			Days:   60,
			Names:  24,
			Rules:  8,
			Rate:   .8,
			Within: 12 * time.Hour,
		})
		holds := map[string]bool{}
		for _, r := range w.Rules {
			holds[spelled(w.Names[r.A])+" "+spelled(w.Names[r.B])] = true
		}
		rules += len(w.Rules)
		for _, a := range claims.Associate(texts(w)) {
			offered++
			if holds[a.Check.When+" "+a.Check.Then] {
				found++
			}
		}
	}
	t.Logf("of %d rules %d were found, and %d other pairs", rules, found, offered-found)
	require.GreaterOrEqual(t, share(found, rules), .9)
	require.LessOrEqual(t, share(offered-found, offered), .10)
}
