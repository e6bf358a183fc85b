package psyche

import (
	"context"
	"crypto/rand"
	"regexp"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/internal/access"
)

// How long a session may hold an agent awake without being renewed.
const (
	shortestSession = time.Second
	longestSession  = time.Hour
)

var sessionID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

// ValidSession refuses what is no id of a session; param is where it stands in the request.
func ValidSession(param, id string) error {
	if !sessionID.MatchString(id) {
		return invalidRequest("invalid_id", param, "A session's id must be 1 to 64 of A-Z, a-z, 0-9, - _ and dot.")
	}
	return nil
}

func (c Caller) session(id string) string { return "session/" + c.Key.SpeaksAs() + "/" + id }

// Open begins or renews a session.
func (s *Service) Open(ctx context.Context, c Caller, agent, id string, ttl time.Duration) (Session, error) {
	a, err := s.reach(ctx, c, agent, access.Client)
	if err != nil {
		return Session{}, err
	}
	if ttl == 0 {
		ttl = s.o.Hold
	}
	if ttl < shortestSession || ttl > longestSession {
		return Session{},
			invalidRequest("out_of_range", "ttl", "ttl is %s; it must be %s to %s.", ttl, shortestSession, longestSession)
	}
	if id == "" {
		id = "ses_" + strings.ToLower(rand.Text())
	}
	if err := ValidSession("id", id); err != nil {
		return Session{}, err
	}
	now := s.now()
	w, err := s.Waker.Wake(ctx, a.ID, c.session(id), ttl)
	if err != nil {
		return Session{}, storeFault("wake the agent", err)
	}
	s.digests.woke(w)
	return Session{ID: id, Agent: a.Handle, Until: now.Add(ttl), Woke: w.Raised}, nil
}

// Leave ends a session of the caller's. A session that has already ended is no error.
func (s *Service) Leave(ctx context.Context, c Caller, agent, id string) error {
	a, err := s.reach(ctx, c, agent, access.Client)
	if err != nil {
		return err
	}
	if err := ValidSession("id", id); err != nil {
		return err
	}
	if err := s.Waker.Leave(ctx, a.ID, c.session(id)); err != nil {
		return storeFault("end the session", err)
	}
	return nil
}
