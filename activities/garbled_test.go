package activities_test

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/localmodel"
)

// The built-in embedder compares words, not meaning, so garbled text is far from everything; the function words
// reveal it.
func TestSoupScoresLowWithTheBuiltInEmbedderToo(t *testing.T) {
	t.Parallel()
	file, err := os.Open("../internal/hypnagogia/testdata/soup.jsonl")
	require.NoError(t, err)
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	require.True(t, lines.Scan())
	var head struct{ Memories map[string][]string }
	require.NoError(t, json.Unmarshal(lines.Bytes(), &head))
	var memories []string
	for _, name := range []string{"garden", "lab", "lighthouse", "market"} {
		memories = append(memories, head.Memories[name]...)
	}
	places := make([][]float32, len(memories))
	for i, text := range memories {
		places[i] = localmodel.Vector(text)
	}
	space, language := hypnagogia.Calibrate(places), hypnagogia.LanguageOf(memories)
	all, kept, far := map[string]float64{}, map[string]float64{}, map[string]float64{}
	for lines.Scan() {
		var one struct{ Part, Kind, Text string }
		require.NoError(t, json.Unmarshal(lines.Bytes(), &one))
		near := hypnagogia.Near{PlaybookEmpty: true}
		for _, place := range places {
			near.Memory = max(near.Memory, hypnagogia.Cosine(place, localmodel.Vector(one.Text)))
		}
		near.Source = near.Memory
		v := hypnagogia.Weigh(one.Text, near, nil,
			hypnagogia.Evidence{
				Language: language, Space: space,
				Blind: "the built-in embedder sees words, not meaning",
			})
		all[one.Kind]++
		far[one.Kind] += v.DistanceMemory
		if hypnagogia.Keep(v.Composite, .10) {
			kept[one.Kind]++
		}
	}
	t.Logf(
		"mean distance: soup %.2f, coherent %.2f; above the floor: soup %.0f of %.0f, coherent %.0f of %.0f, 1.5 with min-p %.0f of %.0f, 1.3 without %.0f of %.0f",
		far["soup"]/all["soup"], far["coherent"]/all["coherent"], kept["soup"], all["soup"], kept["coherent"],
		all["coherent"], kept["hot-minp"], all["hot-minp"], kept["heat-1.3"], all["heat-1.3"])
	require.Greater(t, far["soup"]/all["soup"], far["coherent"]/all["coherent"])
	require.LessOrEqual(t, kept["soup"], .05*all["soup"])
	require.GreaterOrEqual(t, kept["coherent"], .8*all["coherent"])
}
