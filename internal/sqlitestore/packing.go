package sqlitestore

import (
	"bytes"
	"encoding/json"

	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/internal/store"
	"github.com/seed-56a03226/oneiros/internal/store/packed"
)

// storedText is a text as a row stores it: plain, or packed with an empty text column.
type storedText struct {
	text   string
	packed []byte // nil: the text is plain
}

// storeText packs a text when a dream wrote it. What people and agents say is read far more often than it is written,
// and stays plain.
func storeText(text, dreamID string, near ...string) storedText {
	if dreamID == "" {
		return storedText{text: text}
	}
	return storedText{packed: packed.Pack([]byte(text), near...)}
}

// unpacked returns the text of a row, given both of its columns. what names the row in an error.
func (d *tx) unpacked(what string, text, short []byte, near ...string) []byte {
	if short == nil {
		return text
	}
	plain, err := packed.Unpack(short, near...)
	d.fail(store.Wrap(err, what))
	return plain
}

// envelope is everything of an event except its agent, its number and its id.
type envelope struct {
	Schema    int             `json:"schema"`
	Subsystem string          `json:"subsystem"`
	Dream     string          `json:"dream"`
	Type      string          `json:"type"`
	At        string          `json:"at"` // as date writes it
	Data      json.RawMessage `json:"data,omitempty"`
}

// packEvent packs an event of a dream; nil for other events, and for data that JSON would not return byte by byte.
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
		return nil, store.Wrap(err, "event ", e.ID)
	}
	if e.Data != nil { // appended last, byte by byte
		head = append(append(head[:len(head)-1], `,"data":`...), e.Data...)
		head = append(head, '}')
	}
	return packed.Pack(head, e.ID), nil
}

// eventColumns are the columns that readEvent scans.
const eventColumns = "seq, id, schema, subsystem, dream, type, at, data, packed"

// readEvent reads an event of an agent's log as it is stored, which may be under names of earlier builds.
func (d *tx) readEvent(agent string, scan scanner) event.Event {
	e := event.Event{Agent: agent}
	var data, short []byte
	scan(&e.Seq, &e.ID, &e.Schema, &e.Subsystem, &e.Dream, &e.Type, (*textTime)(&e.At), &data, &short)
	if short != nil {
		var v envelope
		plain, err := packed.Unpack(short, e.ID)
		if err == nil {
			err = json.Unmarshal(plain, &v)
		}
		d.fail(store.Wrap(err, "event ", e.ID))
		e.Schema = v.Schema
		e.Subsystem = v.Subsystem
		e.Dream = v.Dream
		e.Type = v.Type
		data = v.Data
		e.At, err = parseDate(v.At)
		d.fail(err)
	}
	if data != nil {
		e.Data = bytes.Clone(data)
	}
	return e
}
