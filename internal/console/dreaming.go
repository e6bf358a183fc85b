package console

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

// dreamFlags are the choices of a command line about a dream.
type dreamFlags struct {
	theme, tier, budget, seed, dir string
	estimate, watch, demo, yes     bool
	dry                            bool
}

func (app *App) dream() *cobra.Command {
	f := &dreamFlags{}
	cmd := &cobra.Command{
		Use: "dream", Short: "Begin a dream", GroupID: nights,
		Long: `Dream begins a dream of an agent and, with --watch, follows it to its report.

When no Temporal cluster is configured and no "oneiros up" is running, it starts what it needs, watches
until the dream is over and stops it again; a dream that was left half-way goes on then, and no other
is begun. --demo needs nothing at all: a sample life, the built-in model, a server and a worker of its own.

Exit codes: 0 completed, 4 refused by a cap, for want of consent, by a client that holds the agent awake or since
it dreams already, 6 the dream ended otherwise.`,
	}
	app.addAgentFlag(cmd)
	fs := cmd.Flags()
	fs.StringVar(&f.theme, "theme", "", "what to dream about, in a `few words`")
	fs.StringVar(&f.tier, "tier", "", "core (one call) or hardened (everything); the agent's own when absent")
	fs.StringVar(&f.budget, "budget", "", "hard cap of this dream in `dollars`, at most the agent's own")
	fs.StringVar(&f.seed, "seed", "", "a `number`: same seed, memory and model, same dream")
	fs.BoolVar(&f.estimate, "estimate", false, "say what it may cost and stop")
	fs.BoolVar(&f.dry, "dry-run", false,
		"tell what it would gather, ask and cost, and stop; nothing is written and no model is asked")
	fs.BoolVarP(&f.watch, "watch", "w", false, "follow it to its report")
	fs.BoolVar(&f.demo, "demo", false, "dream over a sample life with the built-in model; needs no configuration")
	fs.StringVar(&f.dir, "demo-dir", "", "where the demo lives; demo in data_dir when absent (`folder`)")
	fs.BoolVarP(&f.yes, "yes", "y", false, "agree to the estimate without being asked")
	app.completes(cmd, "tier", fixed([]dream.Tier{dream.Core, dream.Hardened}))
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		w, err := f.request()
		if err != nil {
			return err
		}
		if f.dry && (f.demo || f.watch || f.estimate) {
			return exit(Usage, "--dry-run begins nothing; leave out --demo, --watch and --estimate")
		}
		if f.demo {
			return app.demo(cmd, f, w)
		}
		h, a, err := app.agentOf(cmd)
		if err != nil {
			return err
		}
		w.Agent = a.Handle
		if err := affordable(a, w); err != nil {
			return err
		}
		if f.dry {
			return app.rehearse(cmd.Context(), h, a, w)
		}
		if done, err := app.consent(cmd.Context(), h, w, f); done || err != nil {
			return err
		}
		return app.dreamNow(cmd.Context(), h, a, w, f.watch)
	}
	return cmd
}

// affordable refuses a budget above the agent's own cap, before anything is begun.
func affordable(a dream.Agent, w DreamRequest) error {
	if w.Budget != nil && *w.Budget > a.Caps.Dream {
		return exit(Refused,
			"--budget %s is above the cap of one dream of %s, %s; raise that first with oneiros agents edit %s --cap-dream",
			*w.Budget, a.Handle, a.Caps.Dream, a.Handle)
	}
	return nil
}

