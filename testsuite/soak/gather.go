package soak

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/testsuite/chaos"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
	"github.com/seed-56a03226/oneiros/testsuite/week"
)

// WaitForDreams waits until every agent has dreamt again since its last lease, or was due to at the latest, and
// returns that time. With patient it also waits for agents that must wait for the minimum gap.
func (s *Soak) WaitForDreams(ctx context.Context, w *Watch, patient bool) (time.Time, error) {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return time.Now(), context.Cause(ctx)
		case <-tick.C:
		}
		leases, err := w.Leases()
		if err != nil {
			return time.Now(), err
		}
		e := Evidence{
			Leases: leases, Nights: map[string][]week.ObservedDream{}, Ends: map[string]map[string]time.Time{},
			Until: time.Now(),
		}
		owing := 0
		for _, agent := range s.Agents {
			if err := s.nights(ctx, &e, agent, false); err != nil {
				return time.Now(), err
			}
			if e.mayStillDream(agent.ID, patient) {
				owing++
			}
		}
		if owing == 0 {
			return time.Now(), nil
		}
	}
}

// mayStillDream says whether a dream may still come after the last lease.
func (e Evidence) mayStillDream(agent string, patient bool) bool {
	var last QuietSpell
	for _, l := range e.Leases[agent] {
		if l.To.After(last.Left) {
			last.Left = l.To
		}
	}
	if last.Left.IsZero() {
		return false
	}
	last.Next = e.Until
	e.findDream(agent, &last)
	return last.Begun.IsZero() && !last.Due.Before(e.Until) && (patient || !last.Gap)
}

// nights reads an agent's dreams. Those that still run are returned as far as they have come.
func (s *Soak) nights(ctx context.Context, e *Evidence, agent dream.Agent, over bool) error {
	items, err := s.Deployment.Store.Find(ctx,
		memory.Query{Agent: agent.ID, Kinds: []dream.Kind{dream.KindRecord}, Sort: memory.Oldest})
	if err != nil {
		return err
	}
	events, err := s.Deployment.Store.Events(ctx, agent.ID, 0, 0)
	if err != nil {
		return err
	}
	e.Ends[agent.ID] = map[string]time.Time{}
	for _, one := range events {
		if one.Type == (event.DreamEnded{}).EventType() {
			e.Ends[agent.ID][one.Dream] = one.At
		}
	}
	records := memory.As[*dream.Record](items)
	if over {
		e.Nights[agent.ID], err = week.Reconstruct(records, events)
		if err != nil {
			return fmt.Errorf("the nights of %s: %w", agent.Handle, err)
		}
		return nil
	}
	for _, n := range records {
		night := week.ObservedDream{Record: n}
		for _, one := range events {
			if one.Dream == n.ID &&
				(one.Type == (event.DreamStarted{}).EventType() || one.Type == (event.DreamResumed{}).EventType()) {
				night.Stretches = append(night.Stretches, week.Stretch{From: one.At})
			}
		}
		e.Nights[agent.ID] = append(e.Nights[agent.ID], night)
	}
	return nil
}

// EndDreams stops every agent from dreaming by itself, ends the running dreams, and returns when all have ended and
// their workflows have closed: a record is settled before its workflow completes.
func (s *Soak) EndDreams(ctx context.Context) error {
	for _, agent := range s.Agents {
		agent.Auto = false
		if err := s.Deployment.Store.PutAgent(ctx, agent); err != nil {
			return err
		}
		if err := s.Deployment.Starter.EnsureWorkflow(ctx, agent); err != nil {
			return err
		}
	}
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	request := map[string]bool{}
	for {
		open := 0
		for _, agent := range s.Agents {
			items, err := s.Deployment.Store.Find(ctx,
				memory.Query{Agent: agent.ID, Kinds: []dream.Kind{dream.KindRecord}, Sort: memory.Newest})
			if err != nil {
				return err
			}
			for _, n := range memory.As[*dream.Record](items) {
				if !n.Unsettled() {
					continue
				}
				open++
				if !request[n.ID] {
					if err := s.Deployment.Starter.Cancel(ctx, n.ID); err != nil {
						return fmt.Errorf("end %s: %w", n.ID, err)
					}
					request[n.ID] = true
				}
			}
		}
		slots, err := s.Deployment.Store.Slots(ctx)
		if err != nil {
			return err
		}
		if open+len(slots) == 0 {
			return s.waitForWorkflows(ctx)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d dreams do not end: %w", open, context.Cause(ctx))
		case <-tick.C:
		}
	}
}

// waitForWorkflows returns when no workflow of a recorded dream runs any more, however it ended.
func (s *Soak) waitForWorkflows(ctx context.Context) error {
	for _, agent := range s.Agents {
		items, err := s.Deployment.Store.Find(ctx, memory.Query{Agent: agent.ID, Kinds: []dream.Kind{dream.KindRecord}})
		if err != nil {
			return err
		}
		for _, n := range memory.As[*dream.Record](items) {
			_ = s.Deployment.Client.GetWorkflow(ctx, n.ID, "").Get(ctx, nil) // the books judge how it ended
			if ctx.Err() != nil {
				return fmt.Errorf("the workflow of %s still runs: %w", n.ID, context.Cause(ctx))
			}
		}
	}
	return nil
}

// Gather reads everything that the run left behind, after the deployment has stopped dreaming.
func (s *Soak) Gather(ctx context.Context, w *Watch, until time.Time) (Evidence, chaos.Evidence, error) {
	e := Evidence{
		Turns:     s.Turns(),
		Nights:    map[string][]week.ObservedDream{},
		Ends:      map[string]map[string]time.Time{},
		DreamText: map[string][]string{},
		Until:     until,
	}
	s.mu.Lock()
	e.Loads = s.loads
	s.mu.Unlock()
	for i := range s.Clients {
		e.Clients = append(e.Clients, fmt.Sprintf("guest-%02d", i))
	}
	var err error
	e.Leases, err = w.Leases()
	if err != nil {
		return e, chaos.Evidence{}, err
	}
	books, err := chaos.Gather(ctx, s.Deployment, s.Provider.Billing)
	if err != nil {
		return e, books, err
	}
	books.Judging = &testdeploy.Judging{Daily: judgeDaily} // the servers look at the predictions at each full hour
	for _, agent := range s.Agents {
		if err := s.nights(ctx, &e, agent, true); err != nil {
			return e, books, err
		}
		if err := s.collectDreamText(ctx, &e, agent); err != nil {
			return e, books, err
		}
	}
	return e, books, nil
}

// collectDreamText collects sequences of words from an agent's dreams that are long enough to be unique.
func (s *Soak) collectDreamText(ctx context.Context, e *Evidence, agent dream.Agent) error {
	items, err := s.Deployment.Store.Find(ctx,
		memory.Query{
			Agent: agent.ID, Kinds: []dream.Kind{dream.KindFragment, dream.KindScenario, dream.KindJournal},
			Sort: memory.Oldest,
		})
	if err != nil {
		return err
	}
	for _, item := range items {
		if words := []rune(item.Text()); len(words) >= 24 {
			e.DreamText[agent.Handle] = append(e.DreamText[agent.Handle], string(words[:min(len(words), 60)]))
		}
	}
	return nil
}
