// Package console is the command line: its commands, their tables and their exit codes.
package console

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/console/agentcmd"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/democmd"
	"github.com/seed-56a03226/oneiros/internal/console/dreamcmd"
	"github.com/seed-56a03226/oneiros/internal/console/evalcmd"
	"github.com/seed-56a03226/oneiros/internal/console/eventcmd"
	"github.com/seed-56a03226/oneiros/internal/console/feedcmd"
	"github.com/seed-56a03226/oneiros/internal/console/healthcmd"
	"github.com/seed-56a03226/oneiros/internal/console/memorycmd"
	"github.com/seed-56a03226/oneiros/internal/console/modelcmd"
	"github.com/seed-56a03226/oneiros/internal/console/predictioncmd"
	"github.com/seed-56a03226/oneiros/internal/console/reviewcmd"
	"github.com/seed-56a03226/oneiros/internal/console/roomcmd"
	"github.com/seed-56a03226/oneiros/internal/console/servecmd"
	"github.com/seed-56a03226/oneiros/internal/console/storecmd"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/console/wakecmd"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

// New builds the command tree.
func New(app *cli.App) *cobra.Command {
	root := &cobra.Command{
		Use:   "oneiros",
		Short: "AI agents that dream over their own memory, under a hard cap of money",
		Long: `Oneiros gives AI agents a memory and lets them dream over it while nobody uses them: each dream is a durable
Temporal workflow under a hard cap of money.

Try it without any configuration:  oneiros demo`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(app.In)
	root.SetOut(app.Out)
	root.SetErr(app.Err)
	if app.Flags != nil {
		root.PersistentFlags().AddFlagSet(app.Flags)
	}
	root.PersistentFlags().BoolVar(&app.Json, "json", false, "answer in JSON")
	root.SetFlagErrorFunc(cli.FlagError)
	root.AddGroup(&cobra.Group{ID: cli.DreamGroup, Title: "Dreams:"},
		&cobra.Group{ID: cli.MemoryGroup, Title: "Memory:"},
		&cobra.Group{ID: cli.RoomGroup, Title: "Rooms:"},
		&cobra.Group{ID: cli.DeploymentGroup, Title: "Deployment:"})
	agents := agentcmd.Agents(app)
	agents.AddCommand(roomcmd.Wake(app), roomcmd.Dormant(app), roomcmd.Dormancy(app))
	root.AddCommand(agents, roomcmd.Rooms(app), roomcmd.Say(app), servecmd.Bridge(app), servecmd.Hermes(app),
		servecmd.Chat(app))
	root.AddCommand(memorycmd.Memory(app), memorycmd.Playbook(app),
		predictioncmd.Morning(app), predictioncmd.Predictions(app), predictioncmd.Claims(app), dreamcmd.Fragments(app), dreamcmd.Scenarios(app), view.Journal(app),
		dreamcmd.Dreams(app), healthcmd.Spend(app), healthcmd.Config(app), healthcmd.Doctor(app),
		healthcmd.Version(app), cli.ExitCodes(), dreamcmd.Depth(app))
	root.AddCommand(reviewcmd.Review(app), healthcmd.Health(app))
	addDreamCommands(app, root)
	root.AddCommand(reviewcmd.Policy(app), evalcmd.Eval(app))
	root.AddCommand(storecmd.Codec(app), reviewcmd.Hooks(app), servecmd.ServerKeys(app))
	root.AddCommand(storecmd.Store(app))
	root.AddCommand(eventcmd.Events(app))
	root.AddCommand(modelcmd.Llama(app), modelcmd.Steering(app))
	root.SetHelpCommandGroupID(cli.DeploymentGroup)
	root.SetCompletionCommandGroupID(cli.DeploymentGroup)
	root.InitDefaultCompletionCmd()
	addExamples(root)
	app.CheckHelp(root)
	cli.CheckArguments(root)
	return root
}

// Run executes one command line and returns its exit code.
func Run(ctx context.Context, app *cli.App, args []string) int {
	out := &cli.Writer{W: app.Out}
	app.Out, app.Began = out, app.Now()
	root := New(app)
	root.SetArgs(args)
	app.Json = cli.WantsJSON(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		err = app.Misled
	}
	if err == nil && out.Fail != nil {
		err = fmt.Errorf("write the answer: %w", out.Fail)
	}
	if app.Deployment != nil && app.Deployment.Close != nil {
		if closing := app.Deployment.Close(); err == nil {
			err = closing
		}
	}
	if err == nil {
		return exit.OK
	}
	app.ReportError(cmd, err)
	return cli.Code(err)
}

func addDreamCommands(app *cli.App, root *cobra.Command) {
	root.AddCommand(dreamcmd.Dream(app), democmd.Demo(app), dreamcmd.Watch(app), wakecmd.Wake(app), wakecmd.Sleep(app),
		wakecmd.Alarm(app), feedcmd.Feed(app), feedcmd.Triggers(app), servecmd.Up(app), servecmd.ServeCommand(app),
		servecmd.Mcp(app), servecmd.Worker(app), servecmd.Ready(app))
}
