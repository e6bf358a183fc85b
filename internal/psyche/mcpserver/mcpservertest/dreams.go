package mcpservertest

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/mcpserver"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

// Endless is the theme of a dream that ends only when it is cancelled.
const Endless = "endless"

// Dreams are dreams that reach their next phase each time they are read.
type Dreams struct {
	Being  *Service
	Looked chan string // gets the id of each dream that is read; may be nil

	mu  sync.Mutex
	all []psyche.Dream
}

var _ mcpserver.Dreams = (*Dreams)(nil)

// Begin starts a dream.
func (d *Dreams) Begin(_ context.Context, c psyche.Caller, w psyche.DreamRequest) (psyche.Dream, error) {
	if err := d.Being.ask("Begin", c, w.Agent, access.Operator); err != nil {
		return psyche.Dream{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	id := fmt.Sprintf("dream_%s_%04d", w.Agent, len(d.all)+1)
	n := psyche.Dream{
		ID:     id,
		Agent:  w.Agent,
		Status: dream.StatusRunning,
		Record: &psyche.Record{Theme: w.Theme},
		Reason: Secret,
	}
	if w.Budget != nil {
		n.Record.Budget = *w.Budget
	}
	d.all = append(d.all, n)
	return n, nil
}

// Dream returns one, in its next phase.
func (d *Dreams) Dream(_ context.Context, c psyche.Caller, id string) (psyche.Dream, error) {
	if d.Looked != nil {
		d.Looked <- id
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	n, err := d.find(c, id)
	if err != nil {
		return psyche.Dream{}, err
	}
	if phases := n.Record.Phases; !n.Status.Over() && len(phases) < len(dream.Phases) {
		n.Record.Phases = append(phases, dream.Tally{Phase: dream.Phases[len(phases)]})
	} else if n.Record.Theme != Endless && !n.Status.Over() {
		n.Status, n.Outcome = dream.StatusCompleted, dream.Completed
	}
	v := shown(*n, c)
	if v.Record != nil {
		record := *v.Record
		s := screen.Summarize(screen.DreamReport{Agent: v.Agent, Record: dream.Record{Outcome: v.Outcome}})
		record.Summary, v.Record = &s, &record
	}
	return v, nil
}

// List returns all.
func (d *Dreams) List(_ context.Context, c psyche.Caller, _ psyche.ListRequest) (psyche.Page[psyche.Dream], error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var page psyche.Page[psyche.Dream]
	for _, n := range d.all {
		if c.Key.Reaches(n.Agent) {
			page.Data = append(page.Data, shown(n, c))
		}
	}
	return page, nil
}

// Cancel ends one at once.
func (d *Dreams) Cancel(_ context.Context, c psyche.Caller, id string) (psyche.Dream, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, err := d.find(c, id)
	if err != nil {
		return psyche.Dream{}, err
	}
	if err := d.Being.ask("Cancel", c, n.Agent, access.Operator); err != nil {
		return psyche.Dream{}, err
	}
	n.Status, n.Outcome = dream.StatusCanceled, dream.Canceled
	return shown(*n, c), nil
}

func (d *Dreams) find(c psyche.Caller, id string) (*psyche.Dream, error) {
	for i := range d.all {
		if d.all[i].ID == id && c.Key.Reaches(d.all[i].Agent) {
			return &d.all[i], nil
		}
	}
	return nil,
		&psyche.Fault{
			Status: http.StatusNotFound, Type: "not_found_error", Code: "dream_not_found",
			Message: fmt.Sprintf("there is no dream %q", id),
		}
}

// shown hides what only operators see.
func shown(n psyche.Dream, c psyche.Caller) psyche.Dream {
	if !c.Key.Role.Includes(access.Operator) {
		n.Reason, n.Record = "", nil
	}
	return n
}
