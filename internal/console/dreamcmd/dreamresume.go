package dreamcmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

func dreamsResume(app *cli.App) *cobra.Command {
	var watch bool
	cmd := &cobra.Command{
		Use: "resume [DREAM]", Short: "Let a dream go on that was woken", Args: cobra.MaximumNArgs(1),
		Long: `Resume lets a dream go on that was woken, without waiting for quiet: under the same id, from what it had
finished, with what is left of its money. DREAM is an id, a number of the agent's, or last; when none is
named, it is the agent's interrupted one. It is refused while somebody holds the agent awake.

Exit codes: 0 it goes on, 3 no dream waits to be resumed, 4 somebody holds the agent awake or it dreams
already, 5 Temporal or the store does not answer; with --watch those of oneiros watch.`,
	}
	view.AddAgentFlag(app, cmd)
	cmd.ValidArgsFunction = view.CompleteDreams(app, dream.RecordWaits)
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "follow it to its report")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		a, record, err := interrupted(app, cmd, args)
		if err != nil {
			return err
		}
		if err := mayDream(cmd.Context(), app, a); err != nil {
			return err
		}
		return resume(cmd.Context(), app, a, record, watch)
	}
	return cmd
}

// interrupted finds the dream to resume.
func interrupted(app *cli.App, cmd *cobra.Command, args []string) (dream.Agent, *dream.Record, error) {
	if len(args) == 1 {
		a, record, err := view.RecordOf(app, cmd, args[0])
		if err == nil && !view.MayGoOn(app, record) {
			why := cli.OutcomeOf(record)
			if text := view.Reason(app, record, a.Zone); text != "" {
				why += ": " + text
			}
			err = exit.NotFoundf("dream %s does not wait to be resumed (%s)", record.ID, why)
		}
		return a, record, err
	}
	a, err := view.AgentOf(app, cmd)
	if err != nil {
		return a, nil, err
	}
	record, err := view.Resumable(cmd.Context(), app, a)
	if err == nil && record == nil {
		err = exit.NotFoundf("no dream of %s waits to be resumed", a.Handle)
	}
	return a, record, err
}

func resume(ctx context.Context, app *cli.App, a dream.Agent, record *dream.Record, watch bool) error {
	engine, err := app.Backend.Reach(ctx, app.Deployment)
	if err != nil {
		return err
	}
	goOn := func() error {
		if err := resumeDream(ctx, engine, a.ID, record.ID); err != nil {
			return fmt.Errorf("resume %s: %w", record.ID, err)
		}
		if watch {
			announce(app, a)
		}
		return goesOn(ctx, app, a, engine, record.ID, watch, "goes on")
	}
	return errors.Join(goOn(), engine.Stop())
}

// resumeDream continues an interrupted dream. It fails when the agent's workflow continued another one.
func resumeDream(ctx context.Context, engine deploy.Engine, agent, dreamID string) error {
	begun, err := engine.Workflows().Resume(ctx, agent)
	if err == nil && begun.Dream != dreamID {
		err = exit.NotFoundf("%s is no longer waiting; %s was resumed instead", dreamID, begun.Dream)
	}
	return err
}
