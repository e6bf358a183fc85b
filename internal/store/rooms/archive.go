package rooms

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/room"
)

// recordsAtOnce is how many records one step of an export or a check reads.
const recordsAtOnce = 1000

// Export calls put with every record that does not follow from others, in order.
func Export(v View, put func(Record) error) error {
	for _, space := range []string{agents, guards, hooks, places} {
		if err := each(v, space, put); err != nil {
			return err
		}
	}
	return nil
}

// each calls do with every record of a prefix.
func each(v View, prefix string, do func(Record) error) error {
	for after := ""; ; {
		found, err := v.Scan(Range{Prefix: prefix, After: after, Limit: recordsAtOnce})
		if err != nil || len(found) == 0 {
			return err
		}
		for _, record := range found {
			if err := do(record); err != nil {
				return err
			}
			after = record.Name
		}
	}
}

// Importer checks records as they come from an archive. The zero value is ready.
type Importer struct {
	owner  string // whose counters these are
	counts agentAbout
	place  room.Room
}

// Import returns a record with its indexes. It refuses one whose name disagrees with what it says.
func (m *Importer) Import(k memory.KeptRoomRecord) ([]Record, error) {
	record := Record{k.Name, []byte(k.Body)}
	if err := m.check(record); err != nil {
		return nil, fmt.Errorf("record of rooms %q: %w", k.Name, err)
	}
	found := []Record{record}
	entries, err := derive(record.Name, record.Body)
	for _, entry := range entries {
		found = append(found, Record{entry, []byte{}})
	}
	return found, err
}

// check compares the name of a record with its value, and its number with the counters of its owner.
func (m *Importer) check(record Record) error {
	space, owner, _, _ := split(record.Name)
	if space == guards {
		if !json.Valid(record.Body) {
			return fmt.Errorf("it is no JSON: %w", memory.ErrAltered)
		}
		return nil
	}
	if owner != m.owner {
		*m = Importer{owner: owner}
	}
	name, n, most, err := m.identity(record)
	switch {
	case err != nil:
		return err
	case space == places && m.place.ID != owner:
		return fmt.Errorf("there is no room %q: %w", owner, memory.ErrAltered)
	case name != record.Name:
		return fmt.Errorf("its value is of %q: %w", name, memory.ErrAltered)
	case n > most:
		return fmt.Errorf("its number is %d, and the newest is %d: %w", n, most, memory.ErrAltered)
	}
	return nil
}

// identity returns the name that a value says it has, its number, and the newest number of its owner.
func (m *Importer) identity(record Record) (name string, n, most int64, err error) {
	space, owner, kind, rest := split(record.Name)
	switch space + kind {
	case agents + about:
		m.counts, err = value[agentAbout](record.Body)
		name = agents + owner + "/" + about
	case agents + "item":
		var i room.Item
		i, err = value[room.Item](record.Body)
		name, n, most = itemName(i.Agent, i.Number), i.Number, m.counts.Items
	case agents + "wake":
		var w room.Wake
		w, err = value[room.Wake](record.Body)
		name, n, most = wakeName(w.Agent, w.Number), w.Number, m.counts.Wakes
	case agents + "action":
		var a room.Action
		a, err = value[room.Action](record.Body)
		name, n, most = actionName(a.Agent, a.Number), a.Number, m.counts.Actions
	case agents + "checkin":
		var c room.CheckIn
		c, err = value[room.CheckIn](record.Body)
		name = checkInName(c.Agent, c.Name)
	case hooks + "webhook":
		var w room.Webhook
		w, err = value[room.Webhook](record.Body)
		name = webhookName(w.Room, w.Name)
	case agents + "dormancy":
		_, err = value[keptState](record.Body)
		name = agents + owner + "/dormancy/" + rest
	case places + about:
		m.place, err = value[room.Room](record.Body)
		name = roomName(m.place.ID)
	case places + string(dormancy.Agent), places + string(dormancy.Person):
		var member room.Member
		member, err = value[room.Member](record.Body)
		name = memberName(member.Room, member.Who)
	case places + "event":
		var e room.Event
		e, err = value[room.Event](record.Body)
		name, n, most = eventName(e.Room, e.Offset), e.Offset, m.place.Events
	case places + "post":
		var p keptPost
		p, err = value[keptPost](record.Body)
		name, n, most = postName(p.Room, p.Offset), p.Offset, m.place.Posts
	}
	return name, n, most, err
}

func value[T any](body []byte) (v T, err error) {
	err = json.Unmarshal(body, &v)
	return v, err
}

// maxFaults is how many faults a check lists.
const maxFaults = 10

// Checked names what Verify checks.
const Checked = "records of rooms and their indexes"

// Verify compares every record with its name and its owner's counters, and the indexes with the records.
func Verify(v View) (faults []string, err error) {
	fault := func(format string, args ...any) {
		if len(faults) < maxFaults {
			faults = append(faults, fmt.Sprintf(format, args...))
		}
	}
	expected := map[string]bool{}
	var m Importer
	err = Export(v, func(record Record) error {
		if err := m.check(record); err != nil {
			fault("record of rooms %q: %v", record.Name, err)
			return nil
		}
		entries, err := derive(record.Name, record.Body)
		for _, entry := range entries {
			expected[entry] = true
		}
		return err
	})
	if err != nil {
		return faults, err
	}
	err = each(v, indexes, func(record Record) error {
		if !expected[record.Name] {
			fault("index %q of rooms leads to nothing", record.Name)
		}
		delete(expected, record.Name)
		return nil
	})
	var missing []string
	for name := range expected {
		missing = append(missing, name)
	}
	slices.Sort(missing)
	for _, name := range missing {
		fault("index %q of rooms is missing", name)
	}
	return faults, err
}
