package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var example = regexp.MustCompile("(?s)```go\n(.*?)```")

// Each example of docs/extending.md stands in a file of this module, word for word.
func TestThePageShowsThisModule(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "extending.md"))
	require.NoError(t, err)
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	var all strings.Builder
	for _, file := range files {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		all.Write(source)
	}
	examples := example.FindAllStringSubmatch(string(page), -1)
	require.GreaterOrEqual(t, len(examples), 3)
	for _, found := range examples {
		require.Contains(t, all.String(), found[1], "the page shows code that the module does not have")
	}
}
