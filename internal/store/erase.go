package store

import (
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// Note is what an erasure does to a note of a dream.
type Note struct {
	Changed bool
	Drop    bool   // the whole note is deleted
	Value   []byte // the new value otherwise
}

// ScrubNote removes what is forgotten from a note.
func ScrubNote(words memory.Words, key string, value []byte) Note {
	if strings.HasPrefix(key, memory.LateNote) {
		holds := words.Holds(value)
		return Note{Changed: holds, Drop: holds}
	}
	scrubbed, changed := words.Note(value)
	return Note{Changed: changed, Value: scrubbed}
}
