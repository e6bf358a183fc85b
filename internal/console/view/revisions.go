package view

import (
	"context"
	"strconv"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
)

// revision is an earlier state of an item, for --json.
type revision struct {
	Number int        `json:"number"`
	Cause  string     `json:"cause"`
	At     time.Time  `json:"at"`
	Item   dream.Item `json:"item"`
}

// ShowRevisions prints the item as it is and then its earlier states.
func ShowRevisions(ctx context.Context, app *cli.App, a dream.Agent, item dream.Item) error {
	revisions, err := app.Store.Revisions(ctx, a.ID, item.Header().ID)
	if err != nil {
		return err
	}
	if app.Json {
		list := make([]revision, len(revisions))
		for i, r := range revisions {
			list[i] = revision(r)
		}
		return app.Answer(list)
	}
	if err := ShowItem(app, a, item); err != nil {
		return err
	}
	app.Say("")
	t := cli.NewTable("#,right", "WHEN", "CAUSE", "STATE", "STATUS,drop=1", "SCORE,right,drop=2", "TEXT,flex")
	for _, r := range revisions {
		t.Add(strconv.Itoa(r.Number), cli.When(r.At, a.Zone), cli.Short(r.Cause, a), string(r.Item.Header().State),
			cli.OrDash(r.Item.Marks().Status), cli.Score(r.Item.Marks().Score), r.Item.Text())
	}
	return app.Rows(cli.OrEmpty(revisions), t, "It has no revisions.")
}
