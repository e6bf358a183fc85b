package console

import (
	"strings"
)

// outer is the --data-dir that this command line was given.
func (app *App) outer() string {
	if app.Flags == nil {
		return ""
	}
	if flag := app.Flags.Lookup("data-dir"); flag != nil && flag.Changed {
		return (&House{Dir: flag.Value.String()}).option()
	}
	return ""
}

// option is what a command line needs beside the rest to find this house.
func (h *House) option() string {
	if h.Dir == "" {
		return ""
	}
	return " --data-dir " + quotedArg(h.Dir)
}

// quotedArg is a word of a command line as a shell must be given it.
func quotedArg(word string) string {
	if strings.ContainsAny(word, " \t'\"\\$`") {
		word = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}

// onward is the command that carries on the dreams of a house.
func (app *App) onward(h *House) string {
	if app.again != "" {
		return app.again + " again, or oneiros up" + h.option()
	}
	return "oneiros up" + h.option()
}
