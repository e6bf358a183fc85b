package cli

import (
	"github.com/seed-56a03226/oneiros/internal/deploy"
)

// OuterFlags are the --data-dir and --config of this command line, for commands that are suggested.
func (app *App) OuterFlags() string {
	if app.Flags == nil {
		return ""
	}
	given := func(name string) string {
		if flag := app.Flags.Lookup(name); flag != nil && flag.Changed {
			return flag.Value.String()
		}
		return ""
	}
	return (&deploy.Deployment{Dir: given("data-dir"), File: given("config")}).Option()
}
