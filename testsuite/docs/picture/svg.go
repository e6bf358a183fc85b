package main

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Sizes in pixels. A character of a monospaced font is about three fifths of its height wide.
const (
	size    = 14
	advance = 8.4
	leading = 19
	margin  = 22
)

// draw sets the lines on a dark background. Each run is placed at its column and fixed to its width, so that columns
// stay aligned with any font.
func draw(title string, lines []line) string {
	if title != "" {
		lines = append([]line{{{s: "$ ", colour: green}, {s: title, bold: true}}, nil}, lines...)
	}
	widest := 0
	for _, l := range lines {
		widest = max(widest, utf8.RuneCountInString(strings.TrimRight(l.text(), " ")))
	}
	width, height := int(float64(widest)*advance)+2*margin, len(lines)*leading+2*margin
	var b strings.Builder
	fmt.Fprintf(&b,
		`<svg xmlns="http://www.w3.org/2000/svg" xml:space="preserve" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="%s">`+
			"\n",
		width, height, width, height, escape("A terminal after "+title))
	b.WriteString(
		`<style>text{font:14px ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace;fill:#d6d3cd;white-space:pre}.b{font-weight:bold}.d{fill:#8c8a86}</style>` +
			"\n")
	fmt.Fprintf(&b, `<rect width="%d" height="%d" rx="9" fill="#16181d"/>`+"\n", width, height)
	for i, l := range lines {
		column := 0
		for _, r := range l {
			set(&b, r, column, margin+size+i*leading)
			column += utf8.RuneCountInString(r.s)
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func set(b *strings.Builder, r run, column, y int) {
	text := strings.TrimRight(r.s, " ")
	lead := len(text) - len(strings.TrimLeft(text, " "))
	text = text[lead:]
	if text == "" {
		return
	}
	var classes []string
	if r.bold {
		classes = append(classes, "b")
	}
	if r.dim {
		classes = append(classes, "d")
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%d" textLength="%.1f" lengthAdjust="spacingAndGlyphs"`,
		margin+float64(column+lead)*advance, y, float64(utf8.RuneCountInString(text))*advance)
	if len(classes) > 0 {
		fmt.Fprintf(b, ` class="%s"`, strings.Join(classes, " "))
	}
	if r.colour != "" {
		fmt.Fprintf(b, ` style="fill:%s"`, r.colour)
	}
	fmt.Fprintf(b, ">%s</text>\n", escape(text))
}

func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(s)
}
