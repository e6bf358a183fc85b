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

// How often all agents are looked at for news, and how often a store that is away is asked whether it is back.
const (
	lookEvery  = 300 * time.Millisecond
	backWithin = time.Second
)

// followAll tells what comes of any agent, those that are new as well.
func (app *App) followAll(ctx context.Context, h *Deployment, after map[string]int64, request eventsQuery,
	t *teller,
) error {
	sweep := fabric.Sweep{Log: h.Events, After: after, Lost: func(id string, head int64) {
		if a, found := t.agents[id]; found {
			app.lostItsNewest(a, head)
		}
	}}
	wait := patient{app: app}
	for {
		err := sweep.Once(ctx, func(e event.Event) error {
			if !request.wants(e) {
				return nil
			}
			if err := t.meet(ctx, h, e.Agent); err != nil {
				return err
			}
			return t.print(e)
		})
		err = wait.outlast(ctx, err)
		if err != nil {
			return err
		}
		if err := pauseFor(ctx, lookEvery); err != nil {
			return err
		}
	}
}

// patient outlasts a store that is away.
type patient struct {
	app  *App
	away bool
}

// outlast passes on every error but that the store is away: then it waits a little.
func (p *patient) outlast(ctx context.Context, err error) error {
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

// lostItsNewest says that a log ends before what was told of it.
func (app *App) lostItsNewest(a dream.Agent, head int64) {
	app.note("%s: the store came back with %s, and lost its newest: what comes is told from there.", a.Handle,
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

// teller writes events: JSON lines when asked for, else a line each, under the day and the dream they belong to.
type teller struct {
	app    *App
	agents map[string]dream.Agent
	many   bool
	under  string
}

func (app *App) teller(many bool, agents ...dream.Agent) *teller {
	t := &teller{app: app, many: many, agents: map[string]dream.Agent{}}
	for _, a := range agents {
		t.agents[a.ID] = a
	}
	return t
}

// meet looks up an agent that is told of for the first time.
func (t *teller) meet(ctx context.Context, h *Deployment, id string) error {
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

// uncut is the width of lines that nobody looks at on a screen.
const uncut = 400

func (t *teller) print(e event.Event) error {
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
