package view

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/console/cli"
)

// Stamp formats a time near now in this machine's zone.
func Stamp(app *cli.App, t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return cli.Clock(t, app.Now(), app.Zone)
}

// FeedNames completes feeds; nothing when the store cannot be opened.
func FeedNames(app *cli.App, cmd *cobra.Command) []string {
	if app.Within(cmd.Context()) != nil {
		return nil
	}
	all, _ := app.Feeds.Feeds(cmd.Context())
	names := make([]string, len(all))
	for i, f := range all {
		names[i] = f.Name
	}
	return names
}
