package dreamcmd

import (
	"context"
	"errors"
	"math"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// recordColumns are the columns of a list of dreams.
func recordColumns() []cli.Column {
	return cli.Columns("DREAM", "BEGAN", "LASTED,right,drop=2", "OUTCOME", "TIER,drop=3", "KEPT,right,drop=1",
		"CALLS,right,drop=2", "SPENT,right", "BUDGET,right,drop=3", "REASON,flex,drop=4,under",
		"THEME,flex,drop=4")
}

// listAll lists the dreams of every agent that follow a dream, newest first.
func listAll(ctx context.Context, app *cli.App, q memory.Query, after string) error {
	agents, err := app.Store.Agents(ctx)
	if err != nil {
		return err
	}
	byID := map[string]dream.Agent{}
	ids := make([]string, len(agents))
	for i, a := range agents {
		ids[i], byID[a.ID] = a.ID, a
	}
	place, err := placeOf(ctx, app, after)
	if err != nil {
		return err
	}
	limit := q.Limit
	if limit == 0 {
		limit = math.MaxInt32
	}
	records, err := app.Fleet.Dreams(ctx, memory.DreamsQuery{
		Agents:   ids,
		States:   q.States,
		Statuses: q.Statuses,
		Since:    q.Since,
		Until:    q.Until,
		After:    place,
		Limit:    limit,
	})
	if err != nil {
		return err
	}
	t := &cli.Table{Columns: recordColumns()}
	list := make([]view.PublicRecord, len(records))
	for i, n := range records {
		row := recordRow(app, n, byID[n.Agent])
		row[0] = n.ID // a short id names no agent
		t.Add(row...)
		list[i] = view.Public(app, n)
	}
	if err := app.Rows(list, t, "No agent has such a dream."); err != nil {
		return err
	}
	if len(records) == limit && !app.Json {
		app.Note("The next: --after %s", records[limit-1].ID)
	}
	return nil
}

// placeOf is the place of a dream that is named by its whole id; before all of them when none is named.
func placeOf(ctx context.Context, app *cli.App, after string) (memory.DreamPlace, error) {
	if after == "" {
		return memory.DreamPlace{}, nil
	}
	id, handle, ok := psyche.DreamID(after)
	if !ok {
		return memory.DreamPlace{},
			exit.Usagef("--after is %q; it must be a dream's whole id, such as dream/iris/0042", after)
	}
	a, err := view.FindAgent(ctx, app.Deployment, handle)
	if err != nil {
		return memory.DreamPlace{}, err
	}
	n, err := memory.One[*dream.Record](ctx, app.Store, a.ID, id)
	if errors.Is(err, memory.ErrNotFound) {
		err = exit.NotFoundf("%w: %q; oneiros dreams list --all names them", view.ErrRecord, id)
	}
	if err != nil {
		return memory.DreamPlace{}, err
	}
	return memory.PlaceOf(n), nil
}
