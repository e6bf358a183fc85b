package servecmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

func keysSet(app *cli.App) *cobra.Command {
	rate, tokens := 0, 0
	program, day := false, ""
	cmd := &cobra.Command{
		Use: "set NAME|ID", Short: "Change a key's limits, or who waits for what it asks", Args: cobra.ExactArgs(1),
		ValidArgsFunction: completeKeys(app),
		Long: `Set changes the limits a minute, the cap a day and the mark of programs of a live key. Its secret, role, agents and
principal stay: for others make a new key. What is not given stays as it is. Servers follow within 5 seconds; a request
that is under way keeps its place.`,
		Example: "  oneiros keys set laptop --rate 120\n  oneiros keys set nightly --program --day '$5'\n" +
			"  oneiros keys set tablet --tokens 50000\n" +
			"  oneiros keys set nightly --program=false --rate 0",
	}
	cmd.RunE = app.InStore(func(ctx context.Context, args []string) error {
		fs := cmd.Flags()
		if !fs.Changed("rate") && !fs.Changed("tokens") && !fs.Changed("program") && !fs.Changed("day") {
			return exit.Usagef("keys set changes nothing without --rate, --tokens, --program or --day")
		}
		k, err := findKey(ctx, app, args[0])
		if err != nil {
			return err
		}
		if !k.Live(app.Now()) {
			return exit.Refusedf(
				"key %s (%s) has ended and stays so; keys add --principal %s makes another one for the same principal",
				k.ID, k.Name, k.PrincipalName())
		}
		if fs.Changed("rate") {
			k.Rate = rate
		}
		if fs.Changed("tokens") {
			k.Tokens = tokens
		}
		if fs.Changed("program") {
			k.Program = program
		}
		if fs.Changed("day") {
			k.Day = nil
			if day != "" {
				amount, err := budget.ParseMicros(day)
				if err != nil {
					return exit.AsUsage(fmt.Errorf("--day %w", err))
				}
				k.Day = &amount
			}
		}
		err = k.Validate()
		if err != nil {
			return exit.AsUsage(err)
		}
		err = app.Keys.PutKey(ctx, k)
		if err != nil {
			return err
		}
		p := publicKeyOf(app, k)
		if app.Json {
			return app.Answer(p)
		}
		waits := "a person"
		if k.Program {
			waits = "a program"
		}
		app.Fields(app.Out, "key", p.ID, "name", p.Name, "asks", waits, "rate", orServers(p.rate()), "tokens",
			orServers(p.tokens()), "a day", orServers(p.day()))
		return nil
	})
	fs := cmd.Flags()
	fs.IntVar(&rate, "rate", 0, "requests a minute; 0: the server's limit (`number`)")
	fs.IntVar(&tokens, "tokens", 0,
		"tokens that models may read and write for it a minute; 0: the server's limit (`number`)")
	fs.BoolVar(&program, "program", false,
		"a program or an agent uses it, and no person waits: on a full server people's requests go first;\n"+
			"--program=false takes that back")
	fs.StringVar(&day, "day", "", "what it may cost a day, as in '$2' or 0.50; '': the server's limit (`dollars`)")
	for _, flag := range []string{"rate", "tokens", "day"} {
		view.Completes(app, cmd, flag, cli.Nothing)
	}
	return cmd
}

// orServers is a limit as shown, or whose it is where the key has none.
func orServers(limit string) string {
	if limit == "" {
		return "the server's"
	}
	return limit
}
