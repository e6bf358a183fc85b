// Package derive fills in what the sources of memories lack, from their words alone: context, outcome, salience,
// surprise, affect and knowledge. It calls no model and keeps nothing.
package derive

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Draft is an episode as far as its source describes it.
type Draft struct {
	Line     int
	Episode  dream.Episode
	Stamp    string // the time as the source writes it; empty when it has none
	Undated  bool   // the time must come from the file
	Exact    bool   // the line is an export: nothing is filled in
	Salient  bool   // the source states salience,
	Surprise bool   // surprise,
	Felt     bool   // affect

	Scene  string // where it happened, such as "in the diary"; empty when unknown
	Dated  bool   // a clock time is known, not only a day
	Turns  []Turn // the turns of the exchange, when the episode is talk
	Before *Turn  // the turn just before, in the same conversation
	After  *Turn  // the turn just after
	Cast   []string
}

// Turn is what one speaker said without interruption.
type Turn struct {
	Speaker string
	Taint   dream.Taint
	Text    string
}

// id names an episode by its content, so that importing twice adds nothing.
func (d *Draft) id(agent string) string {
	return ContentID("ep_", agent, d.Stamp, d.Episode.Speaker, d.Episode.Content)
}

// ContentID is a prefix and 16 hex digits of the SHA-256 of the parts. Cleaned text holds no NUL, so parts cannot run
// together.
func ContentID(prefix string, parts ...string) string {
	sum := sha256.New()
	for _, part := range parts {
		sum.Write([]byte(part))
		sum.Write([]byte{0})
	}
	return prefix + hex.EncodeToString(sum.Sum(nil)[:8])
}

// voices are what was said in a draft, without the names before it.
func (d *Draft) voices(into []Turn) []Turn {
	if d.Turns == nil {
		return append(into, Turn{d.Episode.Speaker, d.Episode.Taint, d.Episode.Content})
	}
	return append(into, d.Turns...)
}
