package event

import "github.com/seed-56a03226/oneiros/internal/dream"

// ReviewAsked announces that something a dream made waits for a person and does not count until then.
type ReviewAsked struct {
	Item string     `json:"item_id"`
	Kind dream.Kind `json:"kind"`
}

// ReviewDecided announces what a person decided about things that waited, all of one dream and all at once.
type ReviewDecided struct {
	Items    []string `json:"item_ids"`
	Accepted bool     `json:"accepted"`
	By       string   `json:"by"`
}

// EventType of each payload is its name on the wire.
func (ReviewAsked) EventType() string   { return "ReviewAsked" }
func (ReviewDecided) EventType() string { return "ReviewDecided" }
