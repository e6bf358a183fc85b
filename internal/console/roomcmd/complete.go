package roomcmd

import (
	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
)

// words completes an argument.
type words func(app *cli.App, cmd *cobra.Command, args []string) []string

// completes completes the arguments of a command, one after another; those beyond are offered nothing.
func completes(app *cli.App, each ...words) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= len(each) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		cmd.SetContext(cli.Existing(cmd))
		return each[len(args)](app, cmd, args), cobra.ShellCompDirectiveNoFileComp
	}
}

// rooms completes the id of a room; nothing when the store cannot be read.
func rooms(app *cli.App, cmd *cobra.Command, _ []string) []string {
	if app.Within(cmd.Context()) != nil || app.Rooms == nil {
		return nil
	}
	all, err := app.Rooms.List(cmd.Context(), room.AsOperator)
	if err != nil {
		return nil
	}
	ids := make([]string, len(all))
	for i, r := range all {
		ids[i] = r.ID
	}
	return ids
}

func agents(app *cli.App, cmd *cobra.Command, _ []string) []string { return view.Handles(app, cmd) }

// members completes a member of the room that is the first argument.
func members(app *cli.App, cmd *cobra.Command, args []string) []string {
	if app.Within(cmd.Context()) != nil || app.Rooms == nil {
		return nil
	}
	all, err := app.Rooms.Members(cmd.Context(), room.AsOperator, args[0])
	if err != nil {
		return nil
	}
	names := make([]string, len(all))
	for i, m := range all {
		names[i] = m.Name
	}
	return names
}

func levels(*cli.App, *cobra.Command, []string) []string {
	names := make([]string, len(dormancy.Levels))
	for i, l := range dormancy.Levels {
		names[i] = string(l)
	}
	return names
}

func flagRooms(app *cli.App) func(*cobra.Command) []string {
	return func(cmd *cobra.Command) []string {
		cmd.SetContext(cli.Existing(cmd))
		return rooms(app, cmd, nil)
	}
}

func flagAgents(app *cli.App) func(*cobra.Command) []string {
	return func(cmd *cobra.Command) []string { return view.Handles(app, cmd) }
}
