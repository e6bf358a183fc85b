package dreamcmd

import (
	"context"
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

// mayDream refuses to begin a dream of an agent that a client holds awake.
func mayDream(ctx context.Context, app *cli.App, a dream.Agent) error {
	s, err := view.Status(ctx, app, a)
	if err != nil || !s.Awake(app.Now()) {
		return err
	}
	by, how := "the wake lock", ""
	if len(s.Leases) > 0 {
		by = strings.Join(view.Holders(s.Leases, app.Now(), a.Zone), ", ")
	}
	switch connected := view.ClientsOf(s); {
	case len(connected) > 1:
		how = " --force"
	case len(connected) == 1 && len(s.Leases) == 1: // leases of other kinds end only with oneiros sleep --force
		how = " --client " + deploy.QuotedArg(connected[0].Client)
	case len(connected) == 1:
		how = " --force"
	}
	return exit.Refusedf("%s is held awake by %s: no dream begins before %s; oneiros sleep --agent %s%s%s ends that",
		a.Handle, by, cli.Clock(s.Until(), app.Now(), a.Zone), a.Handle, how, app.Option())
}

// underWay finds the dream of an agent whose workflow runs on the engine's server; empty when there is none.
func underWay(ctx context.Context, app *cli.App, engine deploy.Engine, a dream.Agent) (string, error) {
	slots, err := app.Store.Slots(ctx)
	if err != nil {
		return "", err
	}
	n, err := view.LastDream(ctx, app, a)
	if err != nil {
		return "", err
	}
	var ids []string
	if held, ok := slots[a.ID]; ok {
		ids = append(ids, held.Dream)
	}
	if n != nil && (n.Outcome == dream.Dreaming || n.Resumable()) && !slices.Contains(ids, n.ID) { // not closed
		ids = append(ids, n.ID)
	}
	for _, id := range ids {
		if alive, err := engine.Workflows().Running(ctx, id); err != nil || alive {
			return id, err
		}
	}
	return "", nil
}
