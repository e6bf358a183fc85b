package console

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

// nothing completes a flag that takes a new name, so that no files are offered.
func nothing(*cobra.Command) []string { return nil }

// connected completes the clients that hold a command's agent awake.
func (app *App) connected(cmd *cobra.Command) []string {
	cmd.SetContext(existing(cmd))
	h, a, err := app.agentOf(cmd)
	if err != nil {
		return nil
	}
	s, err := app.status(cmd.Context(), h, a)
	if err != nil {
		return nil
	}
	var names []string
	for _, l := range s.Leases {
		names = append(names, l.Client)
	}
	return names
}

// dreamsOffered is how many of the newest dreams a shell is offered.
const dreamsOffered = 20

// completeDreams completes the newest dreams of a command's agent, or of every agent, with the given statuses or any.
func (app *App) completeDreams(statuses []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		var ids []string
		if len(args) > 0 {
			return ids, cobra.ShellCompDirectiveNoFileComp
		}
		cmd.SetContext(existing(cmd))
		err := app.each(cmd, func(h *Deployment, a dream.Agent) error {
			found, err := h.Store.Find(cmd.Context(),
				memory.Query{
					Agent: a.ID, Kinds: []dream.Kind{dream.KindRecord}, Statuses: statuses,
					Limit: dreamsOffered,
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

func existing(cmd *cobra.Command) context.Context {
	if ctx := cmd.Context(); ctx != nil {
		return ctx
	}
	return context.Background()
}
