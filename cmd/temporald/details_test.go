package main

import (
	"html"
	"os"
	"strings"
	"testing"

	"github.com/gomarkdown/markdown"
	renderer "github.com/gomarkdown/markdown/html"
	"github.com/gomarkdown/markdown/parser"
	"github.com/stretchr/testify/require"
)

// TestTheUIShowsTheDetailsOfADreamWhole renders the summary of a dream with the library and the settings of the web UI.
func TestTheUIShowsTheDetailsOfADreamWhole(t *testing.T) {
	t.Parallel()
	details, err := os.ReadFile("../../workflows/testdata/details.md")
	require.NoError(t, err)
	read := parser.NewWithExtensions(parser.CommonExtensions | parser.AutoHeadingIDs)
	write := renderer.NewRenderer(renderer.RendererOptions{Flags: renderer.CommonFlags | renderer.HrefTargetBlank})
	page := string(markdown.Render(read.Parse(details), write))

	_, block, found := strings.Cut(string(details), "```\n")
	require.True(t, found)
	block, end, found := strings.Cut(block, "```\n")
	require.True(t, found)
	require.Contains(t, html.UnescapeString(page), "<pre><code>"+block+"</code></pre>")
	require.Contains(t, page, "<strong>woken</strong>")
	require.Contains(t, end, "USD 0.05")
	require.NotContains(t, page, "math")
	require.NotContains(t, page, "<table")
}
