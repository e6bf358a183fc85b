package dream

import (
	"fmt"

	"github.com/seed-56a03226/oneiros/internal/mood"
)

// Valence says how what a marker was learned from came out.
type Valence string

// The valences.
const (
	CameOutWell  Valence = "good"
	CameOutBadly Valence = "bad"
)

// Marker is a somatic marker: what strong feeling with a known outcome has taught. It holds no words of its own; its
// place in the embedder's space is the mean of its sources' vectors, so that another embedder takes it along and what
// is forgotten takes its part away.
type Marker struct {
	Head              // Sources are the episodes it was learned from, the first first
	Affect   mood.PAD `json:"affect"`   // the mean over them
	Strength float64  `json:"strength"` // of that feeling, in [0, 1]
	Valence  Valence  `json:"valence"`
	Count    int      `json:"count"` // episodes it was learned from, forgotten ones included
}

// Marks of a marker.
func (m *Marker) Marks() Marks { return Marks{Score: m.Strength, Status: string(m.Valence)} }

// Text of a marker says what it is, not what it is about: that stands in its sources.
func (m *Marker) Text() string {
	times := "once"
	if m.Count > 1 {
		times = fmt.Sprintf("%d times", m.Count)
	}
	return fmt.Sprintf("a strong feeling (pleasure %+.2f, arousal %+.2f, dominance %+.2f) that came out %s, %s",
		m.Affect.Pleasure, m.Affect.Arousal, m.Affect.Dominance,
		map[Valence]string{CameOutWell: "well", CameOutBadly: "badly"}[m.Valence], times)
}
