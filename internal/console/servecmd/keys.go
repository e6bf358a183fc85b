package servecmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

// ServerKeys builds the command oneiros keys.
func ServerKeys(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "keys", Aliases: []string{"key"}, Short: "Who may use the server, and for what", GroupID: cli.DeploymentGroup,
		Long: `A key opens the server to a client: it has a role, may be for some agents only, may expire, and is bounded in requests
and money. While there is none, a server on this machine's own address serves every client on this machine, as owner,
unless serve.keys is required. As soon as one was made, every request needs one, also when all keys are revoked or lost;
oneiros keys open undoes that.

A key names a principal: who speaks. What is said belongs to its principal, and so do the money and the requests that are
counted. Without --principal a key is a principal of its own; rotate gives a new secret to the same one.

  client    talks, remembers and recalls; sees status, insights and the digest
  operator  sees journal, fragments and scenarios too, and starts, cancels and archives dreams
  owner     forgets, and changes agents, too`,
	}
	cmd.AddCommand(keysAdd(app), keysList(app), keysSet(app), keysRotate(app), keysRevoke(app), keysOpen(app))
	return cmd
}

// publicKey is a key as shown, without its hash.
type publicKey struct {
	ID      string         `json:"id"`
	Name    string         `json:"name"`
	Role    access.Role    `json:"role"`
	Agents  []string       `json:"agents"` // empty: every agent
	Speaks  string         `json:"principal"`
	State   string         `json:"state"` // live, expired or revoked
	Created time.Time      `json:"created"`
	Expires time.Time      `json:"expires,omitzero"`
	Revoked time.Time      `json:"revoked,omitzero"`
	Rate    int            `json:"rate,omitempty"`       // requests a minute
	Tokens  int            `json:"tokens,omitempty"`     // that models read and write for it a minute
	Program bool           `json:"program,omitempty"`    // no person waits for what it asks
	Day     *budget.Micros `json:"day_micros,omitempty"` // what it may cost a day
	// In lists: what its principal has cost on this day of UTC, reservations included.
	Today  *budget.Micros `json:"today_micros,omitempty"`
	Secret string         `json:"secret,omitempty"` // only when the key is made
	// Set when the key is made and is the first: from now on every request needs a key.
	First bool `json:"first,omitempty"`

	// In lists: how many live memories agents have of what its principal said.
	Memories *int `json:"memories,omitempty"`
}

func publicKeyOf(app *cli.App, k access.Key) publicKey {
	state := "live"
	switch {
	case !k.Revoked.IsZero():
		state = "revoked"
	case !k.Live(app.Now()):
		state = "expired"
	}
	return publicKey{
		ID:      k.ID,
		Name:    k.Name,
		Role:    k.Role,
		Agents:  cli.OrEmpty(k.Agents),
		Speaks:  k.PrincipalName(),
		State:   state,
		Created: k.Created,
		Expires: k.Expires,
		Revoked: k.Revoked,
		Rate:    k.Rate,
		Tokens:  k.Tokens,
		Program: k.Program,
		Day:     k.Day,
	}
}

func (k publicKey) reach() string {
	if len(k.Agents) == 0 {
		return "all"
	}
	return strings.Join(k.Agents, ", ")
}

func (k publicKey) rate() string { return aMinute(k.Rate) }

func (k publicKey) tokens() string { return aMinute(k.Tokens) }

func aMinute(limit int) string {
	if limit == 0 {
		return ""
	}
	return fmt.Sprintf("%d a minute", limit)
}

func (k publicKey) day() string {
	if k.Day == nil {
		return ""
	}
	return k.Day.String()
}

