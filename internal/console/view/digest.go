package view

import (
	"context"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/journal"
)

// Digest is what a client is shown of dreams.
type Digest struct {
	Mode    string        `json:"mode"`
	Private bool          `json:"private,omitempty"` // clients are shown nothing of dreams, whatever they ask for
	Label   string        `json:"label,omitempty"`
	Header  string        `json:"header,omitempty"`
	Message string        `json:"message,omitempty"`
	Entries []digestEntry `json:"entries,omitempty"`
}

type digestEntry struct {
	ID           string      `json:"id"`
	Dream        string      `json:"dream"`
	Significance float64     `json:"significance"`
	Topics       []string    `json:"topics,omitempty"`
	Taint        dream.Taint `json:"taint"`
	Content      string      `json:"content"`
}

// DigestOf reads what may be shown of a wake in the given mode. It reads nothing else of the dream.
func DigestOf(ctx context.Context, app *cli.App, a dream.Agent, w presence.Wake, mode string) (Digest, error) {
	if mode == "" {
		mode = app.Digest
	}
	if mode == "" {
		mode = journal.DigestMessage
	}
	d := Digest{Mode: mode, Private: app.Private}
	if app.Private || mode == journal.DigestOff || len(w.Digest) == 0 {
		return d, nil
	}
	items, err := app.Store.Get(ctx, a.ID, w.Digest...)
	if err != nil {
		return d, err
	}
	entries := journal.Visible(memory.As[*dream.Journal](items))
	if len(entries) == 0 {
		return d, nil
	}
	d.Label, d.Header = journal.Label, journal.Header(entries)
	if mode == journal.DigestHeader {
		return d, nil
	}
	d.Message = journal.Background(entries)
	for _, j := range entries {
		d.Entries = append(d.Entries, digestEntry{j.ID, j.Dream, j.Significance, j.Topics, j.Taint, j.Content})
	}
	return d, nil
}

// HidesDreams reports whether nothing of dreams is shown, not even how much there is.
func (d Digest) HidesDreams() bool { return d.Private || d.Mode == journal.DigestOff }

// Text says in one line how much there is.
func (d Digest) Text() string {
	switch {
	case d.Private:
		return "kept private (agent.private)"
	case d.Mode == journal.DigestOff:
		return ""
	case d.Label == "":
		return "nothing new worth telling"
	case d.Mode == journal.DigestHeader:
		return d.Header
	}
	return cli.Plural(len(d.Entries), "entry", "entries") + " (" + d.Label + "):"
}
