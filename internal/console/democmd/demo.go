// Package democmd has the command that plays a life: some weeks of a diary, night by night.
package democmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/sample"
)

// judgeDays is how many days at the end of a life are lived without a dream: they only judge what was learned before.
const judgeDays = 14

// Demo builds the command oneiros demo.
func Demo(app *cli.App) *cobra.Command {
	var r deploy.ChronicleRequest
	var question string
	cmd := &cobra.Command{
		Use: "demo", Short: "Play six weeks of a sample life, night by night, and see what was learned",
		GroupID: cli.DreamGroup,
		Long: `Demo plays a diary of some weeks with a real Temporal server, real dreams and the built-in model: no key,
no account, no cost. Each night knows only the days before it, and nothing of later days is in the store. The
last two weeks are lived without dreams: they only judge what was learned. At the end the agent answers a
question, and so do an agent that lived the same days and never dreamt, and one that lived the first day only.

Two lives ship, house and oncall. --life takes any other diary: a file or a folder in a format that oneiros
memory import reads. It is played in a folder of its own, which the next demo empties.`,
	}
	fs := cmd.Flags()
	fs.StringVar(&r.Path, "life", sample.ChronicleNames[0],
		"`name` of a life that ships, or a file or folder with dated entries")
	fs.StringVar(&r.Dir, "dir", "", "where it is played; life in data_dir when absent (`folder`)")
	fs.StringVar(&question, "ask", "", "the `question` at the end; without it, about what is surest")
	view.Completes(app, cmd, "ask", cli.Nothing)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := cli.CheckUTF8("--ask", question); err != nil {
			return exit.AsUsage(err)
		}
		return play(cmd.Context(), app, r, question)
	}
	return cmd
}

// play prepares a life, plays it and stops what it started.
func play(ctx context.Context, app *cli.App, r deploy.ChronicleRequest, question string) error {
	chronicle, err := app.Backend.Chronicle(ctx, r, app.Note)
	if err != nil {
		return err
	}
	app.Open.Do(func() {})
	app.Deployment = chronicle.Deployment
	p := &player{app: app, chronicle: chronicle, nights: len(chronicle.Days) - judgeDays}
	if p.nights < 1 {
		return errors.Join(exit.Usagef("the life %s has %s; more than %d are needed, since the last %d only judge",
			chronicle.Name, cli.Count(len(chronicle.Days), "day"), judgeDays, judgeDays),
			chronicle.Engine.Stop())
	}
	err = errors.Join(p.play(ctx, question), chronicle.Engine.Stop())
	if ctx.Err() != nil {
		return exit.Errorf(exit.Unfinished,
			"stopped after %s; a demo does not go on, the next one begins with the first day",
			cli.Count(len(p.result.Days), "day"))
	}
	return err
}

// result is what demo answers with --json.
type result struct {
	Chronicle string     `json:"life"`
	Agent     string     `json:"agent"`
	Days      []day      `json:"days"`
	Judged    judgement  `json:"judged"`
	Knows     []lesson   `json:"knows"`
	GivenUp   []string   `json:"given_up,omitempty"`
	Question  string     `json:"question,omitempty"`
	Answers   []response `json:"answers,omitempty"`
	Seconds   float64    `json:"seconds"`
}

// lesson is a claim that had passed and still held at the end.
type lesson struct {
	Claim string `json:"claim"`
	Says  string `json:"says"`
	Held  string `json:"held"`
}

// response is the answer of one agent to the question.
type response struct {
	Agent      string `json:"agent"`
	Answer     string `json:"answer"`
	Background string `json:"background"`
}

// askAbout is the question about what is surest; empty when nothing has passed.
func askAbout(s snapshot) string {
	best := s.surest()
	switch {
	case best == nil:
		return ""
	case best.Check.When == "":
		return fmt.Sprintf("What do you expect of %s?", best.Check.Then)
	case best.Check.Within == 0:
		return fmt.Sprintf("What comes with %s?", best.Check.When)
	}
	return fmt.Sprintf("What comes after %s?", best.Check.When)
}
