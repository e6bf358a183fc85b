package view

import (
	"github.com/seed-56a03226/oneiros/internal/console/cli"
)

// Onward is the command that continues the dreams of a deployment.
func Onward(app *cli.App) string {
	if app.Again != "" {
		return app.Again + " again, or oneiros up" + app.Option()
	}
	return "oneiros up" + app.Option()
}
