package responses

import (
	"bytes"
	"encoding/json"

	"github.com/seed-56a03226/oneiros/internal/jsonscan"
)

// annotate adds annotations to the text being written. Those that come before it wait for it.
func (a *Answer) annotate(raw json.RawMessage) {
	all, _ := elements(raw)
	for _, each := range all {
		if note := noteOf(each); note != nil {
			a.notes = append(a.notes, note)
		}
	}
	a.cite()
}

// cite gives the annotations that came to the text being written, if there is one.
func (a *Answer) cite() {
	if a.words == nil {
		return
	}
	n := len(a.words.parts) - 1
	part := a.words.parts[n]
	if part.kind != "output_text" {
		return
	}
	for _, note := range a.notes {
		a.partEvent("response.output_text.annotation.added", a.words, n, func(w *jsonscan.Writer) {
			w.Number("annotation_index", int64(len(part.notes)))
			w.Raw("annotation", note)
		})
		part.notes = append(part.notes, note)
	}
	a.notes = nil
}

// noteOf is an annotation as this wire has it: its members stand beside its type. In a chat completion they stand in an
// object that is named as the type, and some providers write them beside the type, or leave the type of a web address
// out. It is nil for what a client could not read.
func noteOf(raw []byte) []byte {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return nil
	}
	const cited = "url_citation"
	kind := jsonscan.Unquoted(fields["type"])
	if kind == "" && (fields["url"] != nil || fields[cited] != nil) {
		kind = cited
	}
	inner := fields[kind]
	if inner == nil || inner[0] != '{' {
		inner = raw
	}
	note := members{}
	note.add("type", jsonscan.Quoted(kind))
	_ = jsonscan.Members(inner, func(key, value []byte) error {
		if name := jsonscan.Unquoted(key); name != "type" && string(value) != "null" {
			note.add(name, value)
		}
		return nil
	})
	if kind == "" || kind == cited && note.values["url"] == nil {
		return nil
	}
	if kind == cited { // clients refuse one that lacks a member
		note.lack("start_index", "0")
		note.lack("end_index", "0")
		note.lack("title", `""`)
	}
	text := note.json()
	text[0] = '{'
	var line bytes.Buffer // an event has no line ends within
	_ = json.Compact(&line, append(text, '}'))
	return line.Bytes()
}
