package memorycmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// publicOwned is how much an agent has of one owner.
type publicOwned struct {
	psyche.OwnedMemories
	Keys []string `json:"keys"` // names of the live keys that speak as the principal
}

func memoryOwners(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "owners", Short: "List who an agent keeps talk of",
		Long: `Owners lists whose talk an agent keeps: principals, and the users that their clients named. What was said in a talk is recalled
only for its owner; what is nobody's talk is the agent's own and is not listed.`,
	}
	return view.ForAgent(app, cmd, func(ctx context.Context, a dream.Agent, _ []string) error {
		list, err := ownersOf(ctx, app, a)
		if err != nil {
			return err
		}
		t := cli.NewTable("PRINCIPAL", "USER,flex,least=8", "MEMORIES,right", "OTHERS,right,drop=2", "NEWEST,drop=1",
			"KEYS,flex,least=12,drop=3")
		for _, o := range list {
			t.Add(o.Principal, cli.OrDash(o.User), fmt.Sprint(o.Memories), fmt.Sprint(o.Others),
				cli.When(o.Newest, app.Zone), cli.OrDash(strings.Join(o.Keys, ", ")))
		}
		return app.Rows(list, t, "%s keeps no talk of anybody.", a.Handle)
	})
}

func ownersOf(ctx context.Context, app *cli.App, a dream.Agent) ([]publicOwned, error) {
	owned, err := psyche.Owners(ctx, app.Store, a.ID)
	if err != nil {
		return nil, err
	}
	keys, err := app.Keys.Keys(ctx)
	if err != nil {
		return nil, err
	}
	named := map[string][]string{}
	for _, k := range keys {
		if k.Live(app.Now()) {
			named[k.PrincipalName()] = append(named[k.PrincipalName()], k.Name)
		}
	}
	list := make([]publicOwned, len(owned))
	for i, o := range owned {
		list[i] = publicOwned{o, cli.OrEmpty(named[o.Principal])}
	}
	return list, nil
}

// publicGift is what was transferred from one owner to another.
type publicGift struct {
	From     string `json:"from"`
	To       string `json:"to"`
	Memories int    `json:"memories"`
}

func memoryOwn(app *cli.App) *cobra.Command {
	var from, to string
	var yes, dry bool
	cmd := &cobra.Command{
		Use: "own", Short: "Give what one principal said to another",
		Long: `Own makes what one owner said to an agent another's: from then on it is recalled for the new owner and no longer for the
old one. Each memory gets a revision that says so; the old ones stay.

An owner is a principal, which is every user of it, or principal/user, or principal/ for what was said without naming a user.
Where --to names no user, users keep their names. local is a client without a key. memory owners lists who there is.

A server that runs goes on as before; what is said while the command runs may stay the old owner's, and giving it again takes
that, too.`,
		Example: "  oneiros memory own --agent iris --from key_abcdefghijkl --to anna\n  oneiros memory own --agent iris --from local/ --to anna --dry-run",
	}
	view.AddAgentFlag(app, cmd)
	cmd.Flags().StringVar(&from, "from", "", "whose it is now: a principal or principal/user (`owner`)")
	cmd.Flags().StringVar(&to, "to", "", "whose it becomes (`owner`)")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only count what would change")
	for _, flag := range []string{"from", "to"} {
		view.Completes(app, cmd, flag, view.With(app, view.Principals))
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		ctx := cmd.Context()
		giver, receiver, err := owners(from, to)
		if err != nil {
			return err
		}
		a, err := view.AgentOf(app, cmd)
		if err != nil {
			return err
		}
		planned, err := psyche.Transfer(ctx, app.Store, a.ID, giver, receiver, true)
		if err != nil {
			return exit.AsUsage(err)
		}
		if len(planned) == 0 {
			return nothingOf(ctx, app, a, giver)
		}
		if dry {
			return reportGiven(app, a, planned, true)
		}
		if err := app.Confirm(yes,
			fmt.Sprintf("This gives %s that %s said to %s to %s", cli.Plural(sum(planned), "memory", "memories"), giver,
				a.Handle, receiver)); err != nil {
			return err
		}
		given, err := psyche.Transfer(ctx, app.Store, a.ID, giver, receiver, false)
		if err != nil {
			return fmt.Errorf(
				"give what %s said: %w; part of it may be %s's already, and giving it again takes the rest", giver,
				err, receiver)
		}
		return reportGiven(app, a, given, false)
	}
	return cmd
}

func owners(from, to string) (giver, receiver psyche.Owner, err error) {
	for _, each := range []struct {
		flag, text string
		into       *psyche.Owner
	}{{"--from", from, &giver}, {"--to", to, &receiver}} {
		if each.text == "" {
			return giver, receiver,
				exit.Usagef("%s is missing: a principal, or principal/user; oneiros memory owners lists who there is",
					each.flag)
		}
		*each.into, err = psyche.ParseOwner(each.text)
		if err != nil {
			return giver, receiver, exit.Usagef("%s: %w", each.flag, err)
		}
	}
	return giver, receiver, nil
}

func sum(given []psyche.TransferResult) int {
	n := 0
	for _, g := range given {
		n += g.Memories
	}
	return n
}

// nothingOf reports that there is nothing to transfer, and which owners there are.
func nothingOf(ctx context.Context, app *cli.App, a dream.Agent, giver psyche.Owner) error {
	list, err := ownersOf(ctx, app, a)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return exit.NotFoundf("%s keeps no talk of %s, nor of anybody else", a.Handle, giver)
	}
	var names []string
	for _, o := range list[:min(len(list), mostOwnersNamed)] {
		names = append(names, psyche.Owner{Principal: o.Principal, User: o.User}.String())
	}
	if len(list) > mostOwnersNamed {
		names = append(names,
			fmt.Sprintf("and %d more (oneiros memory owners lists them)", len(list)-mostOwnersNamed))
	}
	return exit.NotFoundf("%s keeps nothing that %s said; it keeps talk of %s", a.Handle, giver,
		strings.Join(names, ", "))
}

const mostOwnersNamed = 20

func reportGiven(app *cli.App, a dream.Agent, given []psyche.TransferResult, dry bool) error {
	list := make([]publicGift, len(given))
	for i, g := range given {
		list[i] = publicGift{From: g.From.String(), To: g.To.String(), Memories: g.Memories}
	}
	if app.Json {
		return app.Answer(map[string]any{"agent": a.Handle, "given": list, "memories": sum(given), "dry_run": dry})
	}
	verb := "is now of"
	if dry {
		verb = "would be of"
	}
	for _, g := range list {
		app.Say("%s of %s %s %s.", cli.Plural(g.Memories, "memory", "memories"), g.From, verb, g.To)
	}
	if dry {
		app.Note("Nothing was changed.")
	}
	return nil
}
