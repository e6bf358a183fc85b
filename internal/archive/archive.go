package archive

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/fabric"
)

// Bounds of one object. At 1,000 events a busy night is one object, and few enough that whoever lost a race reads it
// quickly.
const (
	objectEvents = 1000
	objectBytes  = 4 << 20
)

// ErrOther is a log that is not the one which was archived before: another store was put in its place, or an older copy
// of it.
var ErrOther = errors.New(
	"the archive holds other events of this agent than the store; give this store an archive of its own, or move the old one away")

// Archive writes what a log holds into a bucket. An object is called by the number of its first event, holds the events
// that follow it without a gap, all of one day (UTC), and is created once and never changed. So the next object begins
// behind the last, whoever writes it: several archivers, and ones that are killed, leave each event exactly once.
type Archive struct {
	Log    fabric.Log
	Bucket Bucket
	Now    func() time.Time
	Every  time.Duration // between two passes, for whoever only looks; 0: it is not known

	at map[string]Position // where each agent's archive stands, as far as this process knows
}

// Position is where the archive of one agent stands. It is written behind the objects, so it never names an event that
// is not there; it lies apart from them, so that whoever deletes old objects does not make the archive begin again.
type Position struct {
	Agent  string    `json:"agent"`
	Seq    int64     `json:"seq"`    // of the newest event that is archived; 0: none
	Event  string    `json:"event"`  // its id
	Object string    `json:"object"` // that holds it
	At     time.Time `json:"at"`     // when that was written
}

// Report says what a pass did.
type Report struct{ Objects, Events int }

// Once archives everything that there is. A fault of one agent's log does not hold up the others; a bucket that is away
// does.
func (a *Archive) Once(ctx context.Context) (Report, error) {
	var done Report
	heads, err := a.Log.Heads(ctx)
	if err != nil {
		return done, err
	}
	if a.at == nil {
		a.at = map[string]Position{}
	}
	var faults []error
	for _, agent := range slices.Sorted(maps.Keys(heads)) {
		if existing, ok := a.at[agent]; ok && existing.Seq == heads[agent] {
			continue
		}
		err := a.agent(ctx, agent, heads[agent], &done)
		if errors.Is(err, ErrOther) {
			faults = append(faults, fmt.Errorf("agent %s: %w", agent, err))
			continue
		}
		if err != nil {
			return done, errors.Join(append(faults, fmt.Errorf("archive the events of %s: %w", agent, err))...)
		}
	}
	return done, errors.Join(faults...)
}

func (a *Archive) agent(ctx context.Context, agent string, head int64, done *Report) error {
	p, found := a.at[agent]
	var err error
	if !found {
		p, err = Find(ctx, a.Bucket, agent)
	}
	if err == nil {
		err = a.same(ctx, p, head)
	}
	if err != nil {
		return err
	}
	before := p.Seq
	for p.Seq < head {
		events, err := a.Log.Events(ctx, agent, p.Seq, objectEvents)
		if err != nil {
			return err
		}
		if len(events) == 0 {
			if first, err := a.first(ctx, agent); err != nil || first > 0 {
				return errors.Join(err, ErrOther) // fewer than there were
			}
			break // the agent was removed and made anew: its numbers go on, and no event has come yet
		}
		p, err = a.put(ctx, agent, events, done)
		if err != nil {
			return err
		}
	}
	if p.Seq > before {
		body, err := json.Marshal(p)
		if err == nil {
			err = a.Bucket.Replace(ctx, position(agent), append(body, '\n'))
		}
		if err != nil {
			return err
		}
	}
	a.at[agent] = p
	return nil
}

// same looks whether the event that the archive ends with is the log's too. Of an agent that was removed and made anew
// it is not: its log begins behind that event, or is still empty.
func (a *Archive) same(ctx context.Context, p Position, head int64) error {
	if p.Seq == 0 {
		return nil
	}
	events, err := a.Log.Events(ctx, p.Agent, p.Seq-1, 1)
	if err != nil || len(events) > 0 && events[0].ID == p.Event {
		return err
	}
	first, err := a.first(ctx, p.Agent)
	if err == nil && (head < p.Seq || first > 0 && first <= p.Seq) {
		err = ErrOther
	}
	return err
}

// first is the number of the oldest event in an agent's log; 0 when it is empty.
func (a *Archive) first(ctx context.Context, agent string) (int64, error) {
	events, err := a.Log.Events(ctx, agent, 0, 1)
	if err != nil || len(events) == 0 {
		return 0, err
	}
	return events[0].Seq, nil
}

// put creates the next object, or finds that another archiver has.
func (a *Archive) put(ctx context.Context, agent string, events []event.Event, done *Report) (Position, error) {
	body, n, err := lines(events)
	if err != nil {
		return Position{}, err
	}
	name := object(agent, events[0])
	err = a.Bucket.Create(ctx, name, body)
	if err == nil {
		done.Objects++
		done.Events += n
		last := events[n-1]
		return Position{
			Agent:  agent,
			Seq:    last.Seq,
			Event:  last.ID,
			Object: name,
			At:     a.Now().UTC(),
		}, nil
	}
	if !errors.Is(err, ErrExists) {
		return Position{}, err
	}
	first, last, err := ends(ctx, a.Bucket, name)
	if err == nil && first.ID != events[0].ID {
		err = ErrOther
	}
	return Position{
		Agent:  agent,
		Seq:    last.Seq,
		Event:  last.ID,
		Object: name,
		At:     a.Now().UTC(),
	}, err
}

// lines are the events of the first one's day, as many as an object takes, one JSON document a line.
func lines(events []event.Event) (body []byte, n int, err error) {
	var all bytes.Buffer
	e := json.NewEncoder(&all)
	e.SetEscapeHTML(false)
	for _, each := range events {
		end := all.Len()
		if day(each) != day(events[0]) || end > objectBytes {
			break
		}
		if err := e.Encode(each); err != nil {
			return nil, 0, fmt.Errorf("event %s: %w", each.ID, err)
		}
		n++
	}
	return all.Bytes(), n, nil
}

func day(e event.Event) string { return e.At.UTC().Format(time.DateOnly) }

// object names the object that begins with an event: events/<agent>/<day>/<seq>.jsonl.
func object(agent string, first event.Event) string {
	return fmt.Sprintf("%s%s/%012d.jsonl", objects(agent), day(first), first.Seq)
}

func objects(agent string) string  { return "events/" + safe(agent) + "/" }
func position(agent string) string { return "position/" + safe(agent) + ".json" }

// safe is an agent's id as a part of a path.
func safe(agent string) string {
	name := url.PathEscape(agent)
	if strings.HasPrefix(name, ".") {
		name = "%2E" + name[1:]
	}
	return name
}

// ends reads the first and the last event of an object.
func ends(ctx context.Context, b Bucket, name string) (first, last event.Event, err error) {
	body, err := b.Read(ctx, name)
	if err != nil {
		return first, last, err
	}
	rows := bytes.Split(bytes.TrimSpace(body), []byte("\n"))
	err = json.Unmarshal(rows[0], &first)
	if err == nil {
		err = json.Unmarshal(rows[len(rows)-1], &last)
	}
	if err == nil && last.Seq-first.Seq != int64(len(rows)-1) {
		err = errors.New("it has a gap")
	}
	if err != nil {
		err = fmt.Errorf("read %s in the archive: %w", name, err)
	}
	return first, last, err
}
