package view

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
)

// SpeakingAs lists the ids of the keys that already speak as a principal; none for the empty principal.
func SpeakingAs(ctx context.Context, app *cli.App, principal string) ([]string, error) {
	if principal == "" {
		return nil, nil
	}
	keys, err := app.Keys.Keys(ctx)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, k := range keys {
		if k.PrincipalName() == principal {
			ids = append(ids, k.ID)
		}
	}
	return ids, nil
}

// Principals completes principals; nothing when the store cannot be opened.
func Principals(app *cli.App, cmd *cobra.Command) []string {
	if app.Within(cli.Existing(cmd)) != nil {
		return nil
	}
	keys, _ := app.Keys.Keys(cli.Existing(cmd))
	names := []string{access.Local}
	for _, k := range keys {
		names = append(names, k.PrincipalName())
	}
	slices.Sort(names)
	return slices.Compact(names)
}
