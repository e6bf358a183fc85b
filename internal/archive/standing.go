package archive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"time"
)

// Find reads where the archive of an agent stands; where that was lost or damaged, it looks through the objects.
func Find(ctx context.Context, b Bucket, agent string) (Position, error) {
	body, err := b.Read(ctx, position(agent))
	if errors.Is(err, ErrMissing) {
		return look(ctx, b, agent)
	}
	if err != nil {
		return Position{}, fmt.Errorf("where the archive of %s stands: %w", agent, err)
	}
	p := Position{}
	if json.Unmarshal(body, &p) != nil || p.Seq < 1 || p.Event == "" { // none is written before there is an event
		return look(ctx, b, agent)
	}
	p.Agent = agent
	return p, nil
}

// look finds the object with the highest number, on whichever day it lies.
func look(ctx context.Context, b Bucket, agent string) (Position, error) {
	p := Position{Agent: agent}
	names, err := b.Names(ctx, objects(agent))
	if err != nil {
		return p, err
	}
	for _, name := range names {
		if p.Object == "" || path.Base(name) > path.Base(p.Object) {
			p.Object = name
		}
	}
	if p.Object == "" {
		return p, nil
	}
	_, last, err := ends(ctx, b, p.Object)
	p.Seq, p.Event, p.At = last.Seq, last.ID, last.At
	return p, err
}

// Status is how an agent's archive compares with its log.
type Status struct {
	Position
	Head  int64     `json:"head"`            // the newest event of the log
	Fault string    `json:"fault,omitempty"` // why nothing more is archived of it
	Waits time.Time `json:"waits,omitzero"`  // when the oldest event that waits was announced
}

// Behind is how many events wait.
func (s Status) Behind() int64 { return max(0, s.Head-s.Seq) }

// grace is how long a pass may take, and a failed one be made up for.
const grace = 10 * time.Minute

// Late says whether events wait for longer than somebody who archives every so often lets them.
func (s Status) Late(now time.Time, every time.Duration) bool {
	return !s.Waits.IsZero() && now.Sub(s.Waits) > every+grace
}

// Status tells where the archive of an agent stands, without writing anything.
func (a *Archive) Status(ctx context.Context, agent string, head int64) (Status, error) {
	p, err := Find(ctx, a.Bucket, agent)
	s := Status{Position: p, Head: head}
	if err == nil {
		err = a.same(ctx, p, head)
	}
	if errors.Is(err, ErrOther) {
		s.Fault, err = err.Error(), nil
	}
	if err != nil || s.Fault != "" || s.Behind() == 0 {
		return s, err
	}
	events, err := a.Log.Events(ctx, agent, s.Seq, 1)
	switch {
	case len(events) > 0:
		s.Waits = events[0].At
	case err == nil: // the agent was removed and made anew, and no event of the new one has come yet
		s.Head = s.Seq
	}
	return s, err
}