func keysAdd(app *cli.App) *cobra.Command {
	role := string(access.Client)
	agents := []string{}
	rate, tokens := 0, 0
	program := false
	day := ""
	expires := time.Duration(0)
	principal := ""
	cmd := &cobra.Command{
		Use: "add NAME", Short: "Make a key; its secret is shown once", Args: cobra.ExactArgs(1),
		Example: "  oneiros keys add laptop --agent echo\n  oneiros keys add nightly --role operator --expires 90d --rate 60 --day '$2'\n  oneiros keys add phone --principal anna",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			k, secret := access.New(args[0], access.Role(role), nil, app.Now().UTC())
			k.Principal, k.Program = principal, program
			k.Rate, k.Tokens = rate, tokens
			if cmd.Flags().Changed("day") {
				amount, err := budget.ParseMicros(day)
				if err != nil {
					return exit.AsUsage(fmt.Errorf("--day %w", err))
				}
				k.Day = &amount
			}
			if cmd.Flags().Changed("expires") {
				if expires <= 0 {
					return exit.Usagef("--expires %s must be above zero, as in 90d", expires)
				}
				k.Expires = k.Created.Add(expires)
			}
			if err := k.Validate(); err != nil {
				return exit.AsUsage(err)
			}
			err := app.Within(ctx)
			if err != nil {
				return err
			}
			for _, name := range agents {
				a, err := view.FindAgent(ctx, app.Deployment, name)
				if err != nil {
					return err
				}
				k.Agents = append(k.Agents, a.Handle)
			}
			others, err := view.SpeakingAs(ctx, app, principal)
			if err != nil {
				return err
			}
			closed, err := app.Keys.KeysRequired(ctx)
			if err != nil {
				return fmt.Errorf("read whether keys are required: %w", err)
			}
			if err := app.Keys.PutKey(ctx, k); err != nil {
				return err
			}
			if err := showNewKey(app, k, secret, !closed); err != nil {
				return err
			}
			noteShared(app, k, others)
			return nil
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&role, "role", role, "what it may do: client, operator or owner (`role`)")
	fs.StringArrayVar(
		&agents,
		"agent",
		nil,
		"an agent's `handle` that it is for; repeat for more; every agent without",
	)
	fs.StringVar(
		&principal,
		"principal",
		"",
		"who speaks with it, as `name`: a principal of its own without; one that has keys already shares its talk,\n"+
			"limits and day with them; local is a client without a key",
	)
	cli.SpanVar(fs, &expires, "expires", "after how long it ends, as in 12h or 90d; never without (`duration`)")
	fs.IntVar(&rate, "rate", 0, "requests a minute; the server's limit without (`number`)")
	fs.IntVar(&tokens, "tokens", 0,
		"tokens that models may read and write for it a minute; the server's limit without (`number`)")
	fs.BoolVar(&program, "program", false,
		"a program or an agent uses it, and no person waits: on a full server people's requests go first")
	fs.StringVar(
		&day,
		"day",
		"",
		"what it may cost a day, as in '$2' or 0.50; the server's limit without (`dollars`)",
	)
	view.Completes(app, cmd, "role", view.Fixed([]access.Role{access.Client, access.Operator, access.Owner}))
	view.Completes(app, cmd, "agent", view.With(app, view.Handles))
	view.Completes(app, cmd, "principal", view.With(app, view.Principals))
	for _, flag := range []string{"expires", "rate", "tokens", "day"} {
		view.Completes(app, cmd, flag, cli.Nothing)
	}
	return cmd
}

// showNewKey shows a key with its secret, and what changes when it is the first key.
func showNewKey(app *cli.App, k access.Key, secret string, first bool) error {
	p := publicKeyOf(app, k)
	p.Secret, p.First = secret, first
	if app.Json {
		return app.Answer(p)
	}
	expires := ""
	if !p.Expires.IsZero() {
		expires = cli.When(p.Expires, app.Zone)
	}
	app.Fields(app.Out, "key", p.ID, "name", p.Name, "role", string(p.Role), "agents", p.reach(), "principal",
		p.Speaks, "expires", expires, "rate", p.rate(), "tokens", p.tokens(), "a day", p.day(), "secret", secret)
	app.Note(
		"The secret is shown only now, and kept nowhere. Clients send it as their API key: Authorization: Bearer %s…",
		access.SecretPrefix)
	if first {
		app.Note(
			"This is the first key: within a second every request to a server of this deployment needs one, on this machine too. " +
				"Clients that run without a key (OpenAI clients, MCP clients of /mcp, the dreams API) are refused from then on; oneiros mcp over standard " +
				"input and output needs none. Make a key for each of them: oneiros keys add NAME (with --principal local it goes on with what was said before). Back to none: oneiros keys revoke NAME, then oneiros keys open.",
		)
	}
	return nil
}

func keysOpen(app *cli.App) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "open", Short: "Let requests of this machine in without a key again",
		Long: `Open undoes what the first key did: a server on a loopback address answers every client on this machine, as owner,
until the next key is made. It is for a deployment whose keys are all revoked or expired, or lost with its store, and is
refused while a key is live. It removes the mark in the store and that in the data folder of this machine; where servers
of one deployment run on several machines, run it on each. A server with serve.keys: required stays closed.`,
		Example: "  oneiros keys open\n  oneiros keys open --yes",
		RunE: app.InStore(func(ctx context.Context, _ []string) error {
			closed, err := app.Keys.KeysRequired(ctx)
			if err != nil {
				return fmt.Errorf("read whether keys are required: %w", err)
			}
			if closed {
				if err := app.Confirm(yes,
					"Every program on this machine, and whatever forwards to it, will be owner of all agents"); err !=
					nil {
					return err
				}
				err = app.Keys.AllowKeyless(ctx, app.Now().UTC())
			}
			if errors.Is(err, access.ErrLiveKey) {
				return exit.Refusedf("a key is live; revoke every live key first: oneiros keys list shows them, oneiros keys revoke NAME revokes one")
			}
			if err != nil {
				return err
			}
			if app.Json {
				return app.Answer(map[string]bool{"keys_required": false})
			}
			if !closed {
				app.Say("Nothing to do: no key is required.")
				return nil
			}
			app.Say(
				"Servers on a loopback address answer without a key within 5 seconds. The next key closes them again: oneiros keys add NAME%s",
				app.Option())
			return nil
		}),
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

