package view

import (
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
)

// PublicRecord is a dream's record for --json.
type PublicRecord struct {
	*dream.Record
	Status  dream.Status  `json:"status"`
	Resumes int           `json:"resumes,omitempty"`
	Recall  *publicRecall `json:"recall,omitempty"`

	Stretches *int `json:"sittings,omitempty"` // never set; these three hide what only the store needs
	Connected *int `json:"knocked,omitempty"`
	Felt      *int `json:"felt,omitempty"`
}

// publicRecall is the effect of a dream on recall, for --json.
type publicRecall struct {
	dream.Recall
	Requested *int `json:"asked,omitempty"` // never set; hides the stored name
	Checked   int  `json:"checked"`
}

// Public adds the public status to a record.
func Public(app *cli.App, n *dream.Record) PublicRecord {
	p := PublicRecord{Record: n, Status: n.Status(app.Now()), Resumes: max(0, n.Stretches-1)}
	if n.Recall != nil {
		p.Recall = &publicRecall{Recall: *n.Recall, Checked: n.Recall.Requested}
	}
	return p
}

// Reason is why a dream ended, or until when an interrupted one can be resumed.
func Reason(app *cli.App, n *dream.Record, zone string) string {
	switch {
	case MayGoOn(app, n):
		return n.Reason + "; resumable until " + cli.Clock(n.Until, app.Now(), zone)
	case n.Resumable():
		return n.Reason + "; its time to be resumed ran out at " + cli.Clock(n.Until, app.Now(), zone)
	}
	return n.Reason
}
