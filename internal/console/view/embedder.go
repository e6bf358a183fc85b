package view

import (
	"context"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/deploy"
)

// ModelOf is the agent's model for a role: its own, or the configured one.
func ModelOf(app *cli.App, a dream.Agent, role dream.Role) string {
	if name := a.Models[role]; name != "" {
		return name
	}
	return app.Roles[role]
}

// EmbedderOf is the embedder that serves an agent now.
func EmbedderOf(ctx context.Context, app *cli.App, a dream.Agent) (inference.Spec, error) {
	space, err := app.Store.Space(ctx, a.ID)
	if err != nil {
		return inference.Spec{}, err
	}
	return inference.EmbedderIn(app.Catalog, a.Models[dream.Embedder], app.Roles[dream.Embedder], space)
}

// OfferEmbedder says which agents could change to the usual embedder, and how. Errors are ignored: the checks of the
// store report them.
func OfferEmbedder(ctx context.Context, app *cli.App, only string) {
	usual, err := app.Catalog.Lookup(app.Roles[dream.Embedder])
	if err != nil {
		return
	}
	behind, err := deploy.Behind(ctx, app.Store, usual)
	if err != nil {
		return
	}
	for _, handle := range behind {
		if only == "" || only == handle {
			app.Note(
				"The memory of %s was placed by another embedder than %s, and is still served by that one. To change over: oneiros memory embed --agent %s",
				handle,
				usual.Name,
				handle,
			)
		}
	}
}

// NoteOtherEmbedder warns that the named embedder is not the one of the agent's memories.
func NoteOtherEmbedder(ctx context.Context, app *cli.App, a dream.Agent) error {
	space, err := app.Store.Space(ctx, a.ID)
	if err != nil || space == "" {
		return err
	}
	if spec, err := app.Catalog.Lookup(ModelOf(app, a, dream.Embedder)); err == nil && !spec.Makes(space) {
		app.Note(
			"Its memories lie in space %s, which %s does not make. Before it can search or dream again: oneiros memory embed --agent %s",
			space, spec.Name, a.Handle)
	}
	return nil
}
