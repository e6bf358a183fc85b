package servecmd

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

// Mcp builds the command oneiros mcp.
func Mcp(app *cli.App) *cobra.Command {
	var role, principal, user string
	cmd := &cobra.Command{
		Use: "mcp", Short: "Speak MCP over standard input and output", GroupID: cli.DeploymentGroup,
		Long: `Mcp lets a client of the Model Context Protocol that starts its servers itself talk to one agent: it speaks the
protocol over standard input and output until the input ends. What else it has to say goes to standard error.

It works on this machine's store, as oneiros serve does, and needs no server: dreams can be started where Temporal
runs, which oneiros up sees to. The user who runs it has the role owner; --role lends the client less.

It speaks as a client without a key does (principal local). Where clients over HTTP have keys, give it the
principal of a key with --principal, or the key itself in the environment variable ONEIROS_KEY, whose role, agents and day
then hold too: it finds what was said over HTTP with that principal's keys, and they find what is said here. --user names the
user where HTTP clients name one.

Clients over HTTP use /mcp of oneiros serve or oneiros up instead.`,
	}
	view.AddAgentFlag(app, cmd)
	cmd.Flags().StringVar(&role, "role", "",
		"what the client may do: `client`, operator or owner; owner without, or what the key in ONEIROS_KEY may")
	cmd.Flags().StringVar(&principal, "principal", "",
		"who speaks, as `name` of a principal that has keys; local without, or the key's in ONEIROS_KEY")
	cmd.Flags().StringVar(&user, "user", "", "which user of the principal speaks, as `name`; none without")
	view.Completes(app, cmd, "principal", view.With(app, view.Principals))
	view.Completes(app, cmd, "user", cli.Nothing)
	view.Completes(app, cmd, "role", func(*cobra.Command) []string {
		return []string{string(access.Client), string(access.Operator), string(access.Owner)}
	})
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		r := access.Role(role)
		if role != "" && !r.Includes(access.Client) {
			return exit.Usagef("--role is %q; roles are client, operator and owner", role)
		}
		if app.Json {
			return exit.Usagef("--json has no place here: standard output is the protocol's")
		}
		a, err := view.AgentOf(app, cmd)
		if err != nil {
			return err
		}
		if err := checkPrincipal(cmd.Context(), app, principal); err != nil {
			return err
		}
		if !utf8.ValidString(user) || len(user) > longestUser || strings.ContainsFunc(user, unicode.IsControl) {
			return exit.Usagef("--user must be at most %d bytes of printable text", longestUser)
		}
		return app.Backend.ServeMCP(cmd.Context(), app.Deployment, deploy.MCPSession{
			Agent:     a,
			Role:      r,
			Principal: principal,
			User:      user,
			In:        app.In,
			Out:       app.Out,
		})
	}
	return cmd
}

// longestUser bounds a user's name in bytes, as over HTTP.
const longestUser = 256

// checkPrincipal refuses a principal that no key speaks as: what was said under a mistyped name could be found by
// nobody.
func checkPrincipal(ctx context.Context, app *cli.App, name string) error {
	if name == "" || name == access.Local {
		return nil
	}
	if err := access.ValidPrincipal(name); err != nil {
		return exit.Usagef("--principal: %w", err)
	}
	ids, err := view.SpeakingAs(ctx, app, name)
	if err == nil && len(ids) == 0 {
		return exit.NotFoundf("no key speaks as the principal %q; oneiros keys list shows who does", name)
	}
	return err
}
