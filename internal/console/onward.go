package console

import (
	"strings"
)

// outer are the --data-dir and the --config that this command line was given.
func (app *App) outer() string {
	if app.Flags == nil {
		return ""
	}
	given := func(name string) string {
		if flag := app.Flags.Lookup(name); flag != nil && flag.Changed {
			return flag.Value.String()
		}
		return ""
	}
	return (&Deployment{Dir: given("data-dir"), File: given("config")}).option()
}

// option is what a command line needs beside the rest to find this house.
func (h *Deployment) option() string {
	text := ""
	if h.Dir != "" {
		text = " --data-dir " + quotedArg(h.Dir)
	}
	if h.File != "" {
		text += " --config " + quotedArg(h.File)
	}
	return text
}

// quotedArg is a word of a command line as a shell must be given it.
func quotedArg(word string) string {
	if strings.ContainsAny(word, " \t'\"\\$`") {
		word = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}

// onward is the command that carries on the dreams of a house.
func (app *App) onward(h *Deployment) string {
	if app.again != "" {
		return app.again + " again, or oneiros up" + h.option()
	}
	return "oneiros up" + h.option()
}
