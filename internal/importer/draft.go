package importer

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/dream"
)

// draft is an episode as far as its source describes it.
type draft struct {
	line     int
	ep       dream.Episode
	stamp    string // the time as the source writes it; empty when it has none
	undated  bool   // the time must come from the file
	exact    bool   // the line is an export: nothing is filled in
	salient  bool   // the source states salience,
	surprise bool   // surprise,
	felt     bool   // affect

	scene  string // where it happened, such as "in the diary"; empty when unknown
	dated  bool   // a clock time is known, not only a day
	turns  []turn // the turns of the exchange, when the episode is talk
	before *turn  // the turn just before, in the same conversation
	after  *turn  // the turn just after
	cast   []string
}

// turn is what one speaker said without interruption.
type turn struct {
	line    int
	speaker string
	taint   dream.Taint
	text    string
	session string
	when    moment
	undated bool
	name    string // the source's id of the turn; empty when it has none
}

// id names an episode by its content, so that importing twice adds nothing.
func (d *draft) id(agent string) string {
	return contentID("ep_", agent, d.stamp, d.ep.Speaker, d.ep.Content)
}

// contentID is a prefix and 16 hex digits of the SHA-256 of the parts. Cleaned text holds no NUL, so parts cannot run
// together.
func contentID(prefix string, parts ...string) string {
	sum := sha256.New()
	for _, part := range parts {
		sum.Write([]byte(part))
		sum.Write([]byte{0})
	}
	return prefix + hex.EncodeToString(sum.Sum(nil)[:8])
}

// origin is "file:line".
func (s *source) origin(line int) string { return filepath.Base(s.name) + ":" + strconv.Itoa(line) }

// originOf is "file:line"; for turns with ids in their source, "file:" and the ids.
func (s *source) originOf(turns []turn) string {
	var names []string
	for _, t := range turns {
		if t.name == "" {
			return s.origin(turns[0].line)
		}
		names = append(names, t.name)
	}
	return filepath.Base(s.name) + ":" + strings.Join(names, ",")
}

// taintOf translates the roles of chat formats. An unknown role counts as human.
func taintOf(role string) dream.Taint {
	switch role {
	case "assistant", "model", "gpt", "ai", "bot":
		return dream.FromAgent
	case "tool", "function":
		return dream.FromTool
	default:
		return dream.FromHuman
	}
}

// voice is a text and who spoke it.
type voice struct{ speaker, text string }

// voices are the texts of a draft without the names before them.
func (d *draft) voices(into []voice) []voice {
	if d.turns == nil {
		return append(into, voice{d.ep.Speaker, d.ep.Content})
	}
	for _, t := range d.turns {
		into = append(into, voice{t.speaker, t.text})
	}
	return into
}
