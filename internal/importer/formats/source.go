// Package formats reads memories from files of other programs and of our own: one reader a format, and how a format is
// recognised.
package formats

import (
	"bufio"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/importer/derive"
)

// Sink takes what a reader finds. Draft and Item may return an error to stop the reading.
type Sink struct {
	Draft func(*derive.Draft) error             // an episode
	Item  func(item dream.Item, line int) error // anything else
	Bad   func(line int, reason string)         // a record that cannot be read
	Read  func(records int)                     // how many records were read since the last call
}

// Source is an opened file with what its reader needs.
type Source struct {
	In       *bufio.Reader
	Name     string
	Zone     *time.Location
	Agent    string
	Dialogue string                                         // the only dialogue to read of a LoCoMo file; empty: all
	Due      func(at time.Time, strength float64) time.Time // when knowledge fades; nil: it has no due time
}

// Read reads the source as a format.
func (s *Source) Read(format Format, to *Sink) error {
	switch format {
	case JSONL:
		return readJSONL(s, to)
	case Chat:
		return readChat(s, to)
	case ChatGPT:
		return readChatGPT(s, to)
	case Diary:
		return readDiary(s, to)
	case LoCoMo:
		return readLoCoMo(s, to)
	default:
		return fmt.Errorf("format %q is unknown; formats are %s", format, Names())
	}
}

// origin is "file:line".
func (s *Source) origin(line int) string { return filepath.Base(s.Name) + ":" + strconv.Itoa(line) }

// originOf is "file:line"; for turns with ids in their source, "file:" and the ids.
func (s *Source) originOf(turns []message) string {
	var names []string
	for _, t := range turns {
		if t.name == "" {
			return s.origin(turns[0].line)
		}
		names = append(names, t.name)
	}
	return filepath.Base(s.Name) + ":" + strings.Join(names, ",")
}

// Earliest is the first time that a nanosecond count of 64 bits can say with room to spare, which stores rely on.
var Earliest = time.Date(1700, 1, 1, 0, 0, 0, 0, time.UTC)