func keysList(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List every key, revoked and expired ones too",
		Long: `List shows every key, revoked and expired ones too, and what its principal cost today, in UTC, beside what the key may cost a day.`,
		RunE: app.InStore(func(ctx context.Context, _ []string) error {
			keys, err := app.Keys.Keys(ctx)
			if err != nil {
				return err
			}
			list := []publicKey{}
			t := cli.NewTable("KEY", "NAME,flex,least=10", "ROLE", "STATE", "PRINCIPAL,flex,least=12,drop=2",
				"AGENTS,flex,least=12", "EXPIRES,drop=2", "RATE,right,drop=3", "TOKENS,right,drop=3",
				"TODAY,right,drop=1",
				"A DAY,right,drop=1", "MEMORIES,right,drop=3", "MADE,drop=4")
			kept, err := view.MemoriesByPrincipal(ctx, app)
			if err != nil {
				return err
			}
			for _, k := range keys {
				p := publicKeyOf(app, k)
				memories := kept[k.PrincipalName()]
				p.Memories = &memories
				b, err := app.Ledger.Balance(ctx, k.Account(app.Now()))
				if err != nil {
					return fmt.Errorf("read what %s cost today: %w", k.ID, err)
				}
				today := b.Spent + b.Reserved
				p.Today = &today
				list = append(list, p)
				t.Add(p.ID, p.Name, string(p.Role), p.State, p.Speaks, p.reach(), cli.When(p.Expires, app.Zone),
					cli.OrDash(p.rate()), cli.OrDash(p.tokens()), today.String(), cli.OrDash(p.day()), fmt.Sprint(memories),
					cli.Day(p.Created, app.Zone))
			}
			required, err := app.Keys.KeysRequired(ctx)
			if err != nil {
				return fmt.Errorf("read whether keys are required: %w", err)
			}
			if required && len(keys) == 0 {
				return app.Rows(
					list,
					t,
					"No key is in the store, although every request needs one: servers refuse everybody. Restore the store from a copy, or make a key: "+
						"oneiros keys add NAME%s",
					app.Option(),
				)
			}
			return app.Rows(list, t,
				"No keys yet: a server on a loopback address answers every client of this machine. Make one: oneiros keys add NAME%s",
				app.Option())
		}),
	}
}

func keysRevoke(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "revoke NAME|ID", Short: "Revoke a key; servers refuse it within 5 seconds", Args: cobra.ExactArgs(1),
		Example:           "  oneiros keys revoke laptop\n  oneiros keys revoke key_abcdefghijkl",
		ValidArgsFunction: completeKeys(app),
		RunE: app.InStore(func(ctx context.Context, args []string) error {
			k, err := findKey(ctx, app, args[0])
			if err != nil {
				return err
			}
			if k.Revoked.IsZero() {
				k.Revoked = app.Now().UTC()
				if err := app.Keys.PutKey(ctx, k); err != nil {
					return err
				}
			}
			if app.Json {
				return app.Answer(publicKeyOf(app, k))
			}
			app.Say("Key %s (%s) is revoked; servers refuse it within 5 seconds.", k.ID, k.Name)
			return nil
		}),
	}
}

// findKey finds a key by its id, or by its name: the one live key of this name, or without any the newest that has
// ended. Several live keys of one name are an error that lists their ids.
func findKey(ctx context.Context, app *cli.App, name string) (access.Key, error) {
	keys, err := app.Keys.Keys(ctx)
	if err != nil {
		return access.Key{}, err
	}
	var live, ended []access.Key
	for _, k := range keys {
		switch {
		case k.ID == name:
			return k, nil
		case k.Name != name:
		case k.Live(app.Now()):
			live = append(live, k)
		default:
			ended = append(ended, k)
		}
	}
	switch {
	case len(live) == 1:
		return live[0], nil
	case len(live) > 1:
		ids := make([]string, len(live))
		for i, k := range live {
			ids[i] = k.ID
		}
		return access.Key{}, exit.Usagef("%d keys are called %q; name one by its id: %s", len(live), name,
			strings.Join(ids, ", "))
	case len(ended) > 0:
		return slices.MaxFunc(ended, func(a, b access.Key) int { return a.Created.Compare(b.Created) }), nil
	}
	return access.Key{}, exit.NotFoundf("there is no key %q; oneiros keys list shows the names and ids of all",
		name)
}

// completeKeys completes keys that are not revoked; nothing when the store cannot be opened.
func completeKeys(app *cli.App) cobra.CompletionFunc {
	return cli.FirstArgument(func(cmd *cobra.Command) []string {
		if app.Within(cmd.Context()) != nil {
			return nil
		}
		var ids []string
		keys, _ := app.Keys.Keys(cmd.Context())
		for _, k := range keys {
			if k.Revoked.IsZero() {
				ids = append(ids, k.ID+"\t"+k.Name)
			}
		}
		return ids
	})
}
