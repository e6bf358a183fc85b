package view

import (
	"errors"

	"github.com/seed-56a03226/oneiros/internal/hermes/api"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

// Trouble says why something cannot be shown, and what to do about it.
func Trouble(what string, err error, s Sheet) []string {
	d := draw(s)
	text, advice := troubleOf(what, err)
	d.text("", text, screen.Amber)
	if advice != "" {
		d.text("", advice, screen.Unpainted)
	}
	return d.lines
}

func troubleOf(what string, err error) (text, advice string) {
	role, isRole := errors.AsType[api.RoleError](err)
	refused, isRefused := errors.AsType[*api.Error](err)
	switch {
	case isRole && role.Need != "":
		text = "The " + what + " cannot be shown: this needs a key of the role " + role.Need + "."
		if role.Has != "" {
			text = "The " + what + " cannot be shown: this needs a key of the role " + role.Need +
				", and yours has the role " + role.Has + "."
		}
		return text, "A key is made on the server's machine with: oneiros keys add NAME --role " + role.Need
	case errors.Is(err, api.ErrMissing):
		return "The " + what + " cannot be shown: " + err.Error() + ".", ""
	case isRefused && refused.Status == 404:
		return "There is nothing of that name. " + refused.Error() + ".", ""
	case isRefused && refused.Status == 401:
		return "The " + what + " cannot be shown: " + refused.Error() + ".",
			"Give Hermes a key that `oneiros keys add NAME` has made."
	}
	return "The " + what + " cannot be shown: " + err.Error() + ".", "/doctor looks for the cause."
}

// Doctor shows the lines of a check. Each begins with a word for its level.
func Doctor(lines []api.Line, s Sheet) []string {
	d := draw(s)
	for _, line := range lines {
		mark, ink := "ok     ", screen.Green
		switch line.Level {
		case api.Note:
			mark, ink = "note   ", screen.Blue
		case api.Warning:
			mark, ink = "warning", screen.Amber
		case api.Failure:
			mark, ink = "failure", screen.Red
		}
		d.item(mark, ink, line.Name+": "+line.Says)
		if line.Fix != "" {
			d.text("          ", line.Fix, screen.Faint)
		}
	}
	if len(lines) == 0 {
		return d.nothing("Nothing was checked.")
	}
	return d.lines
}
