package view

import (
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/review"
)

// Reviewing returns the reviewer of a deployment.
func Reviewing(app *cli.App) review.Reviewer {
	return review.Reviewer{Memory: app.Store, Now: app.Now, MaxStaged: app.Knobs.MaxStaged}
}
