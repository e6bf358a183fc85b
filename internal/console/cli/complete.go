package cli

import (
	"context"

	"github.com/spf13/cobra"
)

// FirstArgument completes the first argument of a command.
func FirstArgument(words func(*cobra.Command) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		cmd.SetContext(Existing(cmd))
		return words(cmd), cobra.ShellCompDirectiveNoFileComp
	}
}

// Nothing completes a flag that takes a new name, so that no files are offered.
func Nothing(*cobra.Command) []string { return nil }

// DreamsOffered is how many of the newest dreams a shell is offered.
const DreamsOffered = 20

// Existing returns the context of a completion.
func Existing(cmd *cobra.Command) context.Context {
	if ctx := cmd.Context(); ctx != nil {
		return ctx
	}
	return context.Background()
}
