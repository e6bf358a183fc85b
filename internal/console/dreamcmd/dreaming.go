// Package dreamcmd has the commands that begin, watch, end and show dreams and what they made.
package dreamcmd

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/starter"
)

// dreamFlags are the choices of a command line about a dream.
type dreamFlags struct {
	theme, tier, budget, seed, dir string
	estimate, watch, demo, yes     bool
	dry                            bool
}

// Dream builds the command oneiros dream.
func Dream(app *cli.App) *cobra.Command {
	f := &dreamFlags{}
	cmd := &cobra.Command{
		Use: "dream", Short: "Begin a dream", GroupID: cli.DreamGroup,
		Long: `Dream begins a dream of an agent and, with --watch, follows it to its report.

When no Temporal cluster is configured and no "oneiros up" is running, it starts what it needs, watches
until the dream is over and stops it again; a dream that was left half-way goes on then, and no other
is begun. --demo needs nothing at all: a sample life, the built-in model, a server and a worker of its own.

Exit codes: 0 completed, 4 refused by a cap, for want of consent, by a client that holds the agent awake or since
it dreams already, 6 the dream ended otherwise.`,
	}
	view.AddAgentFlag(app, cmd)
	fs := cmd.Flags()
	fs.StringVar(&f.theme, "theme", "", "what to dream about, in a `few words`")
	fs.StringVar(&f.tier, "tier", "", "core (one call) or hardened (everything); the agent's own when absent")
	fs.StringVar(&f.budget, "budget", "", "hard cap of this dream in `dollars`, at most the agent's own")
	fs.StringVar(&f.seed, "seed", "", "a `number`: same seed, memory and model, same dream")
	fs.BoolVar(&f.estimate, "estimate", false, "say what it may cost and stop")
	fs.BoolVar(&f.dry, "dry-run", false,
		"show what it would read, ask and cost, and stop; nothing is written and no model is called")
	fs.BoolVarP(&f.watch, "watch", "w", false, "follow it to its report")
	fs.BoolVar(&f.demo, "demo", false, "dream over a sample life with the built-in model; needs no configuration")
	fs.StringVar(&f.dir, "demo-dir", "", "where the demo lives; demo in data_dir when absent (`folder`)")
	fs.BoolVarP(&f.yes, "yes", "y", false, "agree to the estimate without being asked")
	view.Completes(app, cmd, "tier", view.Fixed([]dream.Tier{dream.Core, dream.Hardened}))
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		ctx := cmd.Context()
		w, err := f.request()
		if err != nil {
			return err
		}
		if f.dry && (f.demo || f.watch || f.estimate) {
			return exit.Usagef("--dry-run begins nothing; leave out --demo, --watch and --estimate")
		}
		if f.demo {
			return demo(app, cmd, f, w)
		}
		a, err := view.AgentOf(app, cmd)
		if err != nil {
			return err
		}
		w.Agent = a.Handle
		if err := affordable(a, w); err != nil {
			return err
		}
		if f.dry {
			return rehearse(ctx, app, a, w)
		}
		if done, err := consent(ctx, app, w, f); done || err != nil {
			return err
		}
		return dreamNow(ctx, app, a, w, f.watch)
	}
	return cmd
}

// affordable refuses a budget above the agent's own cap, before anything is begun.
func affordable(a dream.Agent, w starter.DreamRequest) error {
	if w.Budget != nil && *w.Budget > a.Caps.Dream {
		return exit.Refusedf(
			"--budget %s is above the cap of one dream of %s, %s; raise that first with oneiros agents edit %s --cap-dream",
			*w.Budget, a.Handle, a.Caps.Dream, a.Handle)
	}
	return nil
}

