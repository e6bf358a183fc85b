// Package evalcmd has the command that measures whether nights help an agent.
package evalcmd

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/eval"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/sample"
)

// flags are those of eval as they were given.
type flags struct {
	request deploy.EvaluationRequest
	budget  string
	plan    bool
	yes     bool
}

// defaultQuestions is how many memories are asked for where nobody says it; our choice.
const defaultQuestions = 200

// Eval builds the command oneiros eval.
func Eval(app *cli.App) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use: "eval", Short: "Measure on an agent's own history whether nights help", GroupID: cli.DreamGroup,
		Long: `Eval replays what an agent has lived, day by day, in copies: without nights, with nights, with parts of
nights, and with nights over a past whose words are shuffled (a placebo). The last days are lived without
nights. They judge what each copy had foretold, against the same foretold of other things. Before them, each
copy is asked for memories. The verdict of each copy is one of: helps, harms, no difference seen, too little to
say.

The agent itself is not changed. Answers of models are recorded as they come: an eval that was stopped goes on
when the command is given again, and pays for nothing twice. Models that cost money need --budget.`,
	}
	fs := cmd.Flags()
	r := &f.request
	fs.StringVar(&r.Diary, "life", "", "evaluate a diary instead: a `name` of a life that ships ("+
		sample.ChronicleNames[0]+", "+sample.ChronicleNames[1]+"), or a file or folder with dated entries")
	fs.IntVar(&r.Nights, "nights", 0, fmt.Sprintf("`number` of dreams of each arm, spread over the days "+
		"before the last; %d when absent, or what fits", eval.DefaultNights))
	fs.IntVar(&r.Judging, "judge", 0, fmt.Sprintf("`number` of days at the end that only judge; %d when absent, or a third "+
		"of a shorter history", eval.DefaultJudging))
	fs.IntVar(&r.Questions, "questions", defaultQuestions, "the most `number` of memories that are asked for")
	fs.Uint64Var(&r.Seed, "seed", 1, "`number` that all chance is drawn from")
	fs.StringVar(&f.budget, "budget", "", "the most that all dreams together may cost, in `dollars`")
	fs.StringSliceVar(&r.Arms, "arms", nil, "`arms` to compare; raw,dedupe,nrem,no onset,all,placebo when absent; "+
		"further ones: no nrem,no rem,no integration")
	fs.StringVar(&r.Dialogue, "dialogue", "", "with --life and a LoCoMo file, the `name` of the dialogue")
	fs.StringVar(&r.Dir, "dir", "", "where it works; below eval in data_dir when absent (`folder`)")
	fs.BoolVar(&r.Fresh, "fresh", false, "begin anew, with the answers that are recorded")
	fs.BoolVar(&f.plan, "plan", false, "only say what would be done, what it may cost and what it could see")
	fs.BoolVar(&f.yes, "yes", false, "do not ask whether the price is agreed to")
	for _, name := range []string{"nights", "judge", "questions", "seed", "budget", "arms", "dir", "life", "dialogue"} {
		view.Completes(app, cmd, name, cli.Nothing)
	}
	view.AddAgentFlag(app, cmd).RunE = func(cmd *cobra.Command, _ []string) error { return run(cmd, app, f) }
	cmd.AddCommand(verdict(app))
	return cmd
}

