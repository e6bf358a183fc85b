package archive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"time"
)

// Find returns the end of an agent's archive. When the stored position is lost or damaged, it is found from the
// objects.
func Find(ctx context.Context, b Bucket, agent string) (Position, error) {
	body, err := b.Read(ctx, position(agent))
	if errors.Is(err, ErrMissing) {
		return findByObjects(ctx, b, agent)
	}
	if err != nil {
		return Position{}, fmt.Errorf("read the position of the archive of %s: %w", agent, err)
	}
	p := Position{}
	if json.Unmarshal(body, &p) != nil || p.Seq < 1 || p.Event == "" { // a position always names an event
		return findByObjects(ctx, b, agent)
	}
	p.Agent = agent
	return p, nil
}

// findByObjects finds the object with the highest number, on any day.
func findByObjects(ctx context.Context, b Bucket, agent string) (Position, error) {
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

// Status compares an agent's archive with its log.
type Status struct {
	Position
	Head  int64     `json:"head"`            // the newest event of the log
	Fault string    `json:"fault,omitempty"` // why events of this agent cannot be archived
	Waits time.Time `json:"waits,omitzero"`  // time of the oldest event that is not archived
}

// Behind is the number of events that are not archived yet.
func (s Status) Behind() int64 { return max(0, s.Head-s.Seq) }

// grace is how long a pass and the retry of a failed one may take.
const grace = 10 * time.Minute

// Late reports whether events wait longer than an archiver with passes at this interval should let them.
func (s Status) Late(now time.Time, every time.Duration) bool {
	return !s.Waits.IsZero() && now.Sub(s.Waits) > every+grace
}

// Status returns the state of an agent's archive, without writing anything.
func (a *Archive) Status(ctx context.Context, agent string, head int64) (Status, error) {
	p, err := Find(ctx, a.Bucket, agent)
	s := Status{Position: p, Head: head}
	if err == nil {
		err = a.checkSame(ctx, p, head)
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
	case err == nil: // the agent was removed and created again, and the new one has no event yet
		s.Head = s.Seq
	}
	return s, err
}