func (f *dreamFlags) request() (starter.DreamRequest, error) {
	w := starter.DreamRequest{Theme: f.theme, Tier: dream.Tier(f.tier)}
	var faults []error
	if f.tier != "" && w.Tier != dream.Core && w.Tier != dream.Hardened {
		faults = append(faults, fmt.Errorf("--tier %s must be core or hardened", f.tier))
	}
	if err := cli.CheckUTF8("--theme", f.theme); err != nil {
		faults = append(faults, err)
	}
	if n := len([]rune(f.theme)); n > dream.LongestTheme {
		faults = append(faults, fmt.Errorf("--theme has %d characters; at most %d are kept", n, dream.LongestTheme))
	}
	if f.budget != "" {
		amount, err := budget.ParseMicros(f.budget)
		if err != nil {
			faults = append(faults, fmt.Errorf("--budget: %w", err))
		}
		w.Budget = &amount
	}
	if f.seed != "" {
		seed, err := strconv.ParseUint(f.seed, 0, 64)
		if err != nil {
			faults = append(faults,
				fmt.Errorf("--seed %q must be a whole number from 0 to 18446744073709551615", f.seed))
		}
		w.Seed = &seed
	}
	return w, exit.AsUsage(errors.Join(faults...))
}

// consent shows the price and asks where the price needs consent. It returns done when only the price was wanted.
func consent(ctx context.Context, app *cli.App, w starter.DreamRequest, f *dreamFlags) (done bool, err error) {
	e, err := app.Planner.Estimate(ctx, w)
	if err != nil {
		return false, err
	}
	if !f.estimate && mustAsk(app, e, f) {
		noteInterrupted(ctx, app, w.Agent)
	}
	return agree(ctx, app, w, e, f)
}

// mustAsk reports whether the user is asked about the price, and can be.
func mustAsk(app *cli.App, e starter.Estimate, f *dreamFlags) bool {
	return !e.Free && e.Cap > app.ConfirmAbove && app.Terminal && !app.Json && !f.yes
}

// agree shows a price and asks where that is wanted.
func agree(ctx context.Context, app *cli.App, w starter.DreamRequest, e starter.Estimate,
	f *dreamFlags,
) (done bool, err error) {
	if f.estimate {
		if a, err := view.FindAgent(ctx, app.Deployment, w.Agent); err == nil {
			announce(app, a)
		}
		return true, showEstimate(app, e)
	}
	if e.Free || e.Cap <= app.ConfirmAbove {
		return false, nil
	}
	if mustAsk(app, e, f) {
		if err := showEstimate(app, e); err != nil {
			return false, err
		}
		return false, app.Confirm(false, "This dream of "+e.Agent+" is paid for")
	}
	return false,
		app.Confirm(f.yes,
			fmt.Sprintf("This dream of %s may cost about %s and never more than %s", e.Agent, e.Expected, e.Cap))
}

// noteInterrupted mentions a dream that was interrupted, before the user agrees to the price of another one.
func noteInterrupted(ctx context.Context, app *cli.App, handle string) {
	a, err := view.FindAgent(ctx, app.Deployment, handle)
	if err != nil {
		return
	}
	open, err := view.Newest(ctx, app, a)
	if err == nil && (open.Outcome == dream.Dreaming || view.MayGoOn(app, open)) {
		app.Note(
			"%s is not over: where no oneiros up carries dreams, that one goes on with what is left of its own cap, and no other is begun.",
			open.ID)
	}
}

// dreamNow begins a dream on a running worker, or starts a worker for as long as the dream takes.
func dreamNow(ctx context.Context, app *cli.App, a dream.Agent, w starter.DreamRequest, watch bool) error {
	return withEngine(ctx, app, func(engine deploy.Engine, alone bool) error {
		if alone {
			return dreamAlone(ctx, app, a, engine, w)
		}
		return dreamOn(ctx, app, a, engine, w, watch)
	})
}

// withEngine runs do on the server that runs; where there is none, alone, on one that is started for it.
func withEngine(ctx context.Context, app *cli.App, do func(engine deploy.Engine, alone bool) error) error {
	engine, err := app.Backend.Reach(ctx, app.Deployment)
	alone := errors.Is(err, deploy.ErrNoServer)
	if alone {
		app.Note("No Temporal server is configured and no oneiros up is running: starting one for this dream.")
		engine, err = app.Backend.ForOneDream(ctx, app.Deployment, app.Note)
	}
	if err != nil {
		return err
	}
	return errors.Join(do(engine, alone), engine.Stop())
}

