package view

import (
	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
)

// Connected completes the clients that hold a command's agent awake.
func Connected(app *cli.App, cmd *cobra.Command) []string {
	a, err := AgentOf(app, cmd)
	if err != nil {
		return nil
	}
	s, err := Status(cmd.Context(), app, a)
	if err != nil {
		return nil
	}
	var names []string
	for _, l := range s.Leases {
		names = append(names, l.Client)
	}
	return names
}

// CompleteDreams completes the newest dreams of a command's agent, or of every agent, with these statuses or any.
func CompleteDreams(app *cli.App, statuses ...string) cobra.CompletionFunc {
	return CompleteItems(app, memory.Query{Kinds: []dream.Kind{dream.KindRecord}, Statuses: statuses})
}

// CompleteItems completes the items that a query finds in the memory of a command's agent, or of every agent.
func CompleteItems(app *cli.App, q memory.Query) cobra.CompletionFunc {
	return cli.FirstArgument(func(cmd *cobra.Command) []string { return ItemIDs(app, cmd, q) })
}

// ItemIDs are the ids of the first items that a query finds; nothing when the store cannot be read.
func ItemIDs(app *cli.App, cmd *cobra.Command, q memory.Query) []string {
	var ids []string
	q.Limit = cli.DreamsOffered
	err := Each(app, cmd, func(a dream.Agent) error {
		q.Agent = a.ID
		found, err := app.Store.Find(cmd.Context(), q)
		for _, item := range found {
			ids = append(ids, item.Header().ID)
		}
		return err
	})
	if err != nil {
		return nil
	}
	return ids
}
