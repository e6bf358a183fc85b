package console

import (
	"context"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/journal"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/presence"
)

// digest is what a client is shown of dreams.
type digest struct {
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

// digestOf reads what may be shown of a wake in the given mode. It reads nothing else of the dream.
func digestOf(ctx context.Context, h *Deployment, a dream.Agent, w presence.Wake, mode string) (digest, error) {
	if mode == "" {
		mode = h.Digest
	}
	if mode == "" {
		mode = journal.DigestMessage
	}
	d := digest{Mode: mode, Private: h.Private}
	if h.Private || mode == journal.DigestOff || len(w.Digest) == 0 {
		return d, nil
	}
	items, err := h.Store.Get(ctx, a.ID, w.Digest...)
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

// hidesDreams reports whether nothing of dreams is shown, not even how much there is.
func (d digest) hidesDreams() bool { return d.Private || d.Mode == journal.DigestOff }

// text says in one line how much there is.
func (d digest) text() string {
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
	return plural(len(d.Entries), "entry", "entries") + " (" + d.Label + "):"
}

// quoted wraps a message for the screen and marks every line of it as a quotation.
func quoted(message string, width int) string {
	lines := strings.Split(strings.TrimRight(message, "\n"), "\n")
	for i, line := range lines {
		mark, rest := "", line
		if strings.HasPrefix(line, "> ") {
			mark, rest = "> ", line[2:]
		}
		lines[i] = wrap(flat(rest), width, mark)
	}
	return strings.Join(lines, "\n")
}
