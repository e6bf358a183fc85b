// Package triggers finds in the store what calls for a dream: new episodes and events in an agent's log.
package triggers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/fabric"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// Callers pass calls of triggers to an agent's workflow, which ignores repeated ones.
type Callers interface {
	Call(ctx context.Context, agent dream.Agent, f Fire) error
}

// Listener finds calls that no other process reports: added memories, and events in an agent's log. It derives them
// from the store each time, so a restart loses nothing; its own memory only avoids repeated signals and is dropped
// within the hour.
type Listener struct {
	Memory memory.DreamStore
	Events fabric.Log
	Calls  Callers
	Now    func() time.Time

	mu     sync.Mutex
	passed map[string]string // by agent and trigger, the key of the last call that was passed on
	read   map[string]int64  // by agent, the newest event that was read

	since map[string]time.Time // by agent, when the memory was begun
}

// forgetAfter is how long a listener remembers which calls it passed on. A workflow that was terminated, or did not
// have the trigger yet, then gets the call again; any other recognises it by its key.
const forgetAfter = time.Hour

// Listen checks every agent that dreams automatically once, and returns how many calls it passed on. An agent that
// cannot be read or reached does not delay the others.
func (l *Listener) Listen(ctx context.Context) (int, error) {
	agents, err := l.Memory.Agents(ctx)
	if err != nil {
		return 0, err
	}
	return l.ListenTo(ctx, agents)
}

// ListenTo is Listen for a caller that has just read all agents.
func (l *Listener) ListenTo(ctx context.Context, agents []dream.Agent) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.passed == nil {
		l.passed, l.read, l.since = map[string]string{}, map[string]int64{}, map[string]time.Time{}
	}
	passed := 0
	var faults []error
	for _, a := range agents {
		if !a.Auto || !listens(a) {
			delete(l.since, a.ID) // calls are repeated when it is switched on again
			continue
		}
		n, err := l.listen(ctx, a)
		passed += n
		if err != nil {
			faults = append(faults, fmt.Errorf("triggers of %s: %w", a.Handle, err))
		}
	}
	return passed, errors.Join(faults...)
}

// listens says whether an agent has a trigger that the listener serves.
func listens(a dream.Agent) bool {
	for _, t := range a.Triggered() {
		if t.Kind == dream.OnEpisodes || t.Kind == dream.OnEvent && t.Event != "" {
			return true
		}
	}
	return false
}

func (l *Listener) listen(ctx context.Context, a dream.Agent) (int, error) {
	l.forget(a.ID)
	last, err := ReadLastDream(ctx, l.Memory, a.ID)
	if err != nil {
		return 0, err
	}
	fires, head, err := l.fires(ctx, a, last)
	if err != nil {
		return 0, err
	}
	passed := 0
	for _, f := range fires {
		to := a.ID + "\x00" + f.Trigger
		if l.passed[to] == f.Key {
			continue
		}
		if err := l.Calls.Call(ctx, a, f); err != nil {
			return passed, err // the events are read again
		}
		l.passed[to] = f.Key
		passed++
	}
	if head > 0 {
		l.read[a.ID] = head
	}
	return passed, nil
}

// forget resets the memory of an agent after forgetAfter.
func (l *Listener) forget(agent string) {
	if now := l.Now(); now.Sub(l.since[agent]) >= forgetAfter {
		l.since[agent], l.read[agent] = now, 0
		maps.DeleteFunc(l.passed, func(to, _ string) bool { return strings.HasPrefix(to, agent+"\x00") })
	}
}

// fires are the calls of an agent's triggers since its last dream, at most one per trigger.
func (l *Listener) fires(ctx context.Context, a dream.Agent, last LastDream,
) (fires []Fire, head int64, err error) {
	events := map[string]dream.Trigger{}
	for _, t := range a.Triggered() {
		switch {
		case t.Kind == dream.OnEpisodes:
			n, err := last.NewEpisodes(ctx, l.Memory, a.ID)
			if err != nil {
				return nil, 0, err
			}
			if n >= t.Episodes {
				fires = append(fires, Fire{
					Trigger: t.Name, Kind: t.Kind, At: l.Now().UTC(),
					Key: "after " + last.Newest + " " + strconv.Itoa(t.Episodes),
					Reason: fmt.Sprintf("%d new episodes since the last dream; the trigger waits for %d", n,
						t.Episodes),
				})
			}
		case t.Kind == dream.OnEvent && t.Event != "":
			events[t.Name] = t
		}
	}
	if len(events) == 0 {
		return fires, 0, nil
	}
	found, head, err := l.happened(ctx, a, events, last)
	return append(fires, found...), head, err
}

// happened are the newest matching events since the last dream that were not read yet.
func (l *Listener) happened(ctx context.Context, a dream.Agent, triggers map[string]dream.Trigger,
	last LastDream,
) ([]Fire, int64, error) {
	since := a.Created
	if last.Record != nil {
		since = last.Record.AsOf
	}
	found := map[string]Fire{}
	head := l.read[a.ID]
	after := head
	if head == 0 {
		var err error
		after, err = l.begin(ctx, a.ID, since)
		if err != nil {
			return nil, 0, err
		}
	}
	for {
		events, err := l.Events.Events(ctx, a.ID, after, page)
		if err != nil {
			return nil, 0, fmt.Errorf("read its log: %w", err)
		}
		for _, e := range events {
			after, head = e.Seq, e.Seq
			for name, t := range triggers {
				if e.At.After(since) && Matches(t, e) {
					found[name] = Fire{
						Trigger: name,
						Kind:    t.Kind,
						At:      e.At,
						Key:     e.ID,
						Reason:  whyEvent(e),
					}
				}
			}
		}
		if len(events) < page {
			break
		}
	}
	fires := make([]Fire, 0, len(found))
	for _, t := range a.Triggered() {
		if f, ok := found[t.Name]; ok {
			fires = append(fires, f)
		}
	}
	return fires, head, nil
}

// page is how many events are read at once.
const page = 500

// begin is the position in an agent's log before everything that happened since a time.
func (l *Listener) begin(ctx context.Context, agent string, since time.Time) (int64, error) {
	heads, err := l.Events.Heads(ctx, agent)
	if err != nil {
		return 0, fmt.Errorf("read where the logs end: %w", err)
	}
	after := heads[agent]
	for after > 0 {
		after = max(0, after-page)
		events, err := l.Events.Events(ctx, agent, after, 1)
		if err != nil {
			return 0, fmt.Errorf("read its log: %w", err)
		}
		if len(events) > 0 && !events[0].At.After(since) {
			return after, nil
		}
	}
	return 0, nil
}

// Matches says whether an event calls by a trigger. Events of a dream call for no other dream.
func Matches(t dream.Trigger, e event.Event) bool {
	if t.Event == "" || e.Type != event.CurrentType(t.Event) || e.Dream != "" {
		return false
	}
	if t.Residual == 0 {
		return true
	}
	r, ok := residualOf(e)
	return ok && math.Abs(r) >= t.Residual
}

func residualOf(e event.Event) (float64, bool) {
	var result struct {
		Residual *float64 `json:"residual"`
	}
	if json.Unmarshal(e.Data, &result) != nil || result.Residual == nil {
		return 0, false
	}
	return *result.Residual, true
}

func whyEvent(e event.Event) string {
	if r, ok := residualOf(e); ok {
		return fmt.Sprintf("%s with a residual of %+.2f", e.Type, r)
	}
	return e.Type
}
