// Package docs reads the documents of this repository, so that its tests can compare them with what the product does.
package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Document is one Markdown file.
type Document struct {
	Path   string // from the root
	Blocks []Block
	Links  []Link
	Inline []string        // the product's commands named in running text
	Titles map[string]bool // anchors of its headings
}

// Block is a fenced block of code.
type Block struct {
	Language, Under string // the language it says it is, the heading above it
	Line            int
	Lines           []string
}

// Link is a link from a document to another place.
type Link struct {
	To   string
	Line int
}

// Command is one line of a ```sh block.
type Command struct {
	Document string
	Line     int
	Text     string
}

var (
	heading = regexp.MustCompile(`^#+\s+(.*)$`)
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	code    = regexp.MustCompile("`[^`]+`")
	named   = regexp.MustCompile("^`(?:bin/)?(oneiros [a-z][^`]*)`$")
	remark  = regexp.MustCompile(`\s+# .*$`)
	slug    = regexp.MustCompile(`[^a-z0-9 _-]`)
)

// Read reads one document.
func Read(root, path string) (Document, error) {
	body, err := os.ReadFile(filepath.Join(root, path))
	return Parse(path, string(body)), err
}

// Parse takes a document apart.
func Parse(path, text string) Document {
	d := Document{Path: path, Titles: map[string]bool{}}
	under := ""
	var open *Block
	for i, row := range strings.Split(text, "\n") {
		if fence, ok := strings.CutPrefix(row, "```"); ok {
			if open != nil {
				d.Blocks, open = append(d.Blocks, *open), nil
			} else {
				open = &Block{Language: strings.TrimSpace(fence), Under: under, Line: i + 1}
			}
			continue
		}
		if open != nil {
			open.Lines = append(open.Lines, row)
			continue
		}
		if m := heading.FindStringSubmatch(row); m != nil {
			under = m[1]
			d.Titles[strings.ReplaceAll(slug.ReplaceAllString(strings.ToLower(under), ""), " ", "-")] = true
		}
		for _, span := range code.FindAllString(row, -1) {
			if m := named.FindStringSubmatch(span); m != nil {
				d.Inline = append(d.Inline, m[1])
			}
		}
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(row, ""), -1) {
			d.Links = append(d.Links, Link{To: m[1], Line: i + 1})
		}
	}
	return d
}

// Commands are the lines of its ```sh blocks, remarks left out.
func (d Document) Commands() []Command {
	var list []Command
	for _, b := range d.Blocks {
		if b.Language != "sh" {
			continue
		}
		for i, row := range b.Lines {
			if text := strings.TrimSpace(remark.ReplaceAllString(row, "")); text != "" &&
				!strings.HasPrefix(text, "#") {
				list = append(list, Command{Document: d.Path, Line: b.Line + i + 1, Text: text})
			}
		}
	}
	return list
}

// Uncovered are the commands that no test runs and that have no stated reason, and the reasons that no command needs.
func Uncovered(commands []Command, runs func(string) bool,
	elsewhere map[string]string,
) (unknown []Command, idle []string) {
	used := map[string]bool{}
	for _, c := range commands {
		switch reason := elsewhere[c.Text]; {
		case reason != "":
			used[c.Text] = true
		case !runs(c.Text):
			unknown = append(unknown, c)
		}
	}
	for text := range elsewhere {
		if !used[text] {
			idle = append(idle, text)
		}
	}
	return unknown, idle
}
