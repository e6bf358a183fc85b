package healthcmd

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/config"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

// Config builds the command oneiros config.
func Config(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "config",
		Short:   "Show and check the configuration, and where each value comes from",
		GroupID: cli.DeploymentGroup,
	}
	changed := false
	show := &cobra.Command{
		Use: "show", Short: "Show every setting, its value and its source",
		RunE: func(*cobra.Command, []string) error {
			c := app.Backend.Configuration()
			t := cli.NewTable("SETTING", "VALUE,flex,least=12", "FROM,flex,least=12", "DEFAULT,flex,least=12,drop=1")
			list := []config.Setting{}
			for _, s := range c.Settings {
				if !changed || s.Source != "default" {
					list = append(list, s)
					t.Add(s.Key, cli.OrDash(s.Value), s.Source, cli.OrDash(s.Default))
				}
			}
			c.Settings = list
			if err := app.Rows(c, t, "Everything is at its default."); err != nil {
				return err
			}
			return faults(c)
		},
	}
	show.Flags().BoolVar(&changed, "changed", false, "only what is not at its default")
	check := &cobra.Command{
		Use: "check", Short: "Check the configuration, including settings that conflict",
		RunE: func(*cobra.Command, []string) error {
			c := app.Backend.Configuration()
			for _, w := range c.Warnings {
				app.Note("warning: %s", w)
			}
			if err := faults(c); err != nil {
				return err
			}
			if app.Json {
				return app.Answer(
					map[string]any{"file": c.File, "warnings": cli.OrEmpty(c.Warnings), "faults": []string{}})
			}
			if c.File == "" {
				app.Say("No configuration file was found; the defaults, environment and flags are valid.")
				return nil
			}
			app.Say("%s is valid.", c.File)
			return nil
		},
	}
	reference := &cobra.Command{
		Use: "reference", Short: "Print the reference of every setting, as Markdown",
		RunE: func(*cobra.Command, []string) error {
			fmt.Fprint(app.Out, config.Reference())
			return nil
		},
	}
	cmd.AddCommand(show, check, reference)
	return cmd
}

func faults(c deploy.Configuration) error {
	if len(c.Faults) == 0 {
		return nil
	}
	return exit.Usagef("the configuration has %s:\n%s", cli.Count(len(c.Faults), "fault"),
		strings.Join(c.Faults, "\n"))
}

// Doctor builds the command oneiros doctor.
func Doctor(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "Check Temporal, store, models, clock and disk, and say what to do", GroupID: cli.DeploymentGroup,
		RunE: func(cmd *cobra.Command, _ []string) error {
			type textOutput struct {
				Name string `json:"name"`
				deploy.Finding
			}
			list := []textOutput{}
			ill := 0
			for _, check := range app.Backend.Checks(cmd.Context()) {
				f := check.Look(cmd.Context())
				list = append(list, textOutput{check.Name, f})
				if f.State == deploy.Ill {
					ill++
				}
				if !app.Json {
					reportFinding(app, check.Name, f)
				}
			}
			if app.Json {
				if err := app.Answer(list); err != nil {
					return err
				}
			}
			if ill > 0 {
				return exit.Errorf(exit.Failure, "%s wrong", cli.Plural(ill, "thing is", "things are"))
			}
			app.Note("Nothing is wrong.")
			return nil
		},
	}
}

func reportFinding(app *cli.App, name string, f deploy.Finding) {
	mark := map[deploy.State]string{deploy.Well: "+", deploy.Warning: "!", deploy.Ill: "x"}[f.State]
	colour := map[deploy.State]string{deploy.Well: "32", deploy.Warning: "33", deploy.Ill: "31"}[f.State]
	printFinding(app, fmt.Sprintf("%s %-12s", app.Paint(colour, mark), name), 15, f.Found, f.Advice)
}

// printFinding prints what a check has found, after what the line begins with, and below it what to do.
func printFinding(app *cli.App, begins string, column int, found, advice string) {
	indent := strings.Repeat(" ", column)
	text := strings.TrimPrefix(cli.Wrap(found, app.Width, indent), indent)
	fmt.Fprintln(app.Out, begins, text)
	if advice != "" {
		fmt.Fprintln(app.Out, app.Dim(cli.Wrap(advice, app.Width, indent)))
	}
}

// Version builds the command oneiros version.
func Version(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Say which version this is", GroupID: cli.DeploymentGroup,
		RunE: func(*cobra.Command, []string) error {
			v := app.Version
			if app.Json {
				return app.Answer(v)
			}
			line := "oneiros " + v.Oneiros
			if v.Revision != "" {
				line += " (" + v.Revision + ")"
			}
			app.Say("%s, %s, Temporal SDK %s", line, v.Go, cli.OrDash(v.SDK))
			return nil
		},
	}
}
