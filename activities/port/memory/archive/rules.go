package archive

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"
	"unicode/utf8"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// rules holds what must be true between the records of an archive. They keep a store from being filled with a state
// that it could never have reached by itself.
type rules struct {
	last    place
	handles map[string]bool
	hashes  map[string]bool // of keys
	agents  agentRules
	ledger  ledgerRules
}

func newRules() rules {
	return rules{
		handles: map[string]bool{}, hashes: map[string]bool{},
		ledger: ledgerRules{steps: map[string]int{}, sums: map[string]sum{}},
	}
}

func (k *rules) check(r memory.Record) error {
	p, err := placeOf(r)
	if err != nil {
		return err
	}
	if c := k.last.compare(p); c > 0 || c == 0 && !p.repeated {
		return errors.New("a record is repeated or in the wrong place")
	}
	k.last = p
	if p.stage == perAgent && (p.agent != k.agents.agent || k.agents.announced == nil) {
		k.agents = agentRules{agent: p.agent, announced: map[string]bool{}}
	}
	if p.stage == perAgent && p.agent == "" {
		return errors.New("the agent's id is empty")
	}
	switch {
	case r.Feed != nil:
		return errors.Join(named("feed", r.Feed.Name), body("feed", r.Feed.Name, r.Feed.Body))
	case r.Agent != nil:
		return k.agent(*r.Agent)
	case r.Key != nil:
		return k.key(*r.Key)
	case r.Access != nil:
		if r.Access.KeysRequired == (len(k.hashes) > 0) {
			return errors.New("the record of whether keys are required is redundant: the keys imply it")
		}
		return nil
	case r.Room != nil:
		return errors.Join(named("record of rooms", r.Room.Name), body("record of rooms", r.Room.Name, r.Room.Body))
	case p.stage == perAgent:
		return k.agents.check(r)
	}
	return k.ledger.check(r)
}

func (k *rules) end() error { return k.ledger.end() }

func (k *rules) agent(a memory.KeptAgent) error {
	if k.handles[a.Handle] {
		return fmt.Errorf("two agents have the handle %q", a.Handle)
	}
	k.handles[a.Handle] = true
	return errors.Join(named("agent", a.ID), named("agent", a.Handle), body("agent", a.ID, a.Body))
}

// key refuses a key whose body disagrees with the id or hash that a store finds it by.
func (k *rules) key(r memory.KeptKey) error {
	var answer struct{ ID, Hash string }
	if err := json.Unmarshal(r.Body, &answer); err != nil || answer.ID != r.ID || answer.Hash != r.Hash {
		return fmt.Errorf("the body of key %q has another id or hash", r.ID)
	}
	if k.hashes[r.Hash] {
		return fmt.Errorf("two keys have the hash of %q", r.ID)
	}
	k.hashes[r.Hash] = true
	return errors.Join(named("key", r.ID, r.Hash), body("key", r.ID, r.Body))
}

// named refuses an empty name, and text that is not UTF-8, which JSON would alter.
func named(what, name string, more ...string) error {
	if name == "" {
		return fmt.Errorf("a name of the %s is empty", what)
	}
	for _, text := range append(more, name) {
		if !utf8.ValidString(text) {
			return fmt.Errorf("%q of the %s %q is not UTF-8, and an archive cannot carry it", text, what, name)
		}
	}
	return nil
}

func body(what, name string, b memory.Raw) error {
	if len(b) == 0 || b[0] != '{' {
		return fmt.Errorf("the body of the %s %q is no object of JSON", what, name)
	}
	return nil
}

// utc refuses times that two stores would write differently.
func utc(times ...time.Time) error {
	for _, t := range times {
		if t.Location() != time.UTC && !t.IsZero() {
			return fmt.Errorf("the time %s is not in UTC", t)
		}
	}
	return nil
}

// agentRules checks the records of one agent.
type agentRules struct {
	agent     string
	counters  memory.KeptCounters
	affects   int
	announced map[string]bool // ids of its events so far
}

func (m *agentRules) check(r memory.Record) error {
	err := m.record(r)
	if err != nil {
		err = fmt.Errorf("agent %q: %w", m.agent, err)
	}
	return err
}

