package healthcmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/payload"
)

// temporalWithin bounds all queries to Temporal together.
const temporalWithin = 10 * time.Second

// feedSilence is how long a feed may be silent before it is reported: every daily feed speaks within a day.
const feedSilence = 24 * time.Hour

// examination is a deployment under examination, with its connection to Temporal where there is one.
type examination struct {
	app    *cli.App
	now    time.Time
	engine deploy.Engine
	why    error // why there is no connection
}

func examineTemporal(ctx context.Context, app *cli.App) *examination {
	e := &examination{app: app, now: app.Now(), why: deploy.ErrNoServer}
	ctx, cancel := context.WithTimeout(ctx, temporalWithin)
	defer cancel()
	engine, err := app.Backend.Reach(ctx, app.Deployment)
	if err == nil {
		e.engine, e.why = engine, nil
		return e
	}
	if engine != nil {
		_ = engine.Stop()
	}
	e.why = err
	return e
}

func (e *examination) leave() {
	if e.engine != nil {
		_ = e.engine.Stop()
	}
}

// whyNotQueried says why Temporal was not queried; empty when it was.
func (e *examination) whyNotQueried() string {
	switch {
	case e.why == nil:
		return ""
	case errors.Is(e.why, deploy.ErrNoServer):
		return "no Temporal server is configured and no oneiros up is running"
	}
	return "Temporal does not answer: " + e.why.Error()
}

func (e *examination) temporal() healthLine {
	l := healthLine{Name: "temporal", State: Fine, Found: "it answers"}
	if e.why == nil {
		for _, p := range e.engine.Places() {
			l.Found = "it answers, " + p.Where
			break
		}
		return l
	}
	l.is(Look, notChecked+e.whyNotQueried(), "oneiros up starts one; the rest comes from the store.")
	if !errors.Is(e.why, deploy.ErrNoServer) {
		l.is(Wrong, e.whyNotQueried(), "oneiros doctor says what to do about it.")
	}
	return l
}

// worker queries the workflows of agents, which only a worker can answer.
func (e *examination) worker(ctx context.Context, agents []dream.Agent) healthLine {
	l := healthLine{Name: "worker", State: Fine}
	if e.why != nil {
		l.is(Look, notChecked+e.whyNotQueried(), "")
		return l
	}
	for _, a := range agents {
		_, err := view.QueryAgentState(ctx, e.app, a)
		switch {
		case err == nil:
			l.Found = "it answers for " + a.Handle
			return l
		case errors.Is(err, memory.ErrNotFound), errors.Is(err, deploy.ErrNoServer):
		default:
			l.is(Wrong, fmt.Sprintf("nobody answers for %s within %s", a.Handle, deploy.AgentStateWithin),
				"oneiros worker, or oneiros up, runs one.")
			if key, here, ok := payload.MissingKey(err); ok {
				l.is(Wrong, missingKey(key, here),
					"Set seal.keys_file or seal.keys_env where it is missing (docs/sealing.md).")
			}
			return l
		}
	}
	l.is(Look, notChecked+"no agent has a workflow on Temporal yet", "")
	return l
}

// missingKey says which sealing key is missing, and where.
func missingKey(id string, here bool) string {
	if here {
		return fmt.Sprintf("sealing key %q is missing here, so that what a worker answers cannot be read", id)
	}
	return fmt.Sprintf("sealing key %q is missing at the worker, so that its dreams and agents stand still", id)
}

