package console

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

func (app *App) config() *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Show and check the configuration, and where each value comes from", GroupID: deployment}
	changed := false
	show := &cobra.Command{
		Use: "show", Short: "Show every setting, its value and its source",
		RunE: func(*cobra.Command, []string) error {
			c := app.Configuration()
			t := &table{
				columns: []column{
					{title: "KNOB"},
					{title: "VALUE", flex: true, least: 12},
					{title: "FROM", flex: true, least: 12},
					{title: "DEFAULT", flex: true, least: 12, drop: 1},
				},
			}
			list := []Setting{}
			for _, s := range c.Settings {
				if !changed || s.Source != "default" {
					list = append(list, s)
					t.add(s.Key, orDash(s.Value), s.Source, orDash(s.Default))
				}
			}
			c.Settings = list
			if err := app.rows(c, t, "Everything is at its default."); err != nil {
				return err
			}
			return faults(c)
		},
	}
	show.Flags().BoolVar(&changed, "changed", false, "only what is not at its default")
	check := &cobra.Command{
		Use: "check", Short: "Check the configuration, including settings that conflict",
		RunE: func(*cobra.Command, []string) error {
			c := app.Configuration()
			for _, w := range c.Warnings {
				app.note("warning: %s", w)
			}
			if err := faults(c); err != nil {
				return err
			}
			if app.json {
				return app.answer(map[string]any{"file": c.File, "warnings": orEmpty(c.Warnings), "faults": []string{}})
			}
			if c.File == "" {
				app.say("No configuration file was found; the defaults, environment and flags are valid.")
				return nil
			}
			app.say("%s is valid.", c.File)
			return nil
		},
	}
	reference := &cobra.Command{
		Use: "reference", Short: "Print the reference of every setting, as Markdown",
		RunE: func(*cobra.Command, []string) error {
			fmt.Fprint(app.Out, app.Reference())
			return nil
		},
	}
	cmd.AddCommand(show, check, reference)
	return cmd
}

func faults(c Configuration) error {
	if len(c.Faults) == 0 {
		return nil
	}
	return exit(Usage, "the configuration has %s:\n%s", plural(len(c.Faults), "fault", "faults"),
		strings.Join(c.Faults, "\n"))
}

// Check is one check of the doctor.
type Check struct {
	Name string
	Look func(ctx context.Context) Finding
}

// State is the result of a check.
type State string

// The results of a check.
const (
	Well    State = "ok"
	Warning State = "warning"
	Ill     State = "wrong"
)

// Finding is the result of a check with its text, and advice when it is not well.
type Finding struct {
	State  State  `json:"state"`
	Found  string `json:"found"`
	Advice string `json:"advice,omitempty"`
}

func (app *App) doctor() *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "Check Temporal, store, models, clock and disk, and say what to do", GroupID: deployment,
		RunE: func(cmd *cobra.Command, _ []string) error {
			type textOutput struct {
				Name string `json:"name"`
				Finding
			}
			list := []textOutput{}
			ill := 0
			for _, check := range app.Checks(cmd.Context()) {
				f := check.Look(cmd.Context())
				list = append(list, textOutput{check.Name, f})
				if f.State == Ill {
					ill++
				}
				if !app.json {
					app.reportFinding(check.Name, f)
				}
			}
			if app.json {
				if err := app.answer(list); err != nil {
					return err
				}
			}
			if ill > 0 {
				return exit(Failure, "%s wrong", plural(ill, "thing is", "things are"))
			}
			app.note("Nothing is wrong.")
			return nil
		},
	}
}

func (app *App) reportFinding(name string, f Finding) {
	mark := map[State]string{Well: "+", Warning: "!", Ill: "x"}[f.State]
	colour := map[State]string{Well: "32", Warning: "33", Ill: "31"}[f.State]
	const indent = "               "
	text := strings.TrimPrefix(wrap(f.Found, app.Width, indent), indent)
	fmt.Fprintf(app.Out, "%s %-12s %s\n", app.paint(colour, mark), name, text)
	if f.Advice != "" {
		fmt.Fprintf(app.Out, "%s\n", app.dim(wrap(f.Advice, app.Width, indent)))
	}
}

func (app *App) version() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Say which version this is", GroupID: deployment,
		RunE: func(*cobra.Command, []string) error {
			v := app.Version
			if app.json {
				return app.answer(v)
			}
			line := "oneiros " + v.Oneiros
			if v.Revision != "" {
				line += " (" + v.Revision + ")"
			}
			app.say("%s, %s, Temporal SDK %s", line, v.Go, orDash(v.SDK))
			return nil
		},
	}
}
