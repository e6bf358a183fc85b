package console_test

import (
	"strings"
	"testing"

	"github.com/rivo/uniseg"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/console"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

func TestTheHelpOfEveryCommandFitsTheScreen(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	require.Equal(t, exit.OK, d.run(80, "--help"))
	d.golden("help-80")
	var ask func(c *cobra.Command)
	ask = func(c *cobra.Command) {
		if c.Name() == "completion" {
			return // cobra's own words
		}
		words := append(strings.Fields(c.CommandPath())[1:], "--help")
		require.Equal(t, exit.OK, d.run(80, words...), "%v: %s", words, d.err.String())
		text := d.out.String()
		for _, line := range strings.Split(text, "\n") {
			require.LessOrEqual(t, uniseg.StringWidth(line), 80, "%v: %q", words, line)
		}
		require.NotContains(t, text, "`", words)
		for _, sub := range c.Commands() {
			ask(sub)
		}
	}
	ask(console.New(d.app))
}

func TestHelpSaysOnceWhatAFlagTakes(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	require.Equal(t, exit.OK, d.run(80, "predictions", "add", "--help"))
	d.golden("help-predictions-add-80")
	require.Equal(t, exit.OK, d.run(0, "events", "--help"))
	d.golden("help-events")
}

func TestEveryCommandTakesTheArgumentsThatItNames(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	require.Equal(t, exit.OK, d.run(80, "--help"))
	var ask func(c *cobra.Command)
	ask = func(c *cobra.Command) {
		if c.Name() == "completion" || c.Name() == "help" {
			return // cobra's own
		}
		places := strings.Fields(c.Use)[1:]
		if c.Runnable() && !c.HasSubCommands() && len(places) > 0 {
			require.NoError(t, c.Args(c, places), c.CommandPath())
		}
		for _, sub := range c.Commands() {
			ask(sub)
		}
	}
	ask(console.New(d.app))
}