// reservations reports money reserved for dreams that do not run.
func (e *examination) reservations(ctx context.Context, agents []dream.Agent) ([]healthLine, error) {
	open, err := e.app.Ledger.OpenDreams(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the open reservations: %w", err)
	}
	l := healthLine{Name: "reservations", State: Fine, Found: "none is open"}
	var orphans []string
	var sum budget.Micros
	going, requests := 0, false
	for _, id := range open {
		if id == "" {
			requests = true
			continue
		}
		runs, reported, err := e.running(ctx, agents, id)
		if err != nil {
			return nil, err
		}
		if runs || !reported {
			going++
			continue
		}
		rows, err := e.app.Ledger.Rows(ctx, spend.Query{Dream: id, States: []spend.State{spend.Open}})
		if err != nil {
			return nil, fmt.Errorf("read the open reservations of %s: %w", id, err)
		}
		for _, r := range rows {
			sum += r.Reserved
		}
		orphans = append(orphans, id)
	}
	var causes []string
	if requests {
		causes = append(causes, "requests under way")
	}
	if going > 0 {
		causes = append(causes, cli.Plural(going, "dream that goes on", "dreams that go on"))
	}
	if len(causes) > 0 {
		l.Found = "open only for " + strings.Join(causes, " and for ")
	}
	if going > 0 && e.why != nil {
		l.Found += " by its record; whether a workflow carries it was " + notChecked + e.whyNotQueried()
	}
	if len(orphans) > 0 {
		l.is(Wrong, fmt.Sprintf("%s is set aside for %s, which nobody dreams: %s", sum,
			cli.Count(len(orphans), "dream"), strings.Join(orphans, ", ")),
			"A worker books it as spent within a minute (oneiros up); if one runs, "+
				"oneiros dreams cancel DREAM --abandon closes the dream.")
	}
	return []healthLine{l}, nil
}

// running reports whether a dream runs, according to Temporal where that answers, else to its record. reported is
// false when the dream belongs to an agent that is not examined.
func (e *examination) running(ctx context.Context, agents []dream.Agent, id string) (runs, reported bool, err error) {
	for _, a := range agents {
		if !strings.HasPrefix(id, cli.DreamsOf(a)) {
			continue
		}
		if e.engine != nil {
			if runs, err := e.engine.Workflows().Running(ctx, id); err == nil {
				return runs, true, nil
			}
		}
		record, err := memory.One[*dream.Record](ctx, e.app.Store, a.ID, id)
		if errors.Is(err, memory.ErrNotFound) {
			return false, true, nil
		}
		return err == nil && record.Unsettled(), true, err
	}
	return false, false, nil
}

// feeds checks the feeds that an agent follows.
func (e *examination) feeds(ctx context.Context, agents []dream.Agent) []healthLine {
	var names []string
	for _, a := range agents {
		if a.Feed != "" && !slices.Contains(names, a.Feed) {
			names = append(names, a.Feed)
		}
	}
	if len(names) == 0 {
		return []healthLine{{Name: "feeds", State: Fine, Found: "nobody follows one"}}
	}
	var lines []healthLine
	for _, name := range names {
		lines = append(lines, e.feed(ctx, name))
	}
	return lines
}

func (e *examination) feed(ctx context.Context, name string) healthLine {
	l := healthLine{Name: "feed " + name, State: Fine}
	_, err := e.app.Feeds.Feed(ctx, name)
	switch {
	case errors.Is(err, memory.ErrNotFound):
		l.is(Wrong, "it is followed, and there is no such feed", "oneiros feed add "+name+" adds it.")
		return l
	case err != nil:
		l.is(Wrong, "it cannot be read: "+err.Error(), "")
		return l
	case e.engine == nil:
		l.is(Look, notChecked+e.whyNotQueried(), "")
		return l
	}
	ctx, cancel := context.WithTimeout(ctx, deploy.AgentStateWithin)
	defer cancel()
	s, err := e.engine.Workflows().FeedState(ctx, name)
	switch {
	case err != nil:
		l.is(Look, "its probe does not answer", "oneiros feed show "+name+" asks again; a worker must run.")
	case s.InARow > 0:
		l.is(Wrong, fmt.Sprintf("it failed %s in a row: %s", cli.Count(s.InARow, "time"),
			s.Failure), "See that its address answers; oneiros feed show "+name+" shows more.")
	case s.LastReading.IsZero():
		l.is(Look, "it has never said anything", "Push a reading, or see that its address says what its rules name.")
	case e.now.Sub(s.LastReading) > feedSilence:
		l.is(Look, "silent since "+view.Stamp(e.app, s.LastReading),
			"Check the program that pushes readings; the rules cannot fire while the feed is silent.")
	default:
		l.Found = "it said something at " + view.Stamp(e.app, s.LastReading)
	}
	return l
}
