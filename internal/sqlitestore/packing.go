package sqlitestore

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/store/packed"
)

// stored is a text as a row holds it: as it is, or packed, and then the text is empty.
type stored struct {
	text   string
	packed []byte // nil: the text is as it is
}

// store packs a text when a dream wrote it. What people and agents say is read far more often than it is written, and
// stays.
func store(text, dreamID string, near ...string) stored {
	if dreamID == "" {
		return stored{text: text}
	}
	return stored{packed: packed.Pack([]byte(text), near...)}
}

// read gives the text back.
func (s stored) read(near ...string) ([]byte, error) {
	return unpacked([]byte(s.text), s.packed, near...)
}

// unpacked is the text of a row of which both columns were read.
func unpacked(text, short []byte, near ...string) ([]byte, error) {
	if short == nil {
		return text, nil
	}
	return packed.Unpack(short, near...)
}

// envelope is everything of an event beside its agent, its number and its id.
type envelope struct {
	Schema    int             `json:"schema"`
	Subsystem string          `json:"subsystem"`
	Dream     string          `json:"dream"`
	Type      string          `json:"type"`
	At        string          `json:"at"` // as date writes it
	Data      json.RawMessage `json:"data,omitempty"`
}

// packEvent packs an event of a dream; nil for every other one, and for data that JSON would not give back byte by
// byte.
func packEvent(e event.Event) ([]byte, error) {
	if e.Dream == "" {
		return nil, nil
	}
	if e.Data != nil && (!json.Valid(e.Data) || len(bytes.TrimSpace(e.Data)) < len(e.Data)) {
		return nil, nil
	}
	head, err := json.Marshal(envelope{
		Schema:    e.Schema,
		Subsystem: e.Subsystem,
		Dream:     e.Dream,
		Type:      e.Type,
		At:        date(e.At),
	})
	if err != nil {
		return nil, fmt.Errorf("event %s: %w", e.ID, err)
	}
	if e.Data != nil { // behind the rest, as it was given
		head = append(append(head[:len(head)-1], `,"data":`...), e.Data...)
		head = append(head, '}')
	}
	return packed.Pack(head, e.ID), nil
}

// eventColumns are what readEvent scans.
const eventColumns = "seq, id, schema, subsystem, dream, type, at, data, packed"

// readEvent reads an event of an agent's log.
func readEvent(agent string, scan func(...any) error) (event.Event, error) {
	e := event.Event{Agent: agent}
	var at string
	var data, short []byte
	err := scan(&e.Seq, &e.ID, &e.Schema, &e.Subsystem, &e.Dream, &e.Type, &at, &data, &short)
	if err != nil {
		return e, err
	}
	if short != nil {
		plain, err := packed.Unpack(short, e.ID)
		if err != nil {
			return e, fmt.Errorf("event %s: %w", e.ID, err)
		}
		var v envelope
		if err := json.Unmarshal(plain, &v); err != nil {
			return e, fmt.Errorf("event %s: %w", e.ID, err)
		}
		e.Schema = v.Schema
		e.Subsystem = v.Subsystem
		e.Dream = v.Dream
		e.Type = v.Type
		at, data = v.At, v.Data
	}
	if data != nil {
		e.Data = bytes.Clone(data)
	}
	e.At, err = parseDate(at)
	return e, err
}
