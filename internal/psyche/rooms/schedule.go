package rooms

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/admission"
	"github.com/seed-56a03226/oneiros/internal/admission/chatter"
	"github.com/seed-56a03226/oneiros/internal/circadian"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// Bounds of check-ins.
const (
	furthest    = 366 * 24 * time.Hour // ahead
	oftenest    = time.Hour            // between two calls of one check-in
	leastOften  = 31 * 24 * time.Hour
	looksAtMost = 50 // calls of a schedule that are looked at to find how often it calls
)

// stillOpen is the reason of a call that a check-in leaves out because the one before waits still.
const stillOpen = "waits"

// CheckInRequest calls an agent at a set time, or again and again. It looks at what there is, and mostly stays silent.
type CheckInRequest struct {
	// Name is what it is cancelled by. A repeated request with it sets nothing more. Empty: a new one.
	Name string    `json:"name,omitempty"`
	At   time.Time `json:"at,omitzero"` // the only call, or the first
	// Every is a duration from 1h on, or local times: "09:00", "mon-fri 09:00" or the five fields of cron. Empty: once.
	Every   string    `json:"every,omitempty"`
	Zone    string    `json:"zone,omitempty"`    // of local times; empty: the agent's
	Until   time.Time `json:"until,omitzero"`    // no call after it
	Room    string    `json:"room,omitempty"`    // that it looks at and where it may say something; empty: none
	Message string    `json:"message,omitempty"` // what it is called for
}

// CheckIn sets when an agent is called. An agent that sleeps at the only call of a check-in is called when it wakes; of
// one that repeats itself the call is skipped. An agent that dreams is called when the dream is over. It needs role
// operator.
func (s *Service) CheckIn(ctx context.Context, c psyche.Caller, agent string, r CheckInRequest) (room.CheckIn, error) {
	a, err := s.agent(ctx, c, agent, access.Operator)
	if err != nil {
		return room.CheckIn{}, err
	}
	now := s.Now().UTC()
	set := room.CheckIn{
		Agent:   a.ID,
		Name:    cmp.Or(r.Name, keyOr("")[:8]),
		Room:    r.Room,
		From:    Person(c),
		Every:   strings.TrimSpace(r.Every),
		Until:   r.Until.UTC(),
		Created: now,
	}
	if r.Message != "" {
		set.Message = &room.Text{Body: r.Message, Name: Person(c).ID, Taint: dream.FromHuman}
	}
	if err := r.checkTimes(now); err != nil {
		return room.CheckIn{}, err
	}
	set.Zone, err = r.zone(a)
	if err != nil {
		return room.CheckIn{}, err
	}
	set.First = r.At.UTC()
	if set.Every != "" {
		set.First, err = firstCall(set, r.At, now)
		if err != nil {
			return room.CheckIn{}, invalid("every", err)
		}
	}
	set.Next = set.First
	if !set.Until.IsZero() && set.Next.After(set.Until) {
		return room.CheckIn{}, invalid("until", fmt.Errorf("until is %s, before the first call at %s",
			set.Until.Format(time.RFC3339), set.Next.Format(time.RFC3339)))
	}
	if err := set.Validate(); err != nil {
		return room.CheckIn{}, invalid("name", err)
	}
	kept, err := s.Rooms.SetCheckIn(ctx, set)
	if errors.Is(err, room.ErrTooMany) {
		return kept, psyche.Refuse(http.StatusConflict, "too_many", "",
			"%s has %d check-ins, which is the most; cancel one.", a.Handle, room.MaxCheckIns)
	}
	if errors.Is(err, room.ErrTaken) {
		return kept, psyche.Refuse(http.StatusConflict, "conflict", "name",
			"%s has another check-in named %q; cancel it first, or choose another name.", a.Handle, set.Name)
	}
	if err != nil {
		return kept, failed("set a check-in of "+a.Handle, err)
	}
	s.look(ctx, a.ID)
	return kept, nil
}

// checkTimes says what is wrong with the times of a request.
func (r CheckInRequest) checkTimes(now time.Time) error {
	wrong := func(field string, at time.Time, what string) error {
		return invalid(field, fmt.Errorf("%s is %s, %s", field, at.Format(time.RFC3339), what))
	}
	switch {
	case r.At.IsZero() && strings.TrimSpace(r.Every) == "":
		return invalid("at", errors.New("at is missing; it must be a time to come, or every must say how often"))
	case !r.At.IsZero() && !r.At.After(now):
		return wrong("at", r.At, "which is past")
	case r.At.After(now.Add(furthest)):
		return wrong("at", r.At, "and a check-in is set at most a year ahead")
	case !r.Until.IsZero() && r.Every == "":
		return invalid("until", errors.New("until is given without every; a single call has no end"))
	case !r.Until.IsZero() && !r.Until.After(now):
		return wrong("until", r.Until, "which is past")
	}
	return nil
}

// zone is the time zone in which a request means local times; empty when it names none.
func (r CheckInRequest) zone(a dream.Agent) (string, error) {
	if _, err := time.ParseDuration(strings.TrimSpace(r.Every)); err == nil || r.Every == "" {
		if r.Zone != "" {
			return "", invalid("zone", fmt.Errorf("zone is %q, and no local time is given that it could be of", r.Zone))
		}
		return "", nil
	}
	name := cmp.Or(r.Zone, a.Zone)
	if _, err := time.LoadLocation(name); err != nil || name == "Local" {
		return "", invalid("zone", fmt.Errorf("zone is %q; it must be a name such as Europe/Berlin", name))
	}
	return name, nil
}

