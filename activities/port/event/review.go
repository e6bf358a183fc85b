package event

import "github.com/seed-56a03226/oneiros/activities/port/dream"

// ReviewRequested announces that an item made by a dream waits for a person's review and does not count yet.
type ReviewRequested struct {
	Item string     `json:"item_id"`
	Kind dream.Kind `json:"kind"`
}

// ReviewDecided announces a person's decision about proposed items of one dream.
type ReviewDecided struct {
	Items    []string `json:"item_ids"`
	Accepted bool     `json:"accepted"`
	By       string   `json:"by"`
}

// EventType is the wire name.
func (ReviewRequested) EventType() string { return "ReviewRequested" }

// EventType is the wire name.
func (ReviewDecided) EventType() string { return "ReviewDecided" }
