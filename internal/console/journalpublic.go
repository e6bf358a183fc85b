package console

import "github.com/seed-56a03226/oneiros/internal/dream"

// publicEntry is a journal entry as --json tells it: how its wake went is in milliseconds.
type publicEntry struct {
	*dream.Journal
	Wake *publicTimes `json:"wake,omitempty"`
}

// publicTimes are the four phases of a wake (W2), named as the event DreamInterrupted names them.
type publicTimes struct {
	Receipt  float64 `json:"receipt_ms"`
	Stop     float64 `json:"stop_ms"`
	Preserve float64 `json:"preserve_ms"`
	Switch   float64 `json:"switch_ms"`
	Light    bool    `json:"light"`
	Forced   bool    `json:"forced"`
}

// publicItem gives an item for --json.
func publicItem(item dream.Item) any {
	j, ok := item.(*dream.Journal)
	if !ok {
		return item
	}
	p := publicEntry{Journal: j}
	if w := j.Wake; w != nil {
		p.Wake = &publicTimes{millis(w.Receipt), millis(w.Stop), millis(w.Preserve), millis(w.Switch), w.Light, w.Forced}
	}
	return p
}

func publicItems(items []dream.Item) []any {
	list := make([]any, len(items))
	for i, item := range items {
		list[i] = publicItem(item)
	}
	return list
}
