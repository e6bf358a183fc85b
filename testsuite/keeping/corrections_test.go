package keeping_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/utterance"
	"github.com/seed-56a03226/oneiros/testsuite/keeping"
)

func TestCorrectionsReplaceAndLookalikesDoNot(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		set   string
		least int
	}{{"corrections.jsonl", 50}, {"unseen_corrections.jsonl", 0}} {
		set := lines[keeping.Correction](t, c.set)
		found := 0
		for _, each := range set {
			if utterance.Corrects(each.Earlier, each.Later, each.SameTalk) {
				found++
			} else if c.least > 0 {
				t.Logf("%s: not seen: %q, %q", c.set, each.Earlier, each.Later)
			}
		}
		t.Logf("%s: %d of %d replace", c.set, found, len(set))
		require.GreaterOrEqual(t, found, c.least)
	}
	for _, c := range []struct {
		set  string
		most int
	}{{"lookalikes.jsonl", 0}, {"unseen_lookalikes.jsonl", 20}} {
		set := lines[keeping.Pair](t, c.set)
		found := 0
		for _, each := range set {
			for _, sameTalk := range []bool{each.SameTalk, true, false} {
				if utterance.Corrects(each.First, each.Second, sameTalk) {
					found++
					if c.most == 0 {
						t.Logf("%s: taken for a correction: %q, %q", c.set, each.First, each.Second)
					}
					break
				}
			}
		}
		t.Logf("%s: %d of %d replace", c.set, found, len(set))
		require.LessOrEqual(t, found, c.most)
	}
}
