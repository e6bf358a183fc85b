package servecmd

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

func keysRotate(app *cli.App) *cobra.Command {
	grace := time.Duration(0)
	cmd := &cobra.Command{
		Use: "rotate NAME|ID", Short: "Give a key a new secret; what it said stays found", Args: cobra.ExactArgs(1),
		ValidArgsFunction: completeKeys(app),
		Long: `Rotate makes a key with a new secret and the same name, role, agents, limits and principal, and lets the old one expire:
at once, so that servers refuse it within 5 seconds, or after --grace, within which both open. What was said with the old
key is the new one's, and both together may cost and ask no more than one. A key that was to expire is followed by one that
lives as long as the old one was to live.

A key that was revoked or has expired is not rotated; keys add NAME --principal makes another for the same principal.`,
		Example: "  oneiros keys rotate laptop\n  oneiros keys rotate key_abcdefghijkl --grace 24h",
	}
	cli.SpanVar(cmd.Flags(), &grace, "grace",
		"how long the old secret still opens, as in 24h; not at all without (`duration`)")
	view.Completes(app, cmd, "grace", cli.Nothing)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		if grace < 0 {
			return exit.Usagef("--grace is %s; it must not be negative", grace)
		}
		err := app.Within(ctx)
		if err != nil {
			return err
		}
		old, err := rotatable(ctx, app, args[0])
		if err != nil {
			return err
		}
		now := app.Now().UTC()
		next, secret := old.Rotated(now)
		if err := app.Keys.PutKey(ctx, next); err != nil {
			return err
		}
		if ends := now.Add(grace); old.Expires.IsZero() || ends.Before(old.Expires) {
			old.Expires = ends
		}
		expiring := app.Keys.PutKey(ctx, old)
		if err := showNewKey(app, next, secret, false); err != nil {
			return err
		}
		if expiring != nil {
			return fmt.Errorf(
				"the new key is made, but the old one still opens: %w; end it with oneiros keys revoke %s", expiring,
				old.ID)
		}
		if grace == 0 {
			app.Note("The old key %s has expired; servers refuse it within 5 seconds.", old.ID)
		} else {
			app.Note("The old key %s opens until %s.", old.ID, cli.When(old.Expires, app.Zone))
		}
		return nil
	}
	return cmd
}

// rotatable finds a live key by its id, or by a name that only one live key has.
func rotatable(ctx context.Context, app *cli.App, name string) (access.Key, error) {
	k, err := findKey(ctx, app, name)
	if err != nil || k.Live(app.Now()) {
		return k, err
	}
	return access.Key{}, exit.Usagef("the key %s (%s) was revoked or has expired; make another for the same principal: oneiros keys add %q --principal %s",
		k.ID, k.Name, k.Name, k.PrincipalName())
}

// noteShared says which keys a new key shares memories with, in case the name was meant for a new principal.
func noteShared(app *cli.App, k access.Key, others []string) {
	switch {
	case k.Principal == access.Local:
		app.Note("It speaks as %s: what was said without a key is its own, too.", access.Local)
	case len(others) > 0:
		app.Note("It speaks as %s, as do %s: they find what each other said, and share limits and day.", k.Principal,
			strings.Join(others, ", "))
	}
}
