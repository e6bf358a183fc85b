package starter

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/workflows"
)

// Attendants ask the attendant of an agent, a workflow, to go on with it in rooms. Look does not wait.
type Attendants interface {
	Look(agent dream.Agent)
}

// ForRooms is the part of the starter that rooms ask to go on with an agent.
func (s *Starter) ForRooms() Attendants {
	s.looks.mu.Lock()
	defer s.looks.mu.Unlock()
	if s.Client != nil {
		s.looks.signal = attending{s}.look
	}
	return &s.looks
}

// looker signals the attendants of agents beside its callers, one signal at a time for each agent, until Temporal has
// taken it.
type looker struct {
	signal func(ctx context.Context, a dream.Agent) error // nil: there is no Temporal

	mu      sync.Mutex
	again   map[string]bool // by agent under way: it was asked for once more
	running sync.WaitGroup
	open    context.Context
	close   context.CancelFunc
	closed  bool
}

// Delays between attempts to signal an attendant; they double.
const (
	lookRetry = 200 * time.Millisecond
	lookMost  = 5 * time.Second
)

// Look lets the attendant of an agent look for what is due. It does not wait.
func (l *looker) Look(a dream.Agent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.signal == nil || l.closed {
		return
	}
	if l.again == nil {
		l.again = map[string]bool{}
		l.open, l.close = context.WithCancel(context.Background())
	}
	if _, under := l.again[a.ID]; under {
		l.again[a.ID] = true
		return
	}
	l.again[a.ID] = false
	l.running.Go(func() { l.send(a) })
}

func (l *looker) send(a dream.Agent) {
	delay := lookRetry
	for l.open.Err() == nil {
		ctx, cancel := context.WithTimeout(l.open, reportWithin)
		err := l.signal(ctx, a)
		cancel()
		if err == nil && l.finished(a.ID) {
			return
		}
		if err == nil {
			delay = lookRetry
			continue
		}
		delay = pause(l.open, delay, lookMost)
	}
}

// finished reports whether nobody has asked for the agent since the signal was sent.
func (l *looker) finished(agent string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.again[agent] {
		l.again[agent] = false
		return false
	}
	delete(l.again, agent)
	return true
}

// lookLast is how long the last signals may take when the process ends.
const lookLast = 2 * time.Second

// end drops the signals that Temporal does not take soon. What they are for stays in the store, and is found by Sweep.
func (l *looker) end() {
	l.mu.Lock()
	l.closed = true
	closing := l.close
	l.mu.Unlock()
	if closing == nil {
		return
	}
	defer time.AfterFunc(lookLast, closing).Stop()
	l.running.Wait()
	closing()
}

// attending starts and signals the attendants of agents.
type attending struct{ *Starter }

// look signals the attendant of an agent, starting it if needed.
func (s attending) look(ctx context.Context, a dream.Agent) error {
	_, err := s.Client.SignalWithStartWorkflow(ctx, workflows.AttendID(a.Handle), workflows.SignalLook, nil,
		s.Options.workflow("rooms of "+a.Handle, workflows.AttendMemo(a.Handle)), workflows.AttendType,
		workflows.AttendRequest{Agent: a.ID, Handle: a.Handle})
	if err != nil {
		return fmt.Errorf("signal the attendant of %s: %w", a.Handle, err)
	}
	return nil
}
