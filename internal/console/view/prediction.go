package view

import (
	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/console/cli"
)

// RuleNames completes the rules of the named feed, or of all feeds.
func RuleNames(app *cli.App, cmd *cobra.Command) []string {
	cmd.SetContext(cli.Existing(cmd))
	err := app.Within(cmd.Context())
	if err != nil {
		return nil
	}
	feeds, err := app.Feeds.Feeds(cmd.Context())
	if err != nil {
		return nil
	}
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