// goesOn follows a dream to its report, or says that it goes on and how to follow it.
func goesOn(ctx context.Context, app *cli.App, a dream.Agent, engine deploy.Engine, id string, watch bool,
	does string,
) error {
	if watch {
		return follow(ctx, app, a, engine, id)
	}
	if app.Json {
		return app.Answer(map[string]string{"dream": id, "agent": a.Handle})
	}
	app.Say("Dream %s %s. Follow it: oneiros watch %s%s", id, does, id, app.Option())
	return nil
}

// dreamAlone dreams where no other worker runs. An interrupted dream is resumed first and watched to its end.
func dreamAlone(
	ctx context.Context,
	app *cli.App,
	a dream.Agent,
	engine deploy.Engine,
	w starter.DreamRequest,
) error {
	id, err := underWay(ctx, app, engine, a)
	if err != nil {
		return err
	}
	if id == "" {
		return dreamOn(ctx, app, a, engine, w, true)
	}
	record, err := memory.One[*dream.Record](ctx, app.Store, a.ID, id)
	if err != nil {
		return err
	}
	if record.Outcome == dream.Interrupted {
		if err := mayDream(ctx, app, a); err != nil {
			return err
		}
		if err := resumeDream(ctx, engine, a.ID, id); err != nil {
			return fmt.Errorf("resume %s: %w", id, err)
		}
		app.Note("%s was woken out of %s: it goes on.", a.Handle, id)
	} else {
		app.Note("%s is already dreaming %s: it goes on.", a.Handle, id)
	}
	return follow(ctx, app, a, engine, id)
}

func dreamOn(
	ctx context.Context,
	app *cli.App,
	a dream.Agent,
	engine deploy.Engine,
	w starter.DreamRequest,
	watch bool,
) error {
	if err := mayDream(ctx, app, a); err != nil {
		return err
	}
	waits, err := view.Resumable(ctx, app, a)
	if err != nil {
		return err
	}
	if waits != nil {
		app.Note("Dream %s was woken and waited to go on: this one takes its place.", waits.ID)
	}
	announce(app, a)
	view.OfferEmbedder(ctx, app, a.Handle)
	w.AsOf = app.AsOf
	begun, err := engine.Workflows().Begin(ctx, w)
	id := begun.Dream
	if errors.Is(err, starter.ErrDreaming) {
		if going, _ := underWay(ctx, app, engine, a); going != "" {
			return fmt.Errorf("%w; watch it with oneiros watch %s%s, or end it with oneiros dreams cancel %s%s", err,
				going, app.Option(), going, app.Option())
		}
	}
	if err != nil {
		return cli.WhereWorkersRun(err)
	}
	return goesOn(ctx, app, a, engine, id, watch, "has begun")
}

// demo dreams over a sample diary in a deployment of its own.
func demo(app *cli.App, cmd *cobra.Command, f *dreamFlags, w starter.DreamRequest) error {
	ctx := cmd.Context()
	h, engine, err := app.Backend.Demo(ctx, f.dir, app.Note)
	if err != nil {
		return err
	}
	app.Open.Do(func() {})
	app.Deployment = h // the report and its catalogue are those of the demo
	app.Again = "oneiros dream --demo"
	if f.dir != "" {
		app.Again += " --demo-dir " + f.dir
	} else if o := app.OuterFlags(); o != "" {
		app.Again += o
	}
	run := func() error {
		w.Agent, _ = cmd.Flags().GetString("agent")
		if w.Agent == "" {
			w.Agent = demoAgent
		}
		a, err := view.FindAgent(ctx, app.Deployment, w.Agent)
		if err != nil {
			return err
		}
		if err := affordable(a, w); err != nil {
			return err
		}
		if f.estimate {
			e, err := app.Planner.Estimate(ctx, w)
			if err != nil {
				return err
			}
			return showEstimate(app, e)
		}
		return dreamAlone(ctx, app, a, engine, w)
	}
	return errors.Join(run(), engine.Stop())
}

// demoAgent is the agent of the demo unless another is named: the companion.
const demoAgent = "echo"
