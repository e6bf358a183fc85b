package memory

import (
	"slices"
	"time"
)

// Overload is a time in which a server refused requests because it had as many under way as it may.
type Overload struct {
	Server   string        `json:"server"` // its process
	Since    time.Time     `json:"since"`
	Last     time.Time     `json:"last"`
	Refused  int           `json:"refused"`
	Waited   int           `json:"waited"`  // requests that got no place at once
	Longest  time.Duration `json:"longest"` // of these waits
	Heaviest []PlaceShare  `json:"heaviest,omitempty"`
}

// PlaceShare is what a principal held of all places that were held, from 0 to 1. Clients without a key have no name.
type PlaceShare struct {
	Principal string  `json:"principal"`
	Share     float64 `json:"share"`
}

const (
	// OverloadKept is how long an overload that is over is kept.
	OverloadKept = 15 * time.Minute
	// keptOverloads is of how many servers the newest overload is kept.
	keptOverloads = 32
)

// WithOverload adds what a server reports to what it reported before, and drops what is over for long. It is a new
// value: others may hold the one before.
func (s SweepState) WithOverload(o Overload) SweepState {
	var all []Overload
	for _, one := range s.Overloads {
		switch {
		case o.Last.Sub(one.Last) >= OverloadKept:
		case one.Server == o.Server:
			o.Since = one.Since
			o.Refused, o.Waited = o.Refused+one.Refused, o.Waited+one.Waited
			o.Longest = max(o.Longest, one.Longest)
		default:
			all = append(all, one)
		}
	}
	s.Overloads = append(all, o)
	s.Overloads = slices.Clip(s.Overloads[max(0, len(s.Overloads)-keptOverloads):])
	return s
}
