package dreamcmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/starter"
)

func dreamsRedream(app *cli.App) *cobra.Command {
	f := &dreamFlags{}
	var from string
	cmd := &cobra.Command{
		Use: "redream DREAM", Short: "Repeat a dream from one of its phases on", Args: cobra.ExactArgs(1),
		Long: `Redream begins a dream that takes over what the phases of DREAM before --from have made, and dreams the
others anew. What it takes over is named, not copied: DREAM and everything it made stay as they are. What is
dreamt anew is paid anew, under the same caps. The record of the new night, its report and watch say what it
goes on from.

DREAM is an id, a number of the agent's, or last. It must be over; one that was undone, and one that kept
nothing before --from, is refused.

Exit codes: as those of oneiros dream.`,
	}
	view.AddAgentFlag(app, cmd)
	cmd.ValidArgsFunction = view.CompleteDreams(app)
	fs := cmd.Flags()
	fs.StringVar(&from, "from", "", "the first `phase` to repeat: nrem, rem, integration or return")
	fs.StringVar(&f.tier, "tier", "", "core or hardened; that of DREAM when absent")
	fs.StringVar(&f.budget, "budget", "", "hard cap of this dream in `dollars`, at most the agent's own")
	fs.StringVar(&f.seed, "seed", "", "a `number`; drawn when absent")
	fs.BoolVar(&f.estimate, "estimate", false, "say what it may cost and stop")
	fs.BoolVarP(&f.watch, "watch", "w", false, "follow it to its report")
	fs.BoolVarP(&f.yes, "yes", "y", false, "agree to the estimate without being asked")
	view.Completes(app, cmd, "from", view.Fixed(dream.Redreamt))
	view.Completes(app, cmd, "tier", view.Fixed([]dream.Tier{dream.Core, dream.Hardened}))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		w, err := f.request()
		if err != nil {
			return err
		}
		if !cli.OneOf(from, dream.Redreamt) {
			return exit.Usagef(
				"--from %q must be nrem, rem, integration or return; an onset anew is another dream (oneiros dream)",
				from)
		}
		a, record, err := view.RecordOf(app, cmd, args[0])
		if err != nil {
			return err
		}
		w.Agent = a.Handle
		if err := affordable(a, w); err != nil {
			return err
		}
		return redream(cmd.Context(), app, a,
			starter.RedreamRequest{DreamRequest: w, Dream: record.ID, From: dream.Phase(from)}, f)
	}
	return cmd
}

func redream(ctx context.Context, app *cli.App, a dream.Agent, w starter.RedreamRequest, f *dreamFlags) error {
	e, err := app.Planner.EstimateRedream(ctx, w)
	if err != nil {
		return err
	}
	if done, err := agree(ctx, app, w.DreamRequest, e, f); done || err != nil {
		return err
	}
	return withEngine(ctx, app, func(engine deploy.Engine, alone bool) error {
		return redreamOn(ctx, app, a, engine, w, f.watch || alone)
	})
}

func redreamOn(
	ctx context.Context,
	app *cli.App,
	a dream.Agent,
	engine deploy.Engine,
	w starter.RedreamRequest,
	watch bool,
) error {
	if err := mayDream(ctx, app, a); err != nil {
		return err
	}
	w.AsOf = app.AsOf
	begun, err := engine.Workflows().Redream(ctx, w)
	if err != nil {
		return fmt.Errorf("dream %s anew from %s: %w", w.Dream, w.From, cli.WhereWorkersRun(err))
	}
	id := begun.Dream
	if app.Json && !watch {
		return app.Answer(
			map[string]string{"dream": id, "agent": a.Handle, "redreams": w.Dream, "from": string(w.From)})
	}
	return goesOn(ctx, app, a, engine, id, watch, fmt.Sprintf("has begun, anew from %s of %s", w.From, w.Dream))
}