func run(cmd *cobra.Command, app *cli.App, f flags) error {
	r := f.request
	named, _ := cmd.Flags().GetString("agent")
	switch {
	case named != "" && r.Diary != "":
		return exit.Usagef("--agent is %s and --life is %s; one of them is evaluated", named, r.Diary)
	case r.Dialogue != "" && r.Diary == "":
		return exit.Usagef("--dialogue is %s and --life is missing: name the file that it is in", r.Dialogue)
	case cmd.Flags().Changed("nights") && r.Nights < 1:
		return exit.Usagef("--nights is %d; it must be at least 1", r.Nights)
	case cmd.Flags().Changed("judge") && r.Judging < 1:
		return exit.Usagef("--judge is %d; it must be at least 1", r.Judging)
	case r.Questions < 0:
		return exit.Usagef("--questions is %d; it must be 0 or more", r.Questions)
	}
	if f.budget != "" {
		most, err := budget.ParseMicros(f.budget)
		if err != nil {
			return exit.AsUsage(fmt.Errorf("--budget: %w", err))
		}
		r.Budget = &most
	}
	if r.Diary == "" {
		a, err := view.AgentOf(app, cmd)
		if err != nil {
			return err
		}
		r.Agent, r.Store = a, app.Store
	}
	e, err := app.Backend.Evaluation(cmd.Context(), r)
	if err != nil {
		return err
	}
	return errors.Join(play(cmd.Context(), app, e, f), e.Close())
}

// play shows the plan and plays the arms that are not done.
func play(ctx context.Context, app *cli.App, e *deploy.Evaluation, f flags) error {
	if f.plan && app.Json {
		return app.Answer(planned{Plan: e.Plan, Hash: e.Plan.Hash(), Most: e.Most, Detectable: e.Detectable})
	}
	if !app.Json {
		showPlan(app, e)
	}
	if f.plan {
		return nil
	}
	if e.NeedsConsent {
		if err := app.Confirm(f.yes, fmt.Sprintf("This may cost up to %s", e.Most)); err != nil {
			return err
		}
	}
	p := newProgress(app, e)
	for _, arm := range e.Arms {
		if e.Done(arm) {
			continue
		}
		result, err := e.Play(ctx, arm, p.day)
		p.clear()
		if ctx.Err() != nil {
			return exit.Errorf(exit.Unfinished, "stopped; what is done is in %s, and the same command goes on", e.Dir)
		}
		if err != nil {
			return err
		}
		if err := e.Keep(result); err != nil {
			return err
		}
		p.done(result)
	}
	v := eval.Judge(e.Result)
	if app.Json {
		return app.Answer(judged{File: e.ResultFile(), Paid: e.Spent().Paid, Open: e.Spent().Open, Verdict: v})
	}
	showVerdict(app, v)
	showClaims(app, e.Result)
	app.Say("")
	app.Say("The result is in %s. oneiros eval verdict computes the verdict from it again.", e.ResultFile())
	return nil
}

// planned is what eval --plan answers with --json.
type planned struct {
	Plan       eval.Plan       `json:"plan"`
	Hash       string          `json:"plan_hash"`
	Most       budget.Micros   `json:"most_micros"`
	Detectable eval.Detectable `json:"detectable"` // the smallest differences that it will see in 80 % of runs
}

// judged is what eval answers with --json.
type judged struct {
	File    string        `json:"file"`
	Paid    budget.Micros `json:"paid_micros"` // to models, in all processes that worked on it
	Open    budget.Micros `json:"open_micros"` // for calls whose answer never came, at their full price
	Verdict eval.Verdict  `json:"verdict"`
}

// verdict computes the verdict of a result file.
func verdict(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "verdict FILE", Short: "Compute the verdict from a result file again", Args: cobra.ExactArgs(1),
		Long: `Verdict reads the result of an eval, which anybody may have made, and computes the verdict from it: the same
file always gives the same verdict.`,
		RunE: func(_ *cobra.Command, args []string) error {
			data, err := os.ReadFile(args[0])
			if errors.Is(err, os.ErrNotExist) {
				return exit.NotFoundf("there is no file %s", args[0])
			}
			if err != nil {
				return err
			}
			result, err := eval.Read(data)
			if err != nil {
				return exit.AsUsage(fmt.Errorf("%s: %w", args[0], err))
			}
			v := eval.Judge(result)
			if app.Json {
				return app.Answer(v)
			}
			showVerdict(app, v)
			return nil
		},
	}
}
