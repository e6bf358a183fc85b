package view

import (
	"context"

	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// MemoriesByPrincipal counts the live memories that all agents have of each principal.
func MemoriesByPrincipal(ctx context.Context, app *cli.App) (map[string]int, error) {
	agents, err := app.Store.Agents(ctx)
	if err != nil {
		return nil, err
	}
	kept := map[string]int{}
	for _, a := range agents {
		counts, err := app.Store.Owners(ctx, a.ID)
		if err != nil {
			return nil, err
		}
		for origin, n := range counts {
			if o, ok := psyche.OwnerOf(origin); ok {
				kept[o.Principal] += n
			}
		}
	}
	return kept, nil
}