func (f *dreamFlags) request() (DreamRequest, error) {
	w := DreamRequest{Theme: f.theme, Tier: dream.Tier(f.tier)}
	var faults []error
	if f.tier != "" && w.Tier != dream.Core && w.Tier != dream.Hardened {
		faults = append(faults, fmt.Errorf("--tier %s must be core or hardened", f.tier))
	}
	if err := checkUTF8("--theme", f.theme); err != nil {
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
	return w, usage(errors.Join(faults...))
}

// consent shows the price and asks where the price needs consent. It returns done when only the price was wanted.
func (app *App) consent(ctx context.Context, h *Deployment, w DreamRequest, f *dreamFlags) (done bool, err error) {
	e, err := app.Dream.Estimate(ctx, h, w)
	if err != nil {
		return false, err
	}
	if !f.estimate && app.mustAsk(e, f) {
		app.noteInterrupted(ctx, h, w.Agent)
	}
	return app.agree(ctx, h, w, e, f)
}

// mustAsk reports whether the user is asked about the price, and can be.
func (app *App) mustAsk(e Estimate, f *dreamFlags) bool {
	return !e.Free && e.Cap > app.Dream.ConfirmAbove() && app.Terminal && !app.json && !f.yes
}

// agree shows a price and asks where that is wanted.
func (app *App) agree(ctx context.Context, h *Deployment, w DreamRequest, e Estimate,
	f *dreamFlags,
) (done bool, err error) {
	if f.estimate {
		if a, err := findAgent(ctx, h, w.Agent); err == nil {
			app.announce(h, a)
		}
		return true, app.showEstimate(e)
	}
	if e.Free || e.Cap <= app.Dream.ConfirmAbove() {
		return false, nil
	}
	if app.mustAsk(e, f) {
		if err := app.showEstimate(e); err != nil {
			return false, err
		}
		return false, app.confirm(false, "This dream of "+e.Agent+" is paid for")
	}
	return false,
		app.confirm(f.yes,
			fmt.Sprintf("This dream of %s may cost about %s and never more than %s", e.Agent, e.Expected, e.Cap))
}

// noteInterrupted mentions a dream that was interrupted, before the user agrees to the price of another one.
func (app *App) noteInterrupted(ctx context.Context, h *Deployment, handle string) {
	a, err := findAgent(ctx, h, handle)
	if err != nil {
		return
	}
	open, err := newest(ctx, h, a)
	if err == nil && (open.Outcome == dream.Dreaming || app.mayGoOn(open)) {
		app.note(
			"%s is not over: where no oneiros up carries dreams, that one goes on with what is left of its own cap, and no other is begun.",
			open.ID)
	}
}

// dreamNow begins a dream on a running worker, or starts a worker for as long as the dream takes.
func (app *App) dreamNow(ctx context.Context, h *Deployment, a dream.Agent, w DreamRequest, watch bool) error {
	engine, err := app.Dream.Reach(ctx, h)
	own := errors.Is(err, ErrNoServer)
	if own {
		app.note("No Temporal server is configured and no oneiros up is running: starting one for this dream.")
		engine, err = app.Dream.Here(ctx, h, app.note)
	}
	if err != nil {
		return err
	}
	on := app.dreamOn
	if own {
		on = app.dreamAlone
	}
	return errors.Join(on(ctx, h, a, engine, w, watch), engine.Stop())
}

// dreamAlone dreams where no other worker runs. An interrupted dream is resumed first and watched to its end.
func (app *App) dreamAlone(ctx context.Context, h *Deployment, a dream.Agent, engine Engine, w DreamRequest,
	_ bool,
) error {
	id, err := underWay(ctx, h, engine, a)
	if err != nil {
		return err
	}
	if id == "" {
		return app.dreamOn(ctx, h, a, engine, w, true)
	}
	record, err := memory.One[*dream.Record](ctx, h.Store, a.ID, id)
	if err != nil {
		return err
	}
	if record.Outcome == dream.Interrupted {
		if err := app.mayDream(ctx, h, a); err != nil {
			return err
		}
		if err := engine.Dreams().Resume(ctx, a.ID, id); err != nil {
			return fmt.Errorf("resume %s: %w", id, err)
		}
		app.note("%s was woken out of %s: it goes on.", a.Handle, id)
	} else {
		app.note("%s is already dreaming %s: it goes on.", a.Handle, id)
	}
	return app.follow(ctx, h, a, engine, id)
}

func (app *App) dreamOn(ctx context.Context, h *Deployment, a dream.Agent, engine Engine, w DreamRequest,
	watch bool,
) error {
	if err := app.mayDream(ctx, h, a); err != nil {
		return err
	}
	waits, err := app.resumable(ctx, h, a)
	if err != nil {
		return err
	}
	if waits != nil {
		app.note("Dream %s was woken and waited to go on: this one takes its place.", waits.ID)
	}
	app.announce(h, a)
	app.offerEmbedder(ctx, h, a.Handle)
	id, err := engine.Dreams().Begin(ctx, w)
	if errors.Is(err, ErrDreaming) {
		if going, _ := underWay(ctx, h, engine, a); going != "" {
			return fmt.Errorf("%w; watch it with oneiros watch %s%s, or end it with oneiros dreams cancel %s%s", err,
				going, h.option(), going, h.option())
		}
	}
	if err != nil {
		return err
	}
	if !watch {
		if app.json {
			return app.answer(map[string]string{"dream": id, "agent": a.Handle})
		}
		app.say("Dream %s has begun. Follow it: oneiros watch %s%s", id, id, h.option())
		return nil
	}
	return app.follow(ctx, h, a, engine, id)
}

// demo dreams over a sample diary in a deployment of its own.
func (app *App) demo(cmd *cobra.Command, f *dreamFlags, w DreamRequest) error {
	ctx := cmd.Context()
	h, engine, err := app.Dream.Demo(ctx, f.dir, app.note)
	if err != nil {
		return err
	}
	if app.deployment == nil { // the report and its catalogue are those of the demo
		app.open.Do(func() { app.deployment = h })
	}
	app.again = "oneiros dream --demo"
	if f.dir != "" {
		app.again += " --demo-dir " + f.dir
	} else if o := app.outerFlags(); o != "" {
		app.again += o
	}
	run := func() error {
		w.Agent, _ = cmd.Flags().GetString("agent")
		if w.Agent == "" {
			w.Agent = demoAgent
		}
		a, err := findAgent(ctx, h, w.Agent)
		if err != nil {
			return err
		}
		if err := affordable(a, w); err != nil {
			return err
		}
		if f.estimate {
			e, err := app.Dream.Estimate(ctx, h, w)
			if err != nil {
				return err
			}
			return app.showEstimate(e)
		}
		return app.dreamAlone(ctx, h, a, engine, w, true)
	}
	return errors.Join(run(), engine.Stop())
}

// demoAgent is the agent of the demo unless another is named: the companion.
const demoAgent = "echo"
