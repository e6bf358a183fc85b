package console

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

// addAgentFlag adds --agent with completion to a command.
func (app *App) addAgentFlag(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringP("agent", "a", "", "the agent's `handle`; may be left out when there is only one")
	app.completes(cmd, "agent", app.handles)
	return cmd
}

// agentOf finds the agent of a command: the named one, or the only one.
func (app *App) agentOf(cmd *cobra.Command) (*Deployment, dream.Agent, error) {
	h, err := app.within(cmd.Context())
	if err != nil {
		return nil, dream.Agent{}, err
	}
	name, _ := cmd.Flags().GetString("agent")
	a, err := findAgent(cmd.Context(), h, name)
	return h, a, err
}

func findAgent(ctx context.Context, h *Deployment, name string) (dream.Agent, error) {
	if name != "" {
		a, err := h.Store.Agent(ctx, strings.TrimPrefix(name, "@"))
		if errors.Is(err, memory.ErrNotFound) {
			return a, exit(NotFound, "there is no agent %q; oneiros agents list names them all", name)
		}
		return a, err
	}
	all, err := h.Store.Agents(ctx)
	switch {
	case err != nil:
		return dream.Agent{}, err
	case len(all) == 1:
		return all[0], nil
	case len(all) == 0:
		return dream.Agent{}, exit(NotFound, "there is no agent yet; add one with oneiros agents add HANDLE")
	}
	return dream.Agent{},
		exit(Usage, "several agents are known (%s); say which one with --agent", strings.Join(handlesOf(all), ", "))
}

func handlesOf(all []dream.Agent) []string {
	names := make([]string, len(all))
	for i, a := range all {
		names[i] = a.Handle
	}
	return names
}

// completes sets the completion of a flag.
func (app *App) completes(cmd *cobra.Command, flag string, words func(*cobra.Command) []string) {
	err := cmd.RegisterFlagCompletionFunc(flag,
		func(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			return words(c), cobra.ShellCompDirectiveNoFileComp
		})
	if err != nil { // the flag does not exist: an error of this package, found by its first test
		panic(err)
	}
}

// handles completes agents; nothing when the store cannot be opened.
func (app *App) handles(cmd *cobra.Command) []string {
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	h, err := app.within(ctx)
	if err != nil {
		return nil
	}
	all, err := h.Store.Agents(ctx)
	if err != nil {
		return nil
	}
	return handlesOf(all)
}

func fixed[S ~string](words []S) func(*cobra.Command) []string {
	return func(*cobra.Command) []string {
		list := make([]string, len(words))
		for i, w := range words {
			list[i] = string(w)
		}
		return list
	}
}

// each runs f for the named agent, or for all when none is named.
func (app *App) each(cmd *cobra.Command, f func(h *Deployment, a dream.Agent) error) error {
	h, err := app.within(cmd.Context())
	if err != nil {
		return err
	}
	if name, _ := cmd.Flags().GetString("agent"); name != "" {
		a, err := findAgent(cmd.Context(), h, name)
		if err != nil {
			return err
		}
		return f(h, a)
	}
	all, err := h.Store.Agents(cmd.Context())
	if err != nil {
		return err
	}
	for _, a := range all {
		if err := f(h, a); err != nil {
			return err
		}
	}
	return nil
}
