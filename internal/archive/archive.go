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

	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/fabric"
)

// Limits of one object. A busy night fits into one object of 1,000 events, and that is few enough that an archiver
// which lost a race can read it quickly.
const (
	objectEvents = 1000
	objectBytes  = 4 << 20
)

// ErrOther means that the log is not the one that was archived before: the store was replaced by another one or by an
// older copy.
var ErrOther = errors.New(
	"the archive holds other events of this agent than the store; give this store an archive of its own, " +
		"or move the old one away")

// Archive copies the events of a log into a bucket. An object is named by the number of its first event. It contains
// the events that follow without a gap, all of one day (UTC), and is created once and never changed. So the next object
// begins after the last one, whichever process writes it, and each event is archived exactly once, even by several
// archivers and by ones that are killed.
type Archive struct {
	Log    fabric.Log
	Bucket Bucket
	Now    func() time.Time
	Every  time.Duration // interval between two passes, for status reports; 0: unknown

	at map[string]Position // the end of each agent's archive, as far as this process knows
}

// Position is the end of one agent's archive. It is written after the objects, so it never names an event that is not
// archived. It is stored apart from them, so that deleting old objects does not make the archive start over.
type Position struct {
	Agent  string    `json:"agent"`
	Seq    int64     `json:"seq"`    // number of the newest archived event; 0: none
	Event  string    `json:"event"`  // id of that event
	Object string    `json:"object"` // object that contains it
	At     time.Time `json:"at"`     // when that object was written
}

// Report counts what a pass has written.
type Report struct{ Objects, Events int }

// Once archives all new events. An error of one agent's log does not stop the others; an unreachable bucket does.
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
		err = a.checkSame(ctx, p, head)
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
				return errors.Join(err, ErrOther) // the log has fewer events than the archive
			}
			break // the agent was removed and created again: its numbers continue, and it has no event yet
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

// checkSame checks that the last archived event is in the log as well. For an agent that was removed and created again
// it is not: its log begins after that event, or is still empty.
func (a *Archive) checkSame(ctx context.Context, p Position, head int64) error {
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

// first returns the number of the oldest event in an agent's log; 0 when it is empty.
func (a *Archive) first(ctx context.Context, agent string) (int64, error) {
	events, err := a.Log.Events(ctx, agent, 0, 1)
	if err != nil || len(events) == 0 {
		return 0, err
	}
	return events[0].Seq, nil
}

// put creates the next object, or finds the one that another archiver has created.
func (a *Archive) put(ctx context.Context, agent string, events []event.Event, done *Report) (Position, error) {
	body, n, err := lines(events)
	if err != nil {
		return Position{}, err
	}
	name := object(agent, events[0])
	last := events[n-1]
	err = a.Bucket.Create(ctx, name, body)
	switch {
	case err == nil:
		done.Objects++
		done.Events += n
	case errors.Is(err, ErrExists):
		var first event.Event
		first, last, err = ends(ctx, a.Bucket, name)
		if err == nil && first.ID != events[0].ID {
			err = ErrOther
		}
	default:
		return Position{}, err
	}
	return Position{
		Agent:  agent,
		Seq:    last.Seq,
		Event:  last.ID,
		Object: name,
		At:     a.Now().UTC(),
	}, err
}

// lines encodes the events of the first one's day, as many as an object may contain, one JSON document a line.
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

// object returns the name of the object that begins with an event: events/<agent>/<day>/<seq>.jsonl.
func object(agent string, first event.Event) string {
	return fmt.Sprintf("%s%s/%012d.jsonl", objects(agent), day(first), first.Seq)
}

func objects(agent string) string  { return "events/" + safe(agent) + "/" }
func position(agent string) string { return "position/" + safe(agent) + ".json" }

// safe returns an agent's id as a path element.
func safe(agent string) string {
	name := url.PathEscape(agent)
	if strings.HasPrefix(name, ".") {
		name = "%2E" + name[1:]
	}
	return name
}

// ends returns the first and the last event of an object.
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
		err = errors.New("its event numbers have a gap")
	}
	if err != nil {
		err = fmt.Errorf("read %s in the archive: %w", name, err)
	}
	return first, last, err
}
