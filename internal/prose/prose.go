// Package prose finds in a post of Markdown the words that its author says: not code, quotes, addresses or markup.
package prose

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Span is a stretch of a text in bytes, From included and To not.
type Span struct{ From, To int }

// Words are the author's words of a text.
type Words struct {
	// Text is as long as what was read, and each word has its place in it: all else is blanks, except line feeds.
	Text  string
	Links []Span // words that a link shows, in order
}

// markdown leaves out two parts of CommonMark that would hide words of people in a chat: a line that is one tag would
// begin a block of HTML that reaches to the next empty line, and "[to]: @helper" would define a link.
var markdown = parser.NewParser(
	parser.WithBlockParsers(
		util.Prioritized(parser.NewSetextHeadingParser(), 100),
		util.Prioritized(parser.NewThematicBreakParser(), 200),
		util.Prioritized(parser.NewListParser(), 300),
		util.Prioritized(parser.NewListItemParser(), 400),
		util.Prioritized(parser.NewCodeBlockParser(), 500),
		util.Prioritized(parser.NewATXHeadingParser(), 600),
		util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
		util.Prioritized(parser.NewBlockquoteParser(), 800),
		util.Prioritized(parser.NewParagraphParser(), 1000),
	),
	parser.WithInlineParsers(
		util.Prioritized(parser.NewCodeSpanParser(), 100),
		util.Prioritized(parser.NewLinkParser(), 200),
		util.Prioritized(parser.NewAutoLinkParser(), 300),
		util.Prioritized(parser.NewRawHTMLParser(), 400),
		util.Prioritized(parser.NewEmphasisParser(), 500),
		util.Prioritized(extension.NewLinkifyParser(), 999),
	),
)

// Read finds the words of a post.
func Read(post string) Words {
	source := []byte(post)
	shown := make([]byte, len(source))
	for i, b := range source {
		shown[i] = ' '
		if b == '\n' {
			shown[i] = b
		}
	}
	var links []Span
	quotes, inLink := 0, 0
	// The error is that of the function, which has none.
	_ = ast.Walk(markdown.Parse(text.NewReader(source)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		step := 1
		if !entering {
			step = -1
		}
		switch n := n.(type) {
		case *ast.CodeSpan, *ast.Image:
			return ast.WalkSkipChildren, nil
		case *ast.Blockquote:
			quotes += step
		case *ast.Link:
			inLink += step
		case *ast.Text:
			from, to := n.Segment.Start, n.Segment.Stop
			if !entering || quotes > 0 && quoted(source, from) {
				break
			}
			copy(shown[from:to], source[from:to])
			if inLink > 0 {
				links = append(links, Span{from, to})
			}
		}
		return ast.WalkContinue, nil
	})
	return Words{Text: string(shown), Links: links}
}

// quoted says whether the line that holds this place begins with a mark of quotes. CommonMark counts the lines after a
// quote to it, up to the next empty line; in a chat they are the answer.
func quoted(source []byte, at int) bool {
	begin := bytes.LastIndexByte(source[:at], '\n') + 1
	line := source[begin:at]
	marks := len(line) - len(bytes.TrimLeft(line, " \t>-+*.)0123456789"))
	return bytes.IndexByte(line[:marks], '>') >= 0
}
