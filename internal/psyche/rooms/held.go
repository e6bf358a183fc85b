package rooms

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// posting is the name of the held action that posts something.
const posting = "post"

func keyOr(key string) string { return cmp.Or(key, strings.ToLower(rand.Text())) }

// hold keeps what a sleeping agent asked to say until it wakes.
func (s *core) hold(ctx context.Context, r PostRequest, d *room.Draft) error {
	r.Key = d.Key
	body, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("hold a post: %w", err)
	}
	_, err = s.Rooms.Hold(ctx, room.Action{
		Agent:   d.Author.ID,
		Key:     d.Key,
		Room:    d.Room,
		Name:    posting,
		Body:    body,
		Created: d.Now,
	})
	if err != nil {
		return failed("hold a post until its author wakes", err)
	}
	s.look(ctx, d.Author.ID)
	return nil
}

// release carries out, in the order in which they were asked for, the held actions of an agent that is awake where they
// belong. It ends with the first that fails for a passing reason.
func (s *answering) release(ctx context.Context, a dream.Agent) error {
	held, err := s.held(ctx, a.ID)
	if err != nil || len(held) == 0 {
		return err
	}
	states, err := s.Rooms.Dormancy(ctx, a.ID)
	if err != nil {
		return err
	}
	for _, action := range held {
		if effective(states, action.Room).Level == dormancy.Sleep {
			continue
		}
		state, reason := room.Done, ""
		err := s.carryOut(ctx, action)
		if errors.Is(err, errAsleep) {
			return nil
		}
		if err != nil {
			var fault *psyche.Fault
			if !errors.As(err, &fault) || fault.Status >= 500 {
				return err
			}
			state, reason = room.Abandoned, fault.Message
		}
		if _, err := s.Rooms.EndAction(ctx, a.ID, action.Key, state, reason, s.Now().UTC()); err != nil {
			return err
		}
	}
	return nil
}

// errAsleep says that the agent has fallen asleep again: what is held stays so.
var errAsleep = errors.New("the agent sleeps")

func (s *answering) carryOut(ctx context.Context, action room.Action) error {
	if action.Name != posting {
		return psyche.Refuse(400, "unknown_action", "name", "There is no action %q.", action.Name)
	}
	var r PostRequest
	if err := json.Unmarshal(action.Body, &r); err != nil {
		return invalid("body", err)
	}
	r.Room, r.Key = action.Room, action.Key
	done, err := s.say(ctx, room.AgentID(action.Agent), r)
	if done.Held {
		return errAsleep
	}
	return err
}

// Held lists what a sleeping agent asked for and what is carried out when it wakes, after a number. It needs role
// operator.
func (s *Service) Held(ctx context.Context, c psyche.Caller, agent string, after int64, limit int) (
	[]room.Action, error,
) {
	a, err := s.agent(ctx, c, agent, access.Operator)
	if err != nil {
		return nil, err
	}
	held, err := s.Rooms.Held(ctx, a.ID, after, limit)
	return held, failed("list what is held for "+a.Handle, err)
}

// Inbox lists what waits for an agent after a number, oldest first. It needs role operator.
func (s *Service) Inbox(ctx context.Context, c psyche.Caller, agent string, after int64, limit int) (
	[]room.Item, error,
) {
	a, err := s.agent(ctx, c, agent, access.Operator)
	if err != nil {
		return nil, err
	}
	items, err := s.Rooms.Inbox(ctx, a.ID, after, true, limit)
	return items, failed("read the inbox of "+a.Handle, err)
}

// Calls lists what became of the calls of an agent after a number, oldest first: each answer, silence, failure and
// skip, with its reason and its cost. It needs role operator.
func (s *Service) Calls(ctx context.Context, c psyche.Caller, agent string, after int64, limit int) ([]room.Wake, error) {
	a, err := s.agent(ctx, c, agent, access.Operator)
	if err != nil {
		return nil, err
	}
	wakes, err := s.Rooms.Wakes(ctx, a.ID, after, limit)
	return wakes, failed("read the calls of "+a.Handle, err)
}

// silence says since when an agent was silent, in words: "2 days, since Monday 09:12".
func silence(since, now time.Time) string {
	d := now.Sub(since)
	count := func(n int, unit string) string {
		if n == 1 {
			return "1 " + unit
		}
		return fmt.Sprintf("%d %ss", n, unit)
	}
	switch {
	case d < time.Minute:
		return "less than a minute"
	case d < time.Hour:
		return fmt.Sprintf("%s, since %s", count(int(d/time.Minute), "minute"), since.Format("15:04"))
	case d < 24*time.Hour:
		return fmt.Sprintf("%s, since %s", count(int(d/time.Hour), "hour"), since.Format("15:04"))
	case d < 7*24*time.Hour:
		return fmt.Sprintf("%s, since %s", count(int(d/(24*time.Hour)), "day"), since.Format("Monday 15:04"))
	}
	return fmt.Sprintf("%s, since %s", count(int(d/(24*time.Hour)), "day"), since.Format("2 January 2006"))
}
