package servecmd

import (
	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/hermes/program"
)

// Hermes builds the command oneiros hermes.
func Hermes(app *cli.App) *cobra.Command {
	p := program.ThisProcess("oneiros hermes")
	p.In, p.Out, p.Err = app.In, app.Out, app.Err
	p.Now = app.Now
	p.Terminal = p.Terminal && app.Terminal
	cmd := program.Command(p)
	cmd.GroupID = cli.RoomGroup
	return cmd
}
