package event

import "github.com/seed-56a03226/oneiros/internal/dream"

// ReviewAsked announces that an item made by a dream waits for a person's review and does not count yet.
type ReviewAsked struct {
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
func (ReviewAsked) EventType() string { return "ReviewAsked" }

// EventType is the wire name.
func (ReviewDecided) EventType() string { return "ReviewDecided" }
