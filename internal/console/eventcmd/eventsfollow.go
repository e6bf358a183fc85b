package eventcmd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/fabric"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

// How often all agents are polled for new events, and how often a store that does not answer is tried again.
const (
	lookEvery  = 300 * time.Millisecond
	backWithin = time.Second
)

// followAll prints the new events of every agent, including agents that are added meanwhile.
func followAll(ctx context.Context, app *cli.App, after map[string]int64, request eventsQuery,
	t *eventPrinter,
) error {
	sweep := fabric.Sweep{Log: app.Events, After: after, Lost: func(id string, head int64) {
		if a, found := t.agents[id]; found {
			warnTruncated(app, a, head)
		}
	}}
	wait := storeRetry{app: app}
	for {
		err := sweep.Once(ctx, func(e event.Event) error {
			if !request.wants(e) {
				return nil
			}
			if err := t.addAgent(ctx, e.Agent); err != nil {
				return err
			}
			return t.print(e)
		})
		err = wait.retry(ctx, err)
		if err != nil {
			return err
		}
		if err := pauseFor(ctx, lookEvery); err != nil {
			return err
		}
	}
}

// storeRetry waits while the store does not answer.
type storeRetry struct {
	app  *cli.App
	away bool
}

// retry returns every error except that the store does not answer: then it waits a little.
func (p *storeRetry) retry(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, memory.ErrAway):
		if !p.away {
			p.app.Note("The store is away (%v); waiting for it.", err)
		}
		p.away = true
		return pauseFor(ctx, backWithin)
	case err == nil && p.away:
		p.app.Note("The store is back.")
		p.away = false
	}
	return err
}

// warnTruncated warns that a log ends before the events already printed.
func warnTruncated(app *cli.App, a dream.Agent, head int64) {
	app.Note("%s: the store came back with %s and without the newest events; new events are shown from there on.",
		a.Handle, cli.Count(int(head), "event"))
}

func pauseFor(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// eventPrinter prints events: JSON lines on request, else one line each, under headings for day and dream.
type eventPrinter struct {
	app    *cli.App
	agents map[string]dream.Agent
	many   bool
	under  string
}

func newEventPrinter(app *cli.App, many bool, agents ...dream.Agent) *eventPrinter {
	t := &eventPrinter{app: app, many: many, agents: map[string]dream.Agent{}}
	for _, a := range agents {
		t.agents[a.ID] = a
	}
	return t
}

// addAgent looks up an agent when its first event comes.
func (t *eventPrinter) addAgent(ctx context.Context, id string) error {
	if _, found := t.agents[id]; found {
		return nil
	}
	a, err := t.app.Store.Agent(ctx, id)
	if errors.Is(err, memory.ErrNotFound) {
		a, err = dream.Agent{ID: id, Handle: id}, nil
	}
	t.agents[id] = a
	return err
}

func (t *eventPrinter) print(e event.Event) error {
	if t.app.Json {
		return t.app.Line(e)
	}
	a := t.agents[e.Agent]
	st := t.app.Style(a)
	if st.Width <= 0 {
		st.Width = cli.Uncut
	}
	under := e.At.In(cli.Location(a.Zone)).Format(time.DateOnly)
	if e.Dream != "" {
		under += "  " + e.Dream
	} else if t.many {
		under += "  " + a.Handle
	}
	if under != t.under {
		fmt.Fprintln(t.app.Out, t.app.Dim(screen.Clean(under)))
		t.under = under
	}
	number := fmt.Sprintf("%7d  ", e.Seq)
	st.Width -= len(number)
	_, err := fmt.Fprintln(t.app.Out, t.app.Dim(number)+strings.TrimRight(screen.Line(e, st), "\n"))
	return err
}
