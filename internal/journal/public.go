package journal

import (
	"time"

	"github.com/seed-56a03226/oneiros/internal/dream"
)

// Public is a journal entry as operators are told of it, on the command line and on the wire: how its wake went is in
// milliseconds.
type Public struct {
	*dream.Journal
	Wake *Times `json:"wake,omitempty"`
}

// Times are the four phases of a wake, named as the event DreamInterrupted names them.
type Times struct {
	Receipt  float64 `json:"receipt_ms"`
	Stop     float64 `json:"stop_ms"`
	Preserve float64 `json:"preserve_ms"`
	Switch   float64 `json:"switch_ms"`
	Light    bool    `json:"light"`
	Forced   bool    `json:"forced"`
}

// Told gives an entry for the public.
func Told(j *dream.Journal) Public {
	p := Public{Journal: j}
	if w := j.Wake; w != nil {
		p.Wake = &Times{millis(w.Receipt), millis(w.Stop), millis(w.Preserve), millis(w.Switch), w.Light, w.Forced}
	}
	return p
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
