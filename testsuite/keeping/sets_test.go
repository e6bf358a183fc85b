package keeping_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/utterance"
	"github.com/seed-56a03226/oneiros/testsuite/keeping"
)

// lines reads a set.
func lines[T any](t testing.TB, name string) []T {
	t.Helper()
	all, err := keeping.Read[T](name)
	require.NoError(t, err)
	require.NotEmpty(t, all)
	return all
}

// keeps says whether any passage of a person's message is kept.
func keeps(text string) bool {
	for _, p := range utterance.Strip(text) {
		if utterance.Worth(p, dream.FromHuman).Kept() {
			return true
		}
	}
	return false
}

func TestStatementsAreKeptAndOtherTextsAreNot(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		set         string
		least, most float64
	}{
		{"statements.tsv", .97, 1},
		{"others.jsonl", 0, .10},
		{"unseen_statements.tsv", 0, 1},
		{"unseen_others.jsonl", 0, 1},
	} {
		set := lines[keeping.Text](t, c.set)
		kept := 0
		for _, s := range set {
			k := keeps(s.Text)
			if k {
				kept++
			}
			if k != strings.HasSuffix(c.set, ".tsv") && !strings.HasPrefix(c.set, "unseen") {
				t.Logf("%s: %s %s kept %t: %q", c.set, s.Kind, s.Lang, k, s.Text)
			}
		}
		share := float64(kept) / float64(len(set))
		t.Logf("%s: %d of %d kept, %.1f %%", c.set, kept, len(set), 100*share)
		require.GreaterOrEqual(t, share, c.least, c.set)
		require.LessOrEqual(t, share, c.most, c.set)
	}
}
