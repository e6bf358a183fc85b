package console

import (
	"context"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/dream"
)

// MCPSession is an MCP client connected through standard input and output.
type MCPSession struct {
	Agent     dream.Agent // the only agent it can reach
	Role      access.Role // empty: that of the key in the environment; owner without a key
	Principal string      // empty: that of the key in the environment; access.Local without a key
	User      string      // a user of the principal
	In        io.Reader
	Out       io.Writer // for protocol messages only
}

func (app *App) mcp() *cobra.Command {
	var role, principal, user string
	cmd := &cobra.Command{
		Use: "mcp", Short: "Speak MCP over standard input and output", GroupID: deployment, Args: cobra.NoArgs,
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
	app.addAgentFlag(cmd)
	cmd.Flags().StringVar(&role, "role", "",
		"what the client may do: `client`, operator or owner; owner without, or what the key in ONEIROS_KEY may")
	cmd.Flags().StringVar(&principal, "principal", "",
		"who speaks, as `name` of a principal that has keys; local without, or the key's in ONEIROS_KEY")
	cmd.Flags().StringVar(&user, "user", "", "which user of the principal speaks, as `name`; none without")
	app.completes(cmd, "principal", app.principals)
	app.completes(cmd, "user", nothing)
	app.completes(cmd, "role", func(*cobra.Command) []string {
		return []string{string(access.Client), string(access.Operator), string(access.Owner)}
	})
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		r := access.Role(role)
		if role != "" && !r.Includes(access.Client) {
			return exit(Usage, "--role is %q; roles are client, operator and owner", role)
		}
		if app.json {
			return exit(Usage, "--json has no place here: standard output is the protocol's")
		}
		h, a, err := app.agentOf(cmd)
		if err != nil {
			return err
		}
		if err := checkPrincipal(cmd.Context(), h, principal); err != nil {
			return err
		}
		if !utf8.ValidString(user) || len(user) > longestUser || strings.ContainsFunc(user, unicode.IsControl) {
			return exit(Usage, "--user must be at most %d bytes of printable text", longestUser)
		}
		return app.Dream.ServeMCP(cmd.Context(), h, MCPSession{
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
func checkPrincipal(ctx context.Context, h *Deployment, name string) error {
	if name == "" || name == access.Local {
		return nil
	}
	if err := access.ValidPrincipal(name); err != nil {
		return exit(Usage, "--principal: %w", err)
	}
	ids, err := speakingAs(ctx, h, name)
	if err == nil && len(ids) == 0 {
		return exit(NotFound, "no key speaks as the principal %q; oneiros keys list shows who does", name)
	}
	return err
}
