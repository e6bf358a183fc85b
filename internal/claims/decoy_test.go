package claims_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/claims"
)

// livedDaily are episodes of consecutive days with these texts.
func livedDaily(texts ...string) []claims.Episode {
	var lived []claims.Episode
	for i, text := range texts {
		at := start.Add(time.Duration(i) * day)
		lived = append(lived, claims.Episode{ID: at.Format("ep_0102"), At: at, Terms: claims.NameOf(text)})
	}
	return lived
}

func TestDecoysNameThingsThatComeUpAsOften(t *testing.T) {
	t.Parallel()
	var texts []string
	for range 30 { // two dozen things come up every third day, the sea every day, and each shell once
		texts = append(texts, "sea apple bread chair daisy eagle flute grape house inlet jewel kayak lemon mango")
		texts = append(texts, "sea novel ocean piano queen river spoon tiger uncle viola wagon yacht zebra kettle vane")
		texts = append(texts, "sea shell"+strings.Repeat("x", len(texts)))
	}
	dice := rand.New(rand.NewPCG(1, 2))
	all := livedDaily(texts...)
	names := claims.DecoyNames(dream.Check{When: "Kettles", Then: "vane", Within: day}, all, start.Add(90*day), dice)
	require.Len(t, names, claims.Decoys)
	for _, name := range names {
		require.NotContains(t, []string{"kettl", "kettle", "vane"}, name)
	}
	require.LessOrEqual(t, strings.Count(strings.Join(names, " "), "shell"), claims.Decoys)
	require.Empty(t, claims.DecoyNames(dream.Check{Then: "vane"}, all, start.Add(-day), dice), "nothing came up yet")
}

func TestDecoysReplaceTheConditionOrWhatIsNamed(t *testing.T) {
	t.Parallel()
	lived := livedDaily("storm rain", "rain leak", "fog leak", "storm", "rain leak")
	after := &dream.Prediction{Head: dream.Head{ID: "pr_1", Agent: "a1", At: start.Add(day)}}
	after.Check = &dream.Check{When: "storm", Then: "leak", Within: 2 * day}
	c := claims.New(after, lived)
	require.Equal(t, claims.ID("a1", *after.Check), c.ID)
	require.Len(t, c.Decoys, 1, "only rain came up until then")
	claims.Advance(c, start.Add(10*day), lived, always)
	require.Equal(t, 1, c.Hits, "the second storm is followed by a leak")
	require.Positive(t, c.DecoyHits+c.DecoyMisses)
}
