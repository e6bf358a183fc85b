package view

import (
	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
)

// Connected completes the clients that hold a command's agent awake.
func Connected(app *cli.App, cmd *cobra.Command) []string {
	cmd.SetContext(cli.Existing(cmd))
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

// CompleteDreams completes the newest dreams of a command's agent, or of every agent, with the given statuses or any.
func CompleteDreams(app *cli.App, statuses []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		var ids []string
		if len(args) > 0 {
			return ids, cobra.ShellCompDirectiveNoFileComp
		}
		cmd.SetContext(cli.Existing(cmd))
		err := Each(app, cmd, func(a dream.Agent) error {
			found, err := app.Store.Find(cmd.Context(),
				memory.Query{
					Agent: a.ID, Kinds: []dream.Kind{dream.KindRecord}, Statuses: statuses,
					Limit: cli.DreamsOffered,
				})
			for _, item := range found {
				ids = append(ids, item.Header().ID)
			}
			return err
		})
		if err != nil { // no completion when the store cannot be read
			ids = nil
		}
		return ids, cobra.ShellCompDirectiveNoFileComp
	}
}
