package console

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/access"
)

func (app *App) keysRotate() *cobra.Command {
	grace := time.Duration(0)
	cmd := &cobra.Command{
		Use: "rotate NAME|ID", Short: "Give a key a new secret; what it said stays found", Args: cobra.ExactArgs(1),
		ValidArgsFunction: app.completeKeys,
		Long: `Rotate makes a key with a new secret and the same name, role, agents, limits and principal, and lets the old one expire:
at once, so that servers refuse it within 5 seconds, or after --grace, within which both open. What was said with the old
key is the new one's, and both together may cost and ask no more than one. A key that was to expire is followed by one that
lives as long as the old one was to live.

A key that was revoked or has expired is not rotated; keys add NAME --principal makes another for the same principal.`,
		Example: "  oneiros keys rotate laptop\n  oneiros keys rotate key_abcdefghijkl --grace 24h",
	}
	app.spanVar(cmd.Flags(), &grace, "grace",
		"how long the old secret still opens, as in 24h; not at all without (`duration`)")
	app.completes(cmd, "grace", nothing)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if grace < 0 {
			return exit(Usage, "--grace is %s; it must not be negative", grace)
		}
		h, err := app.within(cmd.Context())
		if err != nil {
			return err
		}
		old, err := app.rotatable(cmd.Context(), h, args[0])
		if err != nil {
			return err
		}
		now := app.Now().UTC()
		next, secret := old.Rotated(now)
		if err := h.Keys.PutKey(cmd.Context(), next); err != nil {
			return err
		}
		if ends := now.Add(grace); old.Expires.IsZero() || ends.Before(old.Expires) {
			old.Expires = ends
		}
		expiring := h.Keys.PutKey(cmd.Context(), old)
		if err := app.showNewKey(next, secret, false); err != nil {
			return err
		}
		if expiring != nil {
			return fmt.Errorf(
				"the new key is made, but the old one still opens: %w; end it with oneiros keys revoke %s", expiring,
				old.ID)
		}
		if grace == 0 {
			app.note("The old key %s has expired; servers refuse it within 5 seconds.", old.ID)
		} else {
			app.note("The old key %s opens until %s.", old.ID, when(old.Expires, app.Zone))
		}
		return nil
	}
	return cmd
}

// rotatable finds a live key by its id, or by a name that only one live key has.
func (app *App) rotatable(ctx context.Context, h *Deployment, name string) (access.Key, error) {
	keys, err := h.Keys.Keys(ctx)
	if err != nil {
		return access.Key{}, err
	}
	var live, ended []access.Key
	for _, k := range keys {
		if k.ID != name && k.Name != name {
			continue
		}
		if k.Live(app.Now()) {
			live = append(live, k)
		} else {
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
		return access.Key{},
			exit(Usage, "%d keys are called %q; name one by its id: %s", len(live), name, strings.Join(ids, ", "))
	case len(ended) > 0:
		k := ended[len(ended)-1]
		return access.Key{},
			exit(Usage,
				"the key %s (%s) was revoked or has expired; make another for the same principal: oneiros keys add %q --principal %s",
				k.ID, k.Name, k.Name, k.PrincipalName())
	}
	return access.Key{}, exit(NotFound, "there is no key %q; oneiros keys list tells the names and ids of all", name)
}

// speakingAs lists the ids of the keys that already speak as a principal; none for the empty principal.
func speakingAs(ctx context.Context, h *Deployment, principal string) ([]string, error) {
	if principal == "" {
		return nil, nil
	}
	keys, err := h.Keys.Keys(ctx)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, k := range keys {
		if k.PrincipalName() == principal {
			ids = append(ids, k.ID)
		}
	}
	return ids, nil
}

// noteShared says which keys a new key shares memories with, in case the name was meant for a new principal.
func (app *App) noteShared(k access.Key, others []string) {
	switch {
	case k.Principal == access.Local:
		app.note("It speaks as %s: what was said without a key is its own, too.", access.Local)
	case len(others) > 0:
		app.note("It speaks as %s, as do %s: they find what each other said, and share limits and day.", k.Principal,
			strings.Join(others, ", "))
	}
}

// principals completes principals; nothing when the store cannot be opened.
func (app *App) principals(cmd *cobra.Command) []string {
	h, err := app.within(existing(cmd))
	if err != nil {
		return nil
	}
	keys, _ := h.Keys.Keys(existing(cmd))
	names := []string{access.Local}
	for _, k := range keys {
		names = append(names, k.PrincipalName())
	}
	slices.Sort(names)
	return slices.Compact(names)
}
