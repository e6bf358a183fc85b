package view

import (
	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/console/cli"
)

// RuleNames completes the rules of the named feed, or of all feeds.
func RuleNames(app *cli.App, cmd *cobra.Command) []string {
	if app.Within(cmd.Context()) != nil {
		return nil
	}
	feeds, _ := app.Feeds.Feeds(cmd.Context())
	of, _ := cmd.Flags().GetString("feed")
	var names []string
	for _, f := range feeds {
		for _, r := range f.Rules {
			if (of == "" || of == f.Name) && !cli.OneOf(r.Name, names) {
				names = append(names, r.Name)
			}
		}
	}
	return names
}
