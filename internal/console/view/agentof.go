// Package view finds what several commands show and describes it: agents and their state, dreams, memories, clients and
// triggers.
package view

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

// AddAgentFlag adds --agent with completion to a command.
func AddAgentFlag(app *cli.App, cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringP("agent", "a", "", "the agent's `handle`; may be left out when there is only one")
	Completes(app, cmd, "agent", With(app, Handles))
	return cmd
}

// AgentOf finds the agent of a command: the named one, or the only one.
func AgentOf(app *cli.App, cmd *cobra.Command) (dream.Agent, error) {
	err := app.Within(cmd.Context())
	if err != nil {
		return dream.Agent{}, err
	}
	name, _ := cmd.Flags().GetString("agent")
	return FindAgent(cmd.Context(), app.Deployment, name)
}

// ForAgent gives a command the flag --agent, and runs it for that agent or the only one.
func ForAgent(app *cli.App, cmd *cobra.Command,
	run func(ctx context.Context, a dream.Agent, args []string) error,
) *cobra.Command {
	AddAgentFlag(app, cmd).RunE = func(cmd *cobra.Command, args []string) error {
		a, err := AgentOf(app, cmd)
		if err != nil {
			return err
		}
		return run(cmd.Context(), a, args)
	}
	return cmd
}

// ForItem gives a command the flag --agent, and runs it for the item of these kinds that its argument names.
func ForItem(app *cli.App, cmd *cobra.Command, run func(context.Context, dream.Agent, dream.Item) error,
	kinds ...dream.Kind,
) *cobra.Command {
	AddAgentFlag(app, cmd).RunE = func(cmd *cobra.Command, args []string) error {
		a, item, err := ItemOf(app, cmd, args[0], kinds...)
		if err != nil {
			return err
		}
		return run(cmd.Context(), a, item)
	}
	return cmd
}

// ForDream gives a command the flag --agent, and runs it for the dream that its argument names; without one for the
// newest.
func ForDream(app *cli.App, cmd *cobra.Command, run func(context.Context, dream.Agent, *dream.Record) error,
) *cobra.Command {
	cmd.ValidArgsFunction = CompleteDreams(app)
	AddAgentFlag(app, cmd).RunE = func(cmd *cobra.Command, args []string) error {
		a, record, err := RecordOf(app, cmd, append(args, "last")[0])
		if err != nil {
			return err
		}
		return run(cmd.Context(), a, record)
	}
	return cmd
}

// FindAgent finds an agent by handle; the only one when none is named.
func FindAgent(ctx context.Context, h *deploy.Deployment, name string) (dream.Agent, error) {
	if name != "" {
		a, err := h.Store.Agent(ctx, strings.TrimPrefix(name, "@"))
		if errors.Is(err, memory.ErrNotFound) {
			return a, exit.NotFoundf("there is no agent %q; oneiros agents list names them all", name)
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
		return dream.Agent{}, exit.NotFoundf("there is no agent yet; add one with oneiros agents add HANDLE")
	}
	return dream.Agent{},
		exit.Usagef("several agents are known (%s); say which one with --agent", strings.Join(HandlesOf(all), ", "))
}

// HandlesOf returns the handles of agents.
func HandlesOf(all []dream.Agent) []string {
	names := make([]string, len(all))
	for i, a := range all {
		names[i] = a.Handle
	}
	return names
}

// Completes sets the completion of a flag.
func Completes(app *cli.App, cmd *cobra.Command, flag string, words func(*cobra.Command) []string) {
	err := cmd.RegisterFlagCompletionFunc(flag,
		func(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			c.SetContext(cli.Existing(c))
			return words(c), cobra.ShellCompDirectiveNoFileComp
		})
	if err != nil { // the flag does not exist: an error of this package, found by its first test
		panic(err)
	}
}

// With lends the app to a function that completes a flag.
func With(app *cli.App, words func(*cli.App, *cobra.Command) []string) func(*cobra.Command) []string {
	return func(cmd *cobra.Command) []string { return words(app, cmd) }
}

// Handles completes agents; nothing when the store cannot be opened.
func Handles(app *cli.App, cmd *cobra.Command) []string {
	ctx := cli.Existing(cmd)
	if app.Within(ctx) != nil {
		return nil
	}
	all, _ := app.Store.Agents(ctx)
	return HandlesOf(all)
}

// Fixed completes a flag with fixed words.
func Fixed[S ~string](words []S) func(*cobra.Command) []string {
	return func(*cobra.Command) []string {
		list := make([]string, len(words))
		for i, w := range words {
			list[i] = string(w)
		}
		return list
	}
}

// Each runs f for the named agent, or for all when none is named.
func Each(app *cli.App, cmd *cobra.Command, f func(a dream.Agent) error) error {
	ctx := cmd.Context()
	err := app.Within(ctx)
	if err != nil {
		return err
	}
	if name, _ := cmd.Flags().GetString("agent"); name != "" {
		a, err := FindAgent(ctx, app.Deployment, name)
		if err != nil {
			return err
		}
		return f(a)
	}
	all, err := app.Store.Agents(ctx)
	if err != nil {
		return err
	}
	for _, a := range all {
		if err := f(a); err != nil {
			return err
		}
	}
	return nil
}
