package console

import (
	"context"
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

// mayDream refuses to begin a dream of an agent that a client holds awake.
func (app *App) mayDream(ctx context.Context, h *Deployment, a dream.Agent) error {
	s, err := app.status(ctx, h, a)
	if err != nil || !s.Awake(app.Now()) {
		return err
	}
	by, how := "the wake lock", ""
	if len(s.Leases) > 0 {
		by = strings.Join(holders(s.Leases, app.Now(), a.Zone), ", ")
	}
	switch connected := clientsOf(s); {
	case len(connected) > 1:
		how = " --force"
	case len(connected) == 1 && len(s.Leases) == 1: // leases of other kinds end only with oneiros sleep --force
		how = " --client " + quotedArg(connected[0].Client)
	case len(connected) == 1:
		how = " --force"
	}
	return exit(Refused, "%s is held awake by %s: no dream begins before %s; oneiros sleep --agent %s%s%s ends that",
		a.Handle, by, clock(s.Until(), app.Now(), a.Zone), a.Handle, how, h.option())
}

// underWay finds the dream of an agent whose workflow runs on the engine's server; empty when there is none.
func underWay(ctx context.Context, h *Deployment, engine Engine, a dream.Agent) (string, error) {
	slots, err := h.Store.Slots(ctx)
	if err != nil {
		return "", err
	}
	latest, err := h.Store.Find(ctx, memory.Query{Agent: a.ID, Kinds: []dream.Kind{dream.KindRecord}, Limit: 1})
	if err != nil {
		return "", err
	}
	var ids []string
	if held, ok := slots[a.ID]; ok {
		ids = append(ids, held.Dream)
	}
	for _, n := range memory.As[*dream.Record](latest) { // begun and not closed
		if (n.Outcome == dream.Dreaming || n.Resumable()) && !slices.Contains(ids, n.ID) {
			ids = append(ids, n.ID)
		}
	}
	for _, id := range ids {
		if alive, err := engine.Dreams().Running(ctx, id); err != nil || alive {
			return id, err
		}
	}
	return "", nil
}
