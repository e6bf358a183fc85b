package wakecmd

import (
	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/alarm"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/journal"
	"github.com/seed-56a03226/oneiros/starter"
)

// Alarm builds the command oneiros alarm.
func Alarm(app *cli.App) *cobra.Command {
	f := &wakeFlags{digest: journal.DigestOff}
	trigger := ""
	cmd := &cobra.Command{
		Use: "alarm", Short: "Raise an alarm by hand", GroupID: cli.DreamGroup,
		Long: `Alarm does what a rule over the agent's feed does when it fires: an onset ends at once with what it
has caught, any other phase is interrupted, and the agent is awake for agent.alarm_hold. Unlike a client
it leaves the mood as it was, and it does not wake an agent that only sleeps: no dream begins for as
long.

Exit codes: 0 awake or held, 3 no such agent, 5 the store does not answer, or with --wait Temporal does not.`,
	}
	view.AddAgentFlag(app, cmd)
	cmd.Flags().StringVar(&trigger, "trigger", "hand", "what raised it: a `name`, or feed/rule")
	cmd.Flags().BoolVar(&f.wait, "wait", false,
		"wait until Temporal has recorded it, and show the four phases of the wake")
	view.Completes(app, cmd, "trigger", cli.Nothing)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := alarm.ValidateTrigger(trigger); err != nil {
			return exit.Usagef("--trigger %w", err)
		}
		a, err := view.Promptly(app, cmd)
		if err != nil {
			return err
		}
		return connect(cmd.Context(), app, a,
			starter.Connection{Agent: a.ID, Client: "alarm/" + trigger, Cause: presence.Alarm, Trigger: trigger}, f)
	}
	return cmd
}
