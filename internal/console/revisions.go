package console

import (
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/dream"
)

// revision is an earlier state of an item, for --json.
type revision struct {
	Number int        `json:"number"`
	Cause  string     `json:"cause"`
	At     time.Time  `json:"at"`
	Item   dream.Item `json:"item"`
}

// showRevisions prints the item as it is and then its earlier states.
func (app *App) showRevisions(cmd *cobra.Command, h *Deployment, a dream.Agent, item dream.Item) error {
	revisions, err := h.Store.Revisions(cmd.Context(), a.ID, item.Header().ID)
	if err != nil {
		return err
	}
	if app.json {
		list := make([]revision, len(revisions))
		for i, r := range revisions {
			list[i] = revision(r)
		}
		return app.answer(list)
	}
	if err := app.showItem(app.Out, a, item); err != nil {
		return err
	}
	app.say("")
	t := &table{
		columns: []column{
			{title: "#", right: true},
			{title: "WHEN"},
			{title: "CAUSE"},
			{title: "STATE"},
			{title: "STATUS", drop: 1},
			{title: "SCORE", right: true, drop: 2},
			{title: "TEXT", flex: true},
		},
	}
	for _, r := range revisions {
		t.add(strconv.Itoa(r.Number), when(r.At, a.Zone), short(r.Cause, a), string(r.Item.Header().State),
			orDash(r.Item.Marks().Status), score(r.Item.Marks().Score), r.Item.Text())
	}
	return app.rows(orEmpty(revisions), t, "It has no revisions.")
}
