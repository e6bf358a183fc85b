package console

import (
	"strings"
)

// outerFlags are the --data-dir and --config of this command line, for commands that are suggested.
func (app *App) outerFlags() string {
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

// option is the flag that other commands need to reach this deployment.
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

// quotedArg quotes a word for a shell.
func quotedArg(word string) string {
	if strings.ContainsAny(word, " \t'\"\\$`") {
		word = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}

// onward is the command that continues the dreams of a deployment.
func (app *App) onward(h *Deployment) string {
	if app.again != "" {
		return app.again + " again, or oneiros up" + h.option()
	}
	return "oneiros up" + h.option()
}
