package dreamcmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

func dreamsCancel(app *cli.App) *cobra.Command {
	var abandon, yes bool
	cmd := &cobra.Command{
		Use: "cancel DREAM", Short: "End a dream with what it has", Args: cobra.ExactArgs(1),
		Long: `Cancel ends a dream that is going on, at a token boundary; what it has made so far is kept. One that was woken and waits to be resumed ends for good.
DREAM is an id, a number of the agent's, or last: the newest that goes on or waits.

A dream holds its agent until the Temporal cluster it was begun on says that it is over. When that cluster
is gone for good, --abandon closes the dream without asking that cluster.`,
	}
	view.AddAgentFlag(app, cmd)
	cmd.ValidArgsFunction = view.CompleteDreams(app, string(dream.Dreaming), dream.RecordWaits)
	cmd.Flags().BoolVar(&abandon, "abandon", false,
		"the Temporal cluster of this dream is gone for good: close it without asking it")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask before a dream is abandoned")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		record, err := dreamToCancel(app, cmd, args[0])
		if err != nil {
			return err
		}
		if record.Outcome != dream.Dreaming && !record.Resumable() {
			return exit.NotFoundf("dream %s does not go on: it ended %s%s; its report is in oneiros dreams show %s",
				record.ID, cli.OutcomeOf(record), cli.ReasonOf(record), record.ID)
		}
		if abandon {
			question := fmt.Sprintf(
				"This closes dream %s without asking the cluster that carries it; should that one still run, the dream can write nothing more",
				record.ID)
			if err := app.Confirm(yes, question); err != nil {
				return err
			}
			return abandonDream(ctx, app, record)
		}
		engine, err := app.Backend.Reach(ctx, app.Deployment)
		if err != nil {
			return err
		}
		err = engine.Workflows().Cancel(ctx, record.ID)
		if errors.Is(err, memory.ErrNotFound) {
			err = notHere(record, engine.Workflows().ClusterID(), err)
		}
		if err := errors.Join(err, engine.Stop()); err != nil {
			return err
		}
		if app.Json {
			return app.Answer(map[string]string{"dream": record.ID, "requested": "cancel"})
		}
		app.Say("Dream %s was asked to end. Its report will be in: oneiros dreams show %s", record.ID, record.ID)
		return nil
	}
	return cmd
}

// dreamToCancel finds the record of a dream by its name; last is the newest one that can still be ended.
func dreamToCancel(app *cli.App, cmd *cobra.Command, name string) (*dream.Record, error) {
	if name != "last" {
		_, record, err := view.RecordOf(app, cmd, name)
		return record, err
	}
	a, err := view.AgentOf(app, cmd)
	if err != nil {
		return nil, err
	}
	items, err := app.Store.Find(cmd.Context(), memory.Query{
		Agent: a.ID, Kinds: []dream.Kind{dream.KindRecord},
		Statuses: []string{string(dream.Dreaming), dream.RecordWaits},
	})
	if err != nil {
		return nil, err
	}
	var pending *dream.Record
	for _, record := range memory.As[*dream.Record](items) {
		if record.Run != "" {
			return record, nil
		}
		if pending == nil {
			pending = record
		}
	}
	if pending == nil {
		return nil,
			exit.NotFoundf("no dream of %s goes on or waits to; oneiros dreams list -a %s names them", a.Handle,
				a.Handle)
	}
	return pending, nil
}

// notHere says how a dream ends that the cluster does not run.
func notHere(record *dream.Record, cluster string, err error) error {
	if activities.Elsewhere(record.Cluster, cluster) {
		return fmt.Errorf("%w; it was begun on another Temporal cluster, %s: if that one is gone for good, %s",
			err, record.Cluster, activities.Abandoning(record.ID))
	}
	return fmt.Errorf("%w; a worker closes it within five minutes, and oneiros dreams cancel %s --abandon at once",
		err, record.ID)
}

// abandonDream closes the record of a dream at the user's request.
func abandonDream(ctx context.Context, app *cli.App, record *dream.Record) error {
	if err := app.Backend.Abandon(ctx, app.Deployment, record.Agent, record.ID); errors.Is(err, memory.ErrNotFound) {
		return exit.NotFoundf("%w", err)
	} else if err != nil {
		return err
	}
	if app.Json {
		return app.Answer(map[string]string{"dream": record.ID, "requested": "abandon"})
	}
	app.Say("Dream %s is closed, and its agent may dream again.", record.ID)
	return nil
}
