package healthcmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
)

// What an overview shows of an agent that has to be looked at more closely.
const (
	newestChecked = 5              // so many of its newest dreams are described
	longestDream  = time.Hour      // a dream that goes on for longer may have lost its workflow
	longestRest   = 36 * time.Hour // an agent that dreams by itself has dreamt since then
)

// leftOut are the checks that read too much to be made for every agent. An agent that has another problem gets them.
const leftOut = "record, money, hypotheses, quality and the archive of events"

// problems runs the checks of the deployment, and those of the agents of which an overview shows that they can have a
// problem, and returns what is not fine.
func (e *examination) problems(ctx context.Context, agents []dream.Agent) ([]healthLine, error) {
	var lines, open, feeds []healthLine
	var unread error
	var beside sync.WaitGroup // the overview of very many agents takes longest
	beside.Go(func() {
		lines = append(e.losses(ctx), e.overload(ctx)...)
		open, unread = e.reservations(ctx, agents)
		feeds = e.feeds(ctx, agents)
	})
	suspects, dreamers, err := e.suspects(ctx, agents)
	beside.Wait()
	if err := errors.Join(err, unread); err != nil {
		return nil, err
	}
	lines = append(lines, e.temporal(), e.worker(ctx, dreamers))
	lines = append(append(lines, open...), feeds...)
	closely, err := e.closely(ctx, suspects)
	if err != nil {
		return nil, err
	}
	lines = append(lines, closely...)
	lines = slices.DeleteFunc(lines, func(l healthLine) bool { return l.State == Fine })
	e.app.Note("%s looked at, %d of them closely. Not looked for in the others: %s; oneiros health -a AGENT does.",
		cli.Count(len(agents), "agent"), len(suspects), leftOut)
	return lines, ctx.Err()
}

// closelyAtOnce is how many agents are looked at closely at once: each is a few dozen readings of the store.
const closelyAtOnce = 8

// closely runs all checks of some agents, and returns their findings in this order.
func (e *examination) closely(ctx context.Context, agents []dream.Agent) ([]healthLine, error) {
	found, faults := make([][]healthLine, len(agents)), make([]error, len(agents))
	slots := make(chan struct{}, closelyAtOnce)
	var group sync.WaitGroup
	for i, a := range agents {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			found[i], faults[i] = e.agent(ctx, a)
			if faults[i] != nil {
				faults[i] = fmt.Errorf("look at %s: %w", a.Handle, faults[i])
			}
			for n := range found[i] {
				found[i][n].Agent = a.Handle
			}
		})
	}
	group.Wait()
	return slices.Concat(found...), errors.Join(faults...)
}

// asksWorkers is how many agents' workflows are asked, at most, until one answers.
const asksWorkers = 5

// suspects are the agents that can have a problem, and some that have dreamt.
func (e *examination) suspects(ctx context.Context, agents []dream.Agent,
) (suspects, dreamers []dream.Agent, err error) {
	ids := make([]string, len(agents))
	for i, a := range agents {
		ids[i] = a.ID
	}
	q := memory.OverviewQuery{
		Dreams:    1,
		States:    []dream.State{dream.Live, dream.Archived},
		DueBefore: e.now.Add(-overdueBy),
		Waits:     true,
	}
	all, err := e.app.Fleet.Overview(ctx, ids, q)
	if err != nil {
		return nil, nil, err
	}
	var unclear []string
	for _, o := range all {
		if len(o.Dreams) > 0 && !succeeded(o.Dreams[0]) {
			unclear = append(unclear, o.Agent)
		}
	}
	q.Dreams = newestChecked
	more, err := e.app.Fleet.Overview(ctx, unclear, q)
	if err != nil {
		return nil, nil, err
	}
	for i, a := range agents {
		if len(more) > 0 && more[0].Agent == a.ID {
			all[i], more = more[0], more[1:]
		}
		if len(all[i].Dreams) > 0 && len(dreamers) < asksWorkers {
			dreamers = append(dreamers, a)
		}
		if e.suspect(a, all[i]) {
			suspects = append(suspects, a)
		}
	}
	return suspects, dreamers, nil
}

// succeeded reports whether a dream counts and has ended with something that it may have kept.
func succeeded(d memory.DreamMark) bool {
	outcome := d.Outcome()
	return d.State == dream.Live && d.Status != dream.RecordWaits &&
		(outcome == dream.Completed || outcome == dream.Exhausted || outcome == dream.Interrupted)
}

// suspect reports whether an agent can have a problem.
func (e *examination) suspect(a dream.Agent, o memory.Overview) bool {
	if o.Waits || o.Overdue > 0 {
		return true
	}
	rested := a.Created
	ended, good := 0, false
	for i, d := range o.Dreams {
		if i == 0 {
			rested = d.At
		}
		switch outcome := d.Outcome(); {
		case outcome == dream.Undone:
			return true
		case outcome == dream.Dreaming && (!o.Dreaming || e.now.Sub(d.At) > longestDream):
			return true
		case outcome == dream.Dreaming, d.Status == dream.RecordWaits, d.State != dream.Live, good:
		case outcome == dream.Empty, outcome == dream.Aborted:
			return true
		default:
			ended++
			good = outcome != dream.Canceled
		}
	}
	return ended > 0 && !good || (a.Auto || e.app.Settings.Auto) && e.now.Sub(rested) > longestRest
}
