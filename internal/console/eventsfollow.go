package console

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/fabric"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

// How often all agents are polled for new events, and how often a store that does not answer is tried again.
const (
	lookEvery  = 300 * time.Millisecond
	backWithin = time.Second
)

// followAll prints the new events of every agent, including agents that are added meanwhile.
func (app *App) followAll(ctx context.Context, h *Deployment, after map[string]int64, request eventsQuery,
	t *eventPrinter,
) error {
	sweep := fabric.Sweep{Log: h.Events, After: after, Lost: func(id string, head int64) {
		if a, found := t.agents[id]; found {
			app.warnTruncated(a, head)
		}
	}}
	wait := storeRetry{app: app}
	for {
		err := sweep.Once(ctx, func(e event.Event) error {
			if !request.wants(e) {
				return nil
			}
			if err := t.addAgent(ctx, h, e.Agent); err != nil {
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
	app  *App
	away bool
}

// retry returns every error except that the store does not answer: then it waits a little.
func (p *storeRetry) retry(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, memory.ErrAway):
		if !p.away {
			p.app.note("The store is away (%v); waiting for it.", err)
		}
		p.away = true
		return pauseFor(ctx, backWithin)
	case err == nil && p.away:
		p.app.note("The store is back.")
		p.away = false
	}
	return err
}

// warnTruncated warns that a log ends before the events already printed.
func (app *App) warnTruncated(a dream.Agent, head int64) {
	app.note("%s: the store came back with %s and without the newest events; new events are shown from there on.", a.Handle,
		plural(int(head), "event", "events"))
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
	app    *App
	agents map[string]dream.Agent
	many   bool
	under  string
}

func (app *App) eventPrinter(many bool, agents ...dream.Agent) *eventPrinter {
	t := &eventPrinter{app: app, many: many, agents: map[string]dream.Agent{}}
	for _, a := range agents {
		t.agents[a.ID] = a
	}
	return t
}

// addAgent looks up an agent when its first event comes.
func (t *eventPrinter) addAgent(ctx context.Context, h *Deployment, id string) error {
	if _, found := t.agents[id]; found {
		return nil
	}
	a, err := h.Store.Agent(ctx, id)
	if errors.Is(err, memory.ErrNotFound) {
		a, err = dream.Agent{ID: id, Handle: id}, nil
	}
	t.agents[id] = a
	return err
}

// uncut is the line width when the output is no terminal.
const uncut = 400

func (t *eventPrinter) print(e event.Event) error {
	if t.app.json {
		return t.app.line(e)
	}
	a := t.agents[e.Agent]
	st := t.app.style(a)
	if st.Width <= 0 {
		st.Width = uncut
	}
	under := e.At.In(location(a.Zone)).Format(time.DateOnly)
	if e.Dream != "" {
		under += "  " + e.Dream
	} else if t.many {
		under += "  " + a.Handle
	}
	if under != t.under {
		fmt.Fprintln(t.app.Out, t.app.dim(screen.Clean(under)))
		t.under = under
	}
	number := fmt.Sprintf("%7d  ", e.Seq)
	st.Width -= len(number)
	_, err := fmt.Fprintln(t.app.Out, t.app.dim(number)+strings.TrimRight(screen.Line(e, st), "\n"))
	return err
}
