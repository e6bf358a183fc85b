package console

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/dream"
)

func (app *App) dreamsRedream() *cobra.Command {
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
	app.addAgentFlag(cmd)
	cmd.ValidArgsFunction = app.completeDreams(nil)
	fs := cmd.Flags()
	fs.StringVar(&from, "from", "", "the first `phase` to repeat: nrem, rem, integration or return")
	fs.StringVar(&f.tier, "tier", "", "core or hardened; that of DREAM when absent")
	fs.StringVar(&f.budget, "budget", "", "hard cap of this dream in `dollars`, at most the agent's own")
	fs.StringVar(&f.seed, "seed", "", "a `number`; drawn when absent")
	fs.BoolVar(&f.estimate, "estimate", false, "say what it may cost and stop")
	fs.BoolVarP(&f.watch, "watch", "w", false, "follow it to its report")
	fs.BoolVarP(&f.yes, "yes", "y", false, "agree to the estimate without being asked")
	app.completes(cmd, "from", fixed(dream.Redreamt))
	app.completes(cmd, "tier", fixed([]dream.Tier{dream.Core, dream.Hardened}))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		w, err := f.request()
		if err != nil {
			return err
		}
		if !oneOf(from, dream.Redreamt) {
			return exit(Usage,
				"--from %q must be nrem, rem, integration or return; an onset anew is another dream (oneiros dream)",
				from)
		}
		h, a, record, err := app.recordOf(cmd, args[0])
		if err != nil {
			return err
		}
		w.Agent = a.Handle
		if err := affordable(a, w); err != nil {
			return err
		}
		return app.redream(cmd.Context(), h, a, RedreamRequest{DreamRequest: w, Dream: record.ID, From: dream.Phase(from)}, f)
	}
	return cmd
}

func (app *App) redream(ctx context.Context, h *Deployment, a dream.Agent, w RedreamRequest, f *dreamFlags) error {
	e, err := app.Dream.EstimateAgain(ctx, h, w)
	if err != nil {
		return err
	}
	if done, err := app.agree(ctx, h, w.DreamRequest, e, f); done || err != nil {
		return err
	}
	engine, err := app.Dream.Reach(ctx, h)
	own := errors.Is(err, ErrNoServer)
	if own {
		app.note("No Temporal server is configured and no oneiros up is running: starting one for this dream.")
		engine, err = app.Dream.Here(ctx, h, app.note)
	}
	if err != nil {
		return err
	}
	return errors.Join(app.redreamOn(ctx, h, a, engine, w, f.watch || own), engine.Stop())
}

func (app *App) redreamOn(ctx context.Context, h *Deployment, a dream.Agent, engine Engine, w RedreamRequest, watch bool) error {
	if err := app.mayDream(ctx, h, a); err != nil {
		return err
	}
	id, err := engine.Dreams().Redream(ctx, w)
	if err != nil {
		return fmt.Errorf("dream %s anew from %s: %w", w.Dream, w.From, err)
	}
	if watch {
		return app.follow(ctx, h, a, engine, id)
	}
	if app.json {
		return app.answer(
			map[string]string{"dream": id, "agent": a.Handle, "redreams": w.Dream, "from": string(w.From)})
	}
	app.say("Dream %s has begun, anew from %s of %s. Follow it: oneiros watch %s%s", id, w.From, w.Dream, id,
		h.option())
	return nil
}
