package screen

import (
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// ScenariosDot is the search of a dream in the DOT language of Graphviz: kept scenarios filled, fragments that were
// developed as ellipses, an edge for each operation.
func ScenariosDot(name string, all []*dream.Scenario) string {
	var b strings.Builder
	fmt.Fprintf(&b,
		"digraph %s {\n  rankdir=TB;\n  node [shape=box, style=rounded, fontname=\"Helvetica\", fontsize=10];\n  edge [fontname=\"Helvetica\", fontsize=9];\n",
		quoted(name))
	g := graphOf(all)
	seeds := map[string]bool{}
	for i, s := range all {
		look := ""
		if s.Kept {
			look = `, style="rounded,filled", fillcolor="#e6dcf2"`
		}
		title := Clean(numberOf(s) + " " + worthWords(s))
		fmt.Fprintf(&b, "  %s [label=%s%s];\n", quoted(s.ID), label(title, s.Content), look)
		for _, parent := range g.parents[i] {
			fmt.Fprintf(&b, "  %s -> %s [label=%s];\n", quoted(all[parent].ID), quoted(s.ID),
				quoted(string(s.Operation)))
		}
		if len(g.parents[i]) > 0 {
			continue
		}
		for _, seed := range s.Develops() {
			if !seeds[seed] {
				seeds[seed] = true
				fmt.Fprintf(&b, "  %s [shape=ellipse, label=%s];\n", quoted(seed), quoted(inDream(seed, s.Dream)))
			}
			fmt.Fprintf(&b, "  %s -> %s [style=dashed];\n", quoted(seed), quoted(s.ID))
		}
	}
	b.WriteString("}\n")
	return b.String()
}

// Lines and columns of the words in a node.
const (
	labelLines   = 4
	labelColumns = 34
)

// label is a title above the first lines of a text.
func label(title, text string) string {
	lines := wrap(Clean(text), labelColumns)
	if len(lines) > labelLines {
		lines = lines[:labelLines]
		lines[labelLines-1] = cut(lines[labelLines-1]+" …", labelColumns)
	}
	parts := make([]string, 0, len(lines)+1)
	for _, line := range append([]string{title}, lines...) {
		parts = append(parts, escaped(line))
	}
	return `"` + strings.Join(parts, `\n`) + `"`
}

func quoted(text string) string { return `"` + escaped(Clean(text)) + `"` }

// escaped keeps a text inside the quotes of DOT, and its backslashes from being read as escapes of a label. Invalid
// UTF-8 is a question mark: some readers of DOT reject U+FFFD.
func escaped(text string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\uFFFD", "?").Replace(text)
}