// firstCall is when a check-in that repeats itself calls first: at the given time or after it, and without one as soon
// as it is due.
func firstCall(c room.CheckIn, at, now time.Time) (time.Time, error) {
	if every, err := time.ParseDuration(c.Every); err == nil {
		if every < oftenest || every > leastOften {
			return time.Time{}, fmt.Errorf("every is %q; a duration is 1h to %dh", c.Every, leastOften/time.Hour)
		}
		if at.IsZero() {
			return now.Add(every), nil
		}
		return at.UTC(), nil
	}
	schedule, err := circadian.ParseSchedule(c.Every)
	if err != nil {
		return time.Time{}, fmt.Errorf("every is neither a duration such as 6h nor local times: %w", err)
	}
	call := now
	for range looksAtMost {
		following := schedule.Next(call, time.UTC) // where clocks are never changed
		if call != now && following.Sub(call) < oftenest {
			return time.Time{}, fmt.Errorf("every is %q, which calls twice within an hour; once an hour is the most", c.Every)
		}
		call = following
	}
	if at.After(now) {
		now = at.Add(-time.Nanosecond)
	}
	return schedule.Next(now, zoneOf(c)).UTC(), nil
}

func zoneOf(c room.CheckIn) *time.Location {
	at, err := time.LoadLocation(c.Zone)
	if err != nil {
		return time.UTC
	}
	return at
}

// nextCall is when a check-in calls next after a time; zero for never. What was missed meanwhile is left out.
func nextCall(c room.CheckIn, now time.Time) time.Time {
	var next time.Time
	if every, err := time.ParseDuration(c.Every); err == nil && every > 0 {
		next = c.First
		if passed := now.Sub(c.First); passed >= 0 {
			next = c.First.Add((passed/every + 1) * every)
		}
	} else if schedule, err := circadian.ParseSchedule(c.Every); err == nil {
		next = schedule.Next(now, zoneOf(c)).UTC()
	}
	if !c.Until.IsZero() && next.After(c.Until) {
		return time.Time{}
	}
	return next
}

// checkIn puts into the inbox of an agent what its check-ins call it for, and sets when they call next.
func (s *answering) checkIn(ctx context.Context, agent string) error {
	all, err := s.Rooms.CheckIns(ctx, agent)
	if err != nil || len(all) == 0 {
		return err
	}
	now := s.Now().UTC()
	for _, c := range all {
		if c.Next.After(now) {
			continue
		}
		if err := s.callFor(ctx, c, now); err != nil && !errors.Is(err, room.ErrStale) {
			return fmt.Errorf("check-in %s: %w", c.Name, err)
		}
	}
	return nil
}

// callFor makes one call of a check-in. A process that dies between its two steps makes the same call again, which
// changes nothing.
func (s *answering) callFor(ctx context.Context, c room.CheckIn, now time.Time) error {
	open, err := s.open(ctx, c.Agent)
	if err != nil {
		return err
	}
	key := "checkin/" + c.Name + "/"
	waits := slices.ContainsFunc(open, func(i room.Item) bool { return strings.HasPrefix(i.Key, key) })
	_, err = s.Rooms.Send(ctx, room.Direct{
		Agent:   c.Agent,
		Key:     key + c.Next.UTC().Format(time.RFC3339),
		Trigger: room.OnScheduled,
		From:    c.From,
		Message: c.Message,
		Room:    c.Room,
		Now:     now,
	}, func(m room.Situation) room.Decision {
		l := m.Listeners[0]
		d := room.Delivery{Agent: c.Agent, Outcome: room.Queued, Expires: now.Add(chatter.Lifetime)}
		asleep := dormancy.Effective(l.Dormancy, l.InRoom).Level == dormancy.Sleep
		switch {
		case c.Every == "":
		case asleep:
			d.Outcome, d.Reason = room.Skipped, string(admission.AtLevel)
		case waits:
			d.Outcome, d.Reason = room.Skipped, stillOpen
		}
		return room.Decision{Deliveries: []room.Delivery{d}}
	})
	if err != nil {
		return err
	}
	return s.Rooms.MoveCheckIn(ctx, c.Agent, c.Name, c.Next, nextCall(c, now))
}

// CheckIns lists the check-ins of an agent by name. It needs role operator.
func (s *Service) CheckIns(ctx context.Context, c psyche.Caller, agent string) ([]room.CheckIn, error) {
	a, err := s.agent(ctx, c, agent, access.Operator)
	if err != nil {
		return nil, err
	}
	all, err := s.Rooms.CheckIns(ctx, a.ID)
	return all, failed("list the check-ins of "+a.Handle, err)
}

// CancelCheckIn ends a check-in. A call that waits in the inbox stays there. It needs role operator.
func (s *Service) CancelCheckIn(ctx context.Context, c psyche.Caller, agent, name string) (room.CheckIn, error) {
	a, err := s.agent(ctx, c, agent, access.Operator)
	if err != nil {
		return room.CheckIn{}, err
	}
	ended, err := s.Rooms.CancelCheckIn(ctx, a.ID, name)
	if errors.Is(err, room.ErrNotFound) {
		return ended, psyche.Refuse(http.StatusNotFound, "not_found", "name", "%s has no check-in %q.", a.Handle, name)
	}
	return ended, failed("cancel check-in "+name+" of "+a.Handle, err)
}
