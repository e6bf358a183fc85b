package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed-56a03226/oneiros/config"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

// argumentError explains what is wrong with the arguments that are no flags.
func argumentError(c *cobra.Command, args []string) error {
	name, places, _ := strings.Cut(c.Use, " ")
	wanted := strings.Fields(places)
	if c.HasSubCommands() {
		return unknown(c, args[0])
	}
	used := strings.TrimSuffix(c.CommandPath(), name) + c.Use
	if len(wanted) == 0 {
		hint := ""
		if c.Flags().Lookup("agent") != nil {
			hint = "; an agent is named with --agent " + args[0]
		}
		return exit.Usagef("%s has no place for %q%s", c.CommandPath(), args[0], hint)
	}
	if len(args) < len(wanted) {
		return exit.Usagef("%s lacks %s; it is used as %q", c.CommandPath(),
			strings.Join(wanted[len(args):], " and "), used)
	}
	return exit.Usagef("%s has no place for %q; it is used as %q", c.CommandPath(), args[len(wanted)], used)
}

// FlagError explains what is wrong with a flag, as the user wrote it.
func FlagError(c *cobra.Command, err error) error {
	var absent *pflag.NotExistError
	var bad *pflag.InvalidValueError
	var bare *pflag.ValueRequiredError
	switch {
	case errors.As(err, &absent):
		name := absent.GetSpecifiedName()
		if shorts := absent.GetSpecifiedShortnames(); shorts != "" {
			return exit.Usagef("unknown flag: -%s", shorts)
		}
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		hint := ""
		if near := Nearest(name, names); near != "" {
			hint = "; did you mean --" + near + "?"
		}
		return exit.Usagef("unknown flag: --%s%s", name, hint)
	case errors.As(err, &bad):
		must := map[string]string{
			"int": "a whole number", "int64": "a whole number",
			"uint64": "a whole number, 0 or more", "float64": "a number", "bool": "true or false",
		}
		if what := must[bad.GetFlag().Value.Type()]; what != "" {
			return exit.Usagef("--%s is %q; it must be %s", bad.GetFlag().Name, bad.GetValue(), what)
		}
		return exit.Usagef("--%s: %w", bad.GetFlag().Name, bad.Unwrap())
	case errors.As(err, &bare):
		return exit.Usagef("--%s needs a value", bare.GetFlag().Name)
	}
	return exit.AsUsage(err)
}

// Nearest is the word that was most likely meant; empty when none is near.
func Nearest(word string, words []string) string {
	best, least := "", max(2, len(word)/3)+1
	for _, w := range words {
		if d := config.Distance(strings.ToLower(word), strings.ToLower(w)); d < least {
			best, least = w, d
		}
	}
	return best
}

// CheckUTF8 refuses text that is not UTF-8, since it would be stored as another text.
func CheckUTF8(what, text string) error {
	if utf8.ValidString(text) {
		return nil
	}
	return exit.Usagef("%s is not UTF-8 text: %q", what, text)
}

// WantsJSON reports whether a command line asks for JSON, even one that cannot be parsed.
func WantsJSON(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.Contains(args, "--json") || slices.Contains(args, "--json=true")
}

// errorText is an error's message, wrapped to the screen.
func (app *App) errorText(err error) string {
	lines := strings.Split("oneiros: "+strings.TrimSpace(err.Error()), "\n")
	for i, line := range lines {
		indent := ""
		if i > 0 {
			indent = "  "
		}
		lines[i] = indent + line
		if app.Terminal && app.Width > 0 {
			lines[i] = Wrap(line, app.Width, indent)
		}
	}
	return fmt.Sprintln(strings.Join(lines, "\n"))
}
