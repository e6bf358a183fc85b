package console_test

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/console"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

// Every command that does something shows an example that it takes, at most 80 columns wide.
func TestTheHelpOfEveryCommandHasAnExampleThatItTakes(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	require.Equal(t, exit.OK, d.run(80, "--help"))
	commands := 0
	var look func(c *cobra.Command)
	look = func(c *cobra.Command) {
		if c.Name() == "completion" || c.Name() == "help" || c.IsAdditionalHelpTopicCommand() {
			return // cobra's own, and what is only read
		}
		if c.Runnable() && !c.HasSubCommands() {
			commands++
			require.NotEmpty(t, c.Example, "%s shows no example", c.CommandPath())
			require.NoError(t, takes(d, c.Example), c.CommandPath())
			require.Contains(t, c.Example, c.CommandPath())
		}
		for _, line := range strings.Split(c.Example, "\n") {
			require.LessOrEqual(t, len(line), 80, c.CommandPath())
		}
		for _, sub := range c.Commands() {
			look(sub)
		}
	}
	look(console.New(d.app))
	require.Greater(t, commands, 70)
	require.Error(t, takes(d, "  oneiros memory search -a iris --frobnicate x"), "a flag that there is not")
	require.Error(t, takes(d, "  oneiros memory undo -a iris"), "an argument that lacks")
}

// takes says whether each command line of an example is one that the program takes.
func takes(d *fixture, example string) error {
	for _, line := range strings.Split(strings.ReplaceAll(example, "\\\n", " "), "\n") {
		line, _, _ = strings.Cut(line, "  #")
		line, _, _ = strings.Cut(line, " | ") // a pipe
		line, _, _ = strings.Cut(line, " > ")
		line, _, _ = strings.Cut(line, " >> ")
		c, args, err := console.New(d.app).Find(words(line)[1:])
		if err != nil {
			return err
		}
		if err := c.ParseFlags(args); err != nil {
			return err
		}
		if err := c.ValidateArgs(c.Flags().Args()); err != nil {
			return err
		}
	}
	return nil
}

// words splits a command line as a shell does, with quotes and without expansions.
func words(line string) []string {
	var all []string
	word, quote, open := "", rune(0), false
	for _, r := range line + " " {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word += string(r)
		case r == '"' || r == '\'':
			quote, open = r, true
		case r == ' ' && (word != "" || open):
			all, word, open = append(all, word), "", false
		case r != ' ':
			word += string(r)
		}
	}
	return all
}
