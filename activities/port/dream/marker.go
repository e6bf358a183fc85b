package dream

import (
	"fmt"

	"github.com/seed-56a03226/oneiros/activities/port/mood"
)

// Valence is whether the episodes of a marker came out well or badly.
type Valence string

// The valences.
const (
	CameOutWell  Valence = "good"
	CameOutBadly Valence = "bad"
)

// Marker is a somatic marker, learned from strong affect with a known outcome. It has no text of its own. Its
// position in the vector space is the mean of its sources' vectors, so it follows a change of the embedder, and a
// removed source no longer counts.
type Marker struct {
	Head              // Sources are the episodes it was learned from, in order
	Affect   mood.PAD `json:"affect"`   // the mean over them
	Strength float64  `json:"strength"` // of the affect, in [0, 1]
	Valence  Valence  `json:"valence"`
	Count    int      `json:"count"` // episodes it was learned from, including removed ones
}

// Marks of a marker.
func (m *Marker) Marks() Marks { return Marks{Score: m.Strength, Status: string(m.Valence)} }

// Text of a marker describes it, not its sources.
func (m *Marker) Text() string {
	times := "once"
	if m.Count > 1 {
		times = fmt.Sprintf("%d times", m.Count)
	}
	return fmt.Sprintf("a strong feeling (pleasure %+.2f, arousal %+.2f, dominance %+.2f) that came out %s, %s",
		m.Affect.Pleasure, m.Affect.Arousal, m.Affect.Dominance,
		map[Valence]string{CameOutWell: "well", CameOutBadly: "badly"}[m.Valence], times)
}
