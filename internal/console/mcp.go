package console

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/dream"
)

// Speech is a client of MCP that speaks to this process over its standard input and output.
type Speech struct {
	Agent dream.Agent // the only one it reaches
	Role  access.Role
	In    io.Reader
	Out   io.Writer // takes messages of the protocol, and nothing else
}

func (app *App) mcp() *cobra.Command {
	var role string
	cmd := &cobra.Command{
		Use: "mcp", Short: "Speak MCP over standard input and output", GroupID: house, Args: cobra.NoArgs,
		Long: `Mcp lets a client of the Model Context Protocol that starts its servers itself talk to one agent: it speaks the
protocol over standard input and output until the input ends. What else it has to say goes to standard error.

It works on this machine's store, as oneiros serve does, and needs no server: dreams can be started where Temporal
runs, which oneiros up sees to. Whoever runs it has the role owner; --role lends the client less.

Clients over HTTP use /mcp of oneiros serve or oneiros up instead.`,
	}
	app.whose(cmd)
	cmd.Flags().StringVar(&role, "role", string(access.Owner), "what the client may do: `client`, operator or owner")
	app.completes(cmd, "role", func(*cobra.Command) []string {
		return []string{string(access.Client), string(access.Operator), string(access.Owner)}
	})
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		r := access.Role(role)
		if !r.Includes(access.Client) {
			return exit(Usage, "--role is %q; roles are client, operator and owner", role)
		}
		if app.json {
			return exit(Usage, "--json has no place here: standard output is the protocol's")
		}
		h, a, err := app.agentOf(cmd)
		if err != nil {
			return err
		}
		return app.Night.Speak(cmd.Context(), h, Speech{Agent: a, Role: r, In: app.In, Out: app.Out})
	}
	return cmd
}
