package archtest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestThePageShowsTheLayers compares the table of docs/ARCHITECTURE.md with Layers, in both directions.
func TestThePageShowsTheLayers(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "ARCHITECTURE.md"))
	require.NoError(t, err)
	require.Equal(t, describe(Layers), tableOf(string(page)),
		"internal/archtest/layers.go and the table of docs/ARCHITECTURE.md differ")
}

func TestADifferenceBetweenPageAndLayersIsSeen(t *testing.T) {
	t.Parallel()
	layers := []Layer{
		{Name: "values", Packages: []string{"activities/port/mood"}},
		{Name: "rules", Packages: []string{"internal/alarm", "internal/recall/words"}},
	}
	const right = "| 2 rules | `alarm` `recall/words` | pure |\n| 1 values | `mood` | values |\n"
	require.Equal(t, describe(layers), tableOf(right))
	for name, wrong := range map[string]string{
		"a package is missing":        "| 2 rules | `alarm` | pure |\n| 1 values | `mood` | values |\n",
		"a package is in no layer":    "| 2 rules | `alarm` `recall/words` `new` | pure |\n| 1 values | `mood` | values |\n",
		"a package is in another":     "| 2 rules | `alarm` | pure |\n| 1 values | `mood` `recall/words` | values |\n",
		"packages are in other order": "| 2 rules | `recall/words` `alarm` | pure |\n| 1 values | `mood` | values |\n",
		"a layer is missing":          "| 1 values | `mood` | values |\n",
		"layers are in other order":   "| 2 values | `mood` | values |\n| 1 rules | `alarm` `recall/words` | pure |\n",
	} {
		require.NotEqual(t, describe(layers), tableOf(wrong), name)
	}
}

// describe writes layers as rows of the page, from the highest down.
func describe(layers []Layer) []string {
	var rows []string
	for i := len(layers) - 1; i >= 0; i-- {
		row := fmt.Sprintf("%d %s:", i+1, layers[i].Name)
		for _, pkg := range layers[i].Packages {
			short := strings.TrimPrefix(strings.TrimPrefix(pkg, "internal/"), "activities/port/")
			row += " " + short
		}
		rows = append(rows, row)
	}
	return rows
}

// layerRow matches a row: the layer's number and name, and its packages.
var layerRow = regexp.MustCompile("(?m)^\\| (\\d+ [a-z]+) \\| ((?:`[^`]+` ?)+)\\|")

// tableOf reads the rows of the page's table of layers.
func tableOf(page string) []string {
	var rows []string
	for _, found := range layerRow.FindAllStringSubmatch(page, -1) {
		packages := strings.Join(strings.Fields(strings.ReplaceAll(found[2], "`", "")), " ")
		rows = append(rows, found[1]+": "+packages)
	}
	return rows
}
