package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpOf prints a command's description and usage, as wide as the screen.
func (app *App) helpOf(c *cobra.Command) {
	text := c.Long
	if text == "" {
		text = c.Short
	}
	fmt.Fprintln(app.Out, app.reflowed(text))
	if c.Runnable() || c.HasSubCommands() {
		fmt.Fprintln(app.Out)
		app.usageOf(c)
	}
}

// reflowed wraps the paragraphs of a text for the screen. Examples and tables stay as they are.
func (app *App) reflowed(text string) string {
	if app.Width <= 0 {
		return strings.TrimSpace(text)
	}
	paragraphs := strings.Split(strings.TrimSpace(text), "\n\n")
	for i, p := range paragraphs {
		switch {
		case strings.HasPrefix(p, " "):
			paragraphs[i] = app.reflowedTable(p)
		case !strings.HasPrefix(p, "oneiros ") && !strings.Contains(p, "\n "):
			paragraphs[i] = Wrap(strings.ReplaceAll(p, "\n", " "), app.Width, "")
		}
	}
	return strings.Join(paragraphs, "\n\n")
}

// reflowedTable wraps the second column of lines that are too long.
func (app *App) reflowedTable(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if at := secondColumn(line); at > 0 && len(line) > app.Width {
			lines[i] = line[:at] + strings.TrimLeft(Wrap(line[at:], app.Width, strings.Repeat(" ", at)), " ")
		}
	}
	return strings.Join(lines, "\n")
}

// secondColumn is where the text after a gap of two spaces begins; 0 when there is no gap.
func secondColumn(line string) int {
	began := len(line) - len(strings.TrimLeft(line, " "))
	gap := strings.Index(line[began:], "  ")
	if gap < 0 {
		return 0
	}
	rest := line[began+gap:]
	return len(line) - len(strings.TrimLeft(rest, " "))
}

// usageOf prints how a command is used.
func (app *App) usageOf(c *cobra.Command) {
	w := app.Out
	fmt.Fprintln(w, "Usage:")
	if c.Runnable() && !c.HasSubCommands() {
		fmt.Fprintf(w, "  %s\n", c.UseLine())
	}
	if c.HasSubCommands() {
		command := "COMMAND"
		if c.HasParent() && c.Flags().Lookup("agent") != nil { // the parent can be run by itself, too
			command = "[COMMAND]"
		}
		fmt.Fprintf(w, "  %s %s [flags]\n", c.CommandPath(), command)
	}
	if len(c.Aliases) > 0 {
		fmt.Fprintf(w, "\nAliases:\n  %s\n", c.NameAndAliases())
	}
	if c.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", strings.TrimRight(c.Example, "\n"))
	}
	app.commandsOf(w, c)
	if c.HasAvailableLocalFlags() {
		fmt.Fprintln(w, "\nFlags:")
		app.flagsOf(w, c.LocalFlags())
	}
	if c.HasAvailableInheritedFlags() {
		fmt.Fprintln(w, "\nFlags of every command:")
		app.printBeside(w, len("      --json"), "      --json", "answer in JSON")
		var names []string
		c.InheritedFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "json" && !f.Hidden {
				names = append(names, "--"+f.Name)
			}
		})
		if len(names) > 0 {
			fmt.Fprintln(w, Wrap(strings.Join(names, ", ")+": see oneiros --help", app.Width, "      "))
		}
	}
	if c.HasSubCommands() {
		fmt.Fprintln(w,
			"\n"+Wrap(fmt.Sprintf("%s COMMAND --help explains a command.", c.CommandPath()), app.Width, ""))
	}
}

// commandsOf lists a command's subcommands, by group where there are groups.
func (app *App) commandsOf(w io.Writer, c *cobra.Command) {
	widest := 0
	for _, sub := range c.Commands() {
		widest = max(widest, len(sub.Name()))
	}
	list := func(title, group string, topics bool) {
		for _, sub := range c.Commands() {
			if topics != sub.IsAdditionalHelpTopicCommand() ||
				!topics && (!sub.IsAvailableCommand() && sub.Name() != "help" || sub.GroupID != group) {
				continue
			}
			if title != "" {
				fmt.Fprintf(w, "\n%s\n", title)
				title = ""
			}
			app.printBeside(w, widest+2, "  "+sub.Name(), sub.Short)
		}
	}
	for _, g := range c.Groups() {
		list(g.Title, g.ID, false)
	}
	if len(c.Groups()) == 0 {
		list("Commands:", "", false)
	}
	list("Further topics of oneiros help:", "", true)
}

// flagsOf lists flags, their values and their defaults.
func (app *App) flagsOf(w io.Writer, flags *pflag.FlagSet) {
	var pairs []string
	widest := 0
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		name := "      --" + f.Name
		if f.Shorthand != "" {
			name = fmt.Sprintf("  -%s, --%s", f.Shorthand, f.Name)
		}
		takes, text := FlagText(f)
		if takes != "" {
			name += " " + takes
		}
		pairs, widest = append(pairs, name, text), max(widest, len(name))
	})
	for i := 0; i < len(pairs); i += 2 {
		app.printBeside(w, widest, pairs[i], pairs[i+1])
	}
}

// FlagText is the value that a flag takes and its description.
func FlagText(f *pflag.Flag) (takes, text string) {
	takes, text = pflag.UnquoteUsage(f)
	if !strings.Contains(f.Usage, "`") {
		plain := map[string]string{
			"string": "word", "strings": "words", "int": "number", "uint": "number",
			"float": "number",
		}
		if word, ok := plain[takes]; ok {
			takes = word
		}
	}
	text = strings.Replace(strings.TrimPrefix(text, takes+": "), " ("+takes+")", "", 1)
	if def := f.DefValue; def != "" && def != "0" && def != "false" && def != "[]" && def != "0s" {
		text += fmt.Sprintf(" (default %s)", strings.Trim(def, "[]"))
	}
	return takes, text
}

// printBeside prints a name, and a text in a column beside it.
func (app *App) printBeside(w io.Writer, widest int, name, text string) {
	indent := strings.Repeat(" ", widest+gap)
	fmt.Fprintf(w, "%s%s%s\n", name, indent[len(name):], strings.TrimPrefix(Wrap(text, app.Width, indent), indent))
}
