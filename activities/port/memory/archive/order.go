package archive

import (
	"cmp"
	"errors"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// place is the position of a record in the order of an archive.
type place struct {
	stage    int
	agent    string // of a record that belongs to one agent
	part     int    // kind of record within an agent
	number   int64
	name     string
	name2    string
	repeated bool // several records may share the place: attempts keep the order they were written in, sums have their own
}

func (p place) compare(o place) int {
	return cmp.Or(cmp.Compare(p.stage, o.stage), cmp.Compare(p.agent, o.agent), cmp.Compare(p.part, o.part),
		cmp.Compare(p.number, o.number), cmp.Compare(p.name, o.name), cmp.Compare(p.name2, o.name2))
}

// The stages of an archive.
const (
	feeds = iota + 1
	agents
	keys
	accesses // at most one
	perAgent // records of one agent
	rooms
	attempts
	sums // their order is checked with the ledger
	accounts
	answers
	allowances
)

// placeOf returns the place of a record, and refuses one with no field or several fields set.
func placeOf(r memory.Record) (place, error) {
	var found []place
	put := func(p place) { found = append(found, p) }
	if f := r.Feed; f != nil {
		put(place{stage: feeds, name: f.Name})
	}
	if a := r.Agent; a != nil {
		put(place{stage: agents, name: a.ID})
	}
	if k := r.Key; k != nil {
		put(place{stage: keys, name: k.ID})
	}
	if r.Access != nil {
		put(place{stage: accesses})
	}
	if l := r.Counters; l != nil {
		put(place{stage: perAgent, agent: l.Agent})
	}
	if l := r.Lease; l != nil {
		put(place{stage: perAgent, agent: l.Agent, part: 1, name: l.Client})
	}
	if s := r.Slot; s != nil {
		put(place{stage: perAgent, agent: s.Agent, part: 2})
	}
	if a := r.Affect; a != nil {
		put(place{stage: perAgent, agent: a.Agent, part: 3, number: int64(a.Number)})
	}
	if i := r.Item; i != nil {
		put(place{stage: perAgent, agent: i.Agent, part: 4, name: i.ID})
	}
	if e := r.Event; e != nil {
		put(place{stage: perAgent, agent: e.Agent, part: 5, number: e.Seq})
	}
	if n := r.Note; n != nil {
		put(place{
			stage: perAgent,
			agent: n.Agent,
			part:  6,
			name:  n.Dream,
			name2: n.Key,
		})
	}
	if k := r.Room; k != nil {
		put(place{stage: rooms, name: k.Name})
	}
	if r.Attempt != nil {
		put(place{stage: attempts, repeated: true})
	}
	if r.Sum != nil {
		put(place{stage: sums, repeated: true})
	}
	if a := r.Account; a != nil {
		put(place{stage: accounts, name: a.Scope})
	}
	if a := r.Answer; a != nil {
		put(place{stage: answers, name: a.Step})
	}
	if a := r.Allowance; a != nil {
		put(place{stage: allowances, name: a.Dream})
	}
	if len(found) != 1 {
		return place{}, errors.New("a record has exactly one field; this one has none or several")
	}
	return found[0], nil
}