func (m *agentRules) record(r memory.Record) error {
	switch {
	case r.Counters != nil:
		return m.checkCounters(*r.Counters)
	case r.Lease != nil:
		l := r.Lease
		return errors.Join(named("lease", l.Client, l.Agent, l.Cause), utc(l.Since, l.Until))
	case r.Slot != nil:
		s := r.Slot
		return errors.Join(named("slot", s.Agent, s.Dream, s.Run, s.Workflow, s.Cluster), utc(s.Since))
	case r.Affect != nil:
		a := r.Affect
		m.affects++
		if a.Number != m.affects {
			return fmt.Errorf("affect %d comes in place %d", a.Number, m.affects)
		}
		return named("affect", a.Agent, a.Cause, a.Affect.Cause)
	case r.Item != nil:
		return m.item(*r.Item)
	case r.Event != nil:
		return m.event(*r.Event)
	case r.Note != nil:
		if r.Note.Value == nil {
			return fmt.Errorf("note %q has no value", r.Note.Key)
		}
		return named("note", r.Note.Key, r.Note.Agent, r.Note.Dream)
	}
	return nil
}

func (m *agentRules) checkCounters(l memory.KeptCounters) error {
	m.counters = l
	if (l.Space == "") != (l.Dim == 0) || l.Dim < 0 || min(l.Seq, l.Dreams, l.Scrubs, l.Epoch, l.RecordedEpoch) < 0 ||
		l.RecordedEpoch > l.Epoch {
		return fmt.Errorf(
			"its counters are inconsistent: space %q of dimension %d, event %d, dream %d, epoch %d, recorded epoch %d",
			l.Space, l.Dim, l.Seq, l.Dreams, l.Epoch, l.RecordedEpoch)
	}
	names := append([]string{l.Space}, l.Digest...)
	for i, c := range l.Collecting {
		if c.Space == "" || c.Space == l.Space || c.Dim <= 0 || i > 0 && l.Collecting[i-1].Space >= c.Space {
			return fmt.Errorf("space %q of %d numbers cannot be collected beside %q", c.Space, c.Dim, l.Space)
		}
		names = append(names, c.Space)
	}
	times := []time.Time{l.Lock, l.Seen}
	// a removed agent keeps its epoch without a wake
	if l.Wake == nil && l.RecordedEpoch < l.Epoch || l.Wake != nil && l.Epoch == 0 {
		return fmt.Errorf("its epoch is %d, and there is no wake of that epoch", l.Epoch)
	}
	if w := l.Wake; w != nil {
		if w.Epoch != l.Epoch {
			return fmt.Errorf("its epoch is %d, and its newest wake is of epoch %d", l.Epoch, w.Epoch)
		}
		names = append(append(names, w.Cause, w.Client, w.Dream), w.Digest...)
		times = append(times, w.At)
	}
	return errors.Join(named("counters", l.Agent, names...), utc(times...))
}

func (m *agentRules) item(i memory.KeptItem) error {
	names := []string{i.Agent, i.Kind}
	if len(i.Revisions) == 0 {
		return fmt.Errorf("item %s has no revision", i.ID)
	}
	numbers := i.Numbers()
	for n, r := range i.Revisions {
		if r.Number != 0 && (r.Number < 2 || n > 0 && r.Number < numbers[n-1]+2) {
			return fmt.Errorf(
				"item %s: its revision %d is numbered %d; a number is written only after a gap", i.ID, n+1,
				r.Number)
		}
		if err := errors.Join(body("item", i.ID, r.Body), utc(r.At)); err != nil {
			return err
		}
		names = append(names, r.Cause)
	}
	for n, v := range i.Vectors {
		if n > 0 && i.Vectors[n-1].Space >= v.Space {
			return fmt.Errorf("item %s: its vectors are not in the order of their spaces, or two are of one", i.ID)
		}
		if err := m.vector(v); err != nil {
			return fmt.Errorf("item %s: %w", i.ID, err)
		}
		names = append(names, v.Space)
	}
	return named("item", i.ID, names...)
}

func (m *agentRules) vector(v memory.KeptVector) error {
	dim := 0
	if v.Space == m.counters.Space {
		dim = m.counters.Dim
	}
	for _, c := range m.counters.Collecting {
		if c.Space == v.Space {
			dim = c.Dim
		}
	}
	if dim == 0 || len(v.V) != 4*dim {
		return fmt.Errorf("a vector of %d bytes in space %q, which has %d numbers", len(v.V), v.Space, dim)
	}
	for at := 0; at < len(v.V); at += 4 {
		if f := float64(math.Float32frombits(binary.LittleEndian.Uint32(v.V[at:]))); math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("a vector in space %q with %v in it", v.Space, f)
		}
	}
	return nil
}

func (m *agentRules) event(e memory.KeptEvent) error {
	if e.Seq < 1 || e.Seq > m.counters.Seq || m.announced[e.ID] {
		return fmt.Errorf("event %d of id %q: the agent's newest is %d, and an id occurs once", e.Seq,
			e.ID, m.counters.Seq)
	}
	m.announced[e.ID] = true
	return errors.Join(named("event", e.ID, e.Agent, e.Subsystem, e.Dream, e.Type), utc(e.At))
}
