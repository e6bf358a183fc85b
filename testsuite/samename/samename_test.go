package samename_test

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/claims"
	"github.com/seed-56a03226/oneiros/internal/localmodel"
)

//go:embed testdata/names.tsv
var names string

// pair are two names, and whether they say the same.
type pair struct {
	a, b string
	same bool
	near float64
}

// pairs are the labelled pairs with their cosines in an embedder's space.
func pairs(t *testing.T, m *localmodel.Model, embedder string) []pair {
	t.Helper()
	var all []pair
	for line := range strings.Lines(names) {
		f := strings.Fields(line)
		all = append(all, pair{a: f[1], b: f[2], same: f[0] == "same"})
	}
	for i := range all {
		v, err := m.Embed(context.Background(), embedder, []string{all[i].a, all[i].b}, "")
		require.NoError(t, err)
		all[i].near = localmodel.Closeness(v.V[0], v.V[1])
	}
	return all
}

// mergedAt is how many pairs that say the same, and how many that do not, lie at a cosine or above.
func mergedAt(all []pair, cosine float64) (same, other float64) {
	var found, of [2]int
	for _, p := range all {
		i := 0
		if !p.same {
			i = 1
		}
		of[i]++
		if p.near >= cosine {
			found[i]++
		}
	}
	return float64(found[0]) / float64(of[0]), float64(found[1]) / float64(of[1])
}

// TestAnEmbedderMergesNamesThatSayOtherThings is why claims are not merged by meaning: where an embedder takes none of
// the names for one that say other things, most of them opposites and siblings, it takes less than a fifth of the
// synonyms for one.
func TestAnEmbedderMergesNamesThatSayOtherThings(t *testing.T) {
	t.Parallel()
	specs := localmodel.Specs()
	for _, embedder := range []string{localmodel.Static, localmodel.Lexical} {
		all := pairs(t, localmodel.New(), embedder)
		at := slices.IndexFunc(specs, func(s inference.Spec) bool { return s.Name == embedder })
		c := specs[at].Calibration
		for _, threshold := range []struct {
			name   string
			cosine float64
		}{{"related", c.Related}, {"novel", c.Novel}, {"same", c.Same}} {
			same, other := mergedAt(all, threshold.cosine)
			fmt.Printf("%s at %s (%.2f): merges %.0f %% of the synonyms and %.0f %% of the others\n", embedder, threshold.name,
				threshold.cosine, 100*same, 100*other)
		}
		highest := 0.0
		for _, p := range all {
			if !p.same {
				highest = max(highest, p.near)
			}
		}
		same, _ := mergedAt(all, highest+1e-6)
		fmt.Printf("%s above %.2f merges none of the others and %.0f %% of the synonyms\n", embedder, highest, 100*same)
		require.Less(t, same, .2, "%s could merge claims safely", embedder)
	}
}

// TestInflectionsAreOneName says what the normal form joins without an embedder.
func TestInflectionsAreOneName(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{
		{"leak", "leaks"},
		{"the storm", "Storms"},
		{"child's bike", "child's bikes"},
		{"walking", "walked"},
		{"berry", "berries"},
	} {
		require.Equal(t, claims.Key(dream.Check{Then: c[0]}), claims.Key(dream.Check{Then: c[1]}), "%s, %s", c[0], c[1])
	}
	for line := range strings.Lines(names) {
		f := strings.Fields(line)
		require.NotEqual(t, claims.Key(dream.Check{Then: f[1]}), claims.Key(dream.Check{Then: f[2]}), line)
	}
}
