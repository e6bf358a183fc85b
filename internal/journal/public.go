package journal

import (
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Public is a journal entry in the form that operators see on the command line and in the API: the times of its wake
// are in milliseconds.
type Public struct {
	*dream.Journal
	Wake *Times `json:"wake,omitempty"`
}

// Times are the four phases of a wake, named as in the event DreamInterrupted.
type Times struct {
	Receipt  float64 `json:"receipt_ms"`
	Stop     float64 `json:"stop_ms"`
	Preserve float64 `json:"preserve_ms"`
	Switch   float64 `json:"switch_ms"`
	Light    bool    `json:"light"`
	Forced   bool    `json:"forced"`
}

// PublicOf returns the public form of an entry.
func PublicOf(j *dream.Journal) Public {
	p := Public{Journal: j}
	if w := j.Wake; w != nil {
		p.Wake = &Times{millis(w.Receipt), millis(w.Stop), millis(w.Preserve), millis(w.Switch), w.Light, w.Forced}
	}
	return p
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
