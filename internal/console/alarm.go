package console

import (
	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/alarm"
	"github.com/seed-56a03226/oneiros/internal/journal"
	"github.com/seed-56a03226/oneiros/internal/presence"
)

func (app *App) alarm() *cobra.Command {
	f := &wakeFlags{digest: journal.DigestOff}
	trigger := ""
	cmd := &cobra.Command{
		Use: "alarm", Short: "Raise an alarm by hand", GroupID: nights,
		Long: `Alarm does what a rule over the agent's feed does when it fires: an onset ends at once with what it
has caught, any other phase is interrupted, and the agent is awake for agent.alarm_hold. Unlike a client
it leaves the mood as it was, and it does not wake an agent that only sleeps: no dream begins for as
long.

Exit codes: 0 awake or held, 3 no such agent, 5 the store does not answer, or with --wait Temporal does not.`,
	}
	app.addAgentFlag(cmd)
	cmd.Flags().StringVar(&trigger, "trigger", "hand", "what raised it: a `name`, or feed/rule")
	cmd.Flags().BoolVar(&f.wait, "wait", false,
		"wait until Temporal has recorded it, and tell the four phases of the wake")
	app.completes(cmd, "trigger", nothing)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := alarm.ValidateTrigger(trigger); err != nil {
			return exit(Usage, "--trigger %w", err)
		}
		h, a, err := app.promptly(cmd)
		if err != nil {
			return err
		}
		return app.connect(cmd.Context(), h, a,
			Connection{Agent: a.ID, Client: "alarm/" + trigger, Cause: presence.Alarm, Trigger: trigger}, f)
	}
	return cmd
}
