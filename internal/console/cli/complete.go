package cli

import (
	"context"

	"github.com/spf13/cobra"
)

// Complete lends the app to a function that offers the words of a shell's completion.
func Complete(
	app *App,
	words func(*App, *cobra.Command, []string, string) ([]string, cobra.ShellCompDirective),
) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		return words(app, cmd, args, typed)
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
