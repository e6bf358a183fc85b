package console

import (
	_ "embed"
	"strings"
	"sync"

	"github.com/spf13/cobra"
)

//go:embed examples.txt
var examplesFile string

// examples are shown in the help of a command that states none of its own, by the command's path below oneiros. In the
// file, the path stands before a colon, and the example below it is indented as help shows it.
var examples = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	for part := range strings.SplitSeq(strings.TrimSpace(examplesFile), "\n\n") {
		path, text, _ := strings.Cut(part, ":\n")
		all[path] = text
	}
	return all
})

// addExamples gives each command that has no example the one of the file.
func addExamples(c *cobra.Command) {
	if c.Example == "" {
		c.Example = examples()[pathBelow(c)]
	}
	for _, sub := range c.Commands() {
		addExamples(sub)
	}
}

// pathBelow is a command's path without the program's name.
func pathBelow(c *cobra.Command) string {
	return strings.TrimPrefix(c.CommandPath(), c.Root().Name()+" ")
}
