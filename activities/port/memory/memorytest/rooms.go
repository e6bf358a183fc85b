package memorytest

import (
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// fields is a value of JSON whose type this package must not import.
type fields map[string]any

// escapedPart escapes a part of the name of a record.
var escapedPart = strings.NewReplacer("%", "%25", "/", "%2F")

// rooms generates records of rooms, in the order of their names.
func (f *generator) rooms() []memory.Record {
	var records []memory.Record
	add := func(body fields, format string, args ...any) {
		name := fmt.Sprintf(format, args...)
		records = append(records, memory.Record{Room: &memory.KeptRoomRecord{Name: name, Body: jsonOf(body)}})
	}
	for n := range f.size.Agents {
		agent := agentID(n)
		base := "a/" + escapedPart.Replace(agent)
		item := fields{"agent": agent, "number": 1, "key": f.text(), "state": "queued", "created": f.at()}
		wake := fields{"agent": agent, "number": 1, "key": item["key"], "outcome": "queued", "at": f.at()}
		add(fields{"items": 1, "wakes": 1, "open": 1}, "%s/about", base)
		add(fields{"level": "sleep", "reason": f.text(), "set_at": f.at(), "sequence": 3}, "%s/dormancy/", base)
		add(item, "%s/item/%016d", base, 1)
		add(wake, "%s/wake/%016d", base, 1)
	}
	add(fields{"n": f.r.IntN(9)}, "g/pair/a%%2Fb/c")
	who := fields{"kind": "person", "id": "p" + f.text()}
	member := fields{"room": "hall", "kind": who["kind"], "id": who["id"], "name": f.text(), "joined": f.at()}
	add(fields{"id": "hall", "by": who, "created": f.at(), "posts": 2, "events": 1}, "r/hall/about")
	add(fields{"room": "hall", "offset": 1, "type": "created", "at": f.at(), "who": who}, "r/hall/event/%016d", 1)
	add(member, "r/hall/person/%s", escapedPart.Replace(fmt.Sprint(who["id"])))
	for n := range 2 {
		add(fields{
			"id": fmt.Sprint("hall/", n+1), "room": "hall", "offset": n + 1, "author": who, "body": f.text(),
			"thread": []string{"", "hall/1"}[n], "key": fmt.Sprint(n), "created": f.at(),
		}, "r/hall/post/%016d", n+1)
	}
	return records
}
