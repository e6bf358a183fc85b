package psyche

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/fabric"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/review"
)

// Dreams are the dreams of all agents, as far as a caller may see and direct them. The HTTP and MCP interfaces both
// use it, so that neither shows what the other hides. Dreams are named by either of their ids. Every method checks
// role and reach and returns a *Fault.
type Dreams struct {
	Memory  memory.Store
	Fleet   memory.Fleet // the same store, of many agents at once; nil: it is asked for one after another
	Events  fabric.Log
	Carries DreamControl
	Now     func() time.Time
	Digest  string // how much of dreams role client is told: journal.DigestOff, DigestHeader or DigestMessage
	Private bool   // nothing of dreams is told to role client
	Shared  bool   // they are shown to every client, even when they may quote others' talks

	Judge func() review.Judge // makes a judge of predictions for one check

	Except map[string]bool // by handle, agents of whose dreams role client is told nothing, whatever Digest says

	once        sync.Once
	knownOwners *knownOwners // whose talks an agent remembers
}

// Begin starts a dream; it needs role operator.
func (d *Dreams) Begin(ctx context.Context, c Caller, w DreamRequest) (Dream, error) {
	a, err := d.agent(ctx, c, access.Operator, w.Agent)
	if err != nil {
		return Dream{}, err
	}
	w.Agent = a.Handle
	id, err := d.Carries.Begin(ctx, w)
	if err != nil {
		return Dream{}, err
	}
	return d.Dream(ctx, c, id)
}

// Redream starts a dream that continues another one from a phase; it needs role operator. The agent is that dream's.
func (d *Dreams) Redream(ctx context.Context, c Caller, w RedreamRequest) (Dream, error) {
	a, n, err := d.record(ctx, c, access.Operator, w.Dream)
	if err != nil {
		return Dream{}, err
	}
	w.Agent, w.Dream = a.Handle, n.ID
	if !n.Status(d.Now()).Over() {
		return Dream{},
			conflictFault("dream_not_over", "dream %s is %s; only one that is over is dreamt anew", PublicID(n.ID),
				n.Status(d.Now()))
	}
	id, err := d.Carries.Redream(ctx, w)
	if err != nil {
		return Dream{}, err
	}
	return d.Dream(ctx, c, id)
}

// Dream answers one, to every role. The phases of one that goes on are as its events tell them.
func (d *Dreams) Dream(ctx context.Context, c Caller, id string) (Dream, error) {
	a, n, err := d.record(ctx, c, access.Client, id)
	if err != nil {
		return Dream{}, err
	}
	view := d.view(c, a, n)
	if view.Record != nil && n.Outcome == dream.Dreaming {
		phases, spent, err := d.soFar(ctx, n)
		if err != nil {
			return Dream{}, unreadStore(ctx, err)
		}
		view.Record = dreamRecord(n, phases, spent)
	}
	if view.Record != nil {
		view.Record.Summary, err = d.summary(ctx, a, n)
		if err != nil {
			return Dream{}, unreadStore(ctx, err)
		}
	}
	return view, nil
}

// Cancel asks a dream to end with what it has; it needs role operator. Canceling a canceled dream has no effect.
func (d *Dreams) Cancel(ctx context.Context, c Caller, id string) (Dream, error) {
	_, n, err := d.record(ctx, c, access.Operator, id)
	if err != nil {
		return Dream{}, err
	}
	switch status := n.Status(d.Now()); {
	case status == dream.StatusCanceled:
	case status.Over():
		return Dream{},
			conflictFault("dream_over", "dream %s is %s; only a running dream can be canceled", PublicID(n.ID), status)
	default:
		if err := d.Carries.Cancel(ctx, n.ID); err != nil {
			return Dream{}, err
		}
	}
	return d.Dream(ctx, c, n.ID)
}

// Resume continues an interrupted dream at once; it needs role operator.
func (d *Dreams) Resume(ctx context.Context, c Caller, id string) (Dream, error) {
	_, n, err := d.record(ctx, c, access.Operator, id)
	if err != nil {
		return Dream{}, err
	}
	if !n.MayGoOn(d.Now()) {
		return Dream{},
			conflictFault("dream_not_resumable", "dream %s is %s; only an interrupted dream can be resumed",
				PublicID(n.ID),
				n.Status(d.Now()))
	}
	if err := d.Carries.Resume(ctx, n.ID); err != nil {
		return Dream{}, err
	}
	return d.Dream(ctx, c, n.ID)
}

// Archive hides the record of an ended dream from lists; it needs role operator. Its results stay.
func (d *Dreams) Archive(ctx context.Context, c Caller, id string) (Dream, error) {
	_, n, err := d.record(ctx, c, access.Operator, id)
	if err != nil {
		return Dream{}, err
	}
	if n.Shelved.IsZero() {
		if err := d.Carries.Archive(ctx, n.ID); err != nil {
			return Dream{}, err
		}
	}
	return d.Dream(ctx, c, n.ID)
}

// agent finds an agent that the caller reaches. For one out of reach the answer is the same as for one that does not
// exist.
func (d *Dreams) agent(ctx context.Context, c Caller, need access.Role, name string) (dream.Agent, error) {
	a, err := agentNamed(ctx, d.Memory, name)
	switch {
	case errors.Is(err, memory.ErrNotFound), err == nil && !c.Key.Reaches(a.Handle):
		return dream.Agent{},
			notFoundFault("agent", "agent_not_found",
				"there is no agent %q that this key reaches; GET /v1/models lists those it does", name)
	case err != nil:
		return dream.Agent{}, unreadStore(ctx, err)
	}
	return a, demand(c, need)
}

// record finds a dream by either of its ids.
func (d *Dreams) record(ctx context.Context, c Caller, need access.Role,
	id string,
) (dream.Agent, *dream.Record, error) {
	none := notFoundFault("id", "dream_not_found",
		"there is no dream %q that this key reaches; GET /v1/dreams lists those it does", id)
	name, handle, ok := DreamID(id)
	if !ok {
		return dream.Agent{}, nil, none
	}
	a, err := d.Memory.Agent(ctx, handle)
	if err == nil && !c.Key.Reaches(a.Handle) {
		return dream.Agent{}, nil, none
	}
	var n *dream.Record
	if err == nil {
		n, err = memory.One[*dream.Record](ctx, d.Memory, a.ID, name)
	}
	switch {
	case errors.Is(err, memory.ErrNotFound):
		return dream.Agent{}, nil, none
	case err != nil:
		return dream.Agent{}, nil, unreadStore(ctx, err)
	}
	return a, n, demand(c, need)
}

// lookedBack is how many of an agent's newest events are searched for the progress of a dream.
const lookedBack = 4000

// soFar adds up the phases of a running dream from its newest events.
func (d *Dreams) soFar(ctx context.Context, n *dream.Record) ([]dream.Tally, budget.Micros, error) {
	newest := map[dream.Phase]dream.Tally{}
	for _, t := range n.Phases { // of earlier stretches
		newest[t.Phase] = t
	}
	heads, err := d.Events.Heads(ctx, n.Agent)
	if err != nil {
		return nil, 0, err
	}
	for after := max(0, heads[n.Agent]-lookedBack); ; {
		events, err := d.Events.Events(ctx, n.Agent, after, readAtOnce)
		if err != nil {
			return nil, 0, err
		}
		for _, e := range events {
			var spent event.Spent
			after = e.Seq
			if e.Dream == n.ID && e.Type == spent.EventType() && json.Unmarshal(e.Data, &spent) == nil {
				newest[spent.Tally.Phase] = spent.Tally
			}
		}
		if len(events) < readAtOnce {
			break
		}
	}
	var phases []dream.Tally
	var spent budget.Micros
	for _, phase := range dream.Phases {
		if t, ok := newest[phase]; ok {
			phases, spent = append(phases, t), spent+t.Spent
		}
	}
	return phases, max(spent, n.Spent), nil
}

// readAtOnce is how many events or items are read at once.
const readAtOnce = 500

func demand(c Caller, need access.Role) error {
	if c.Key.Role.Includes(need) {
		return nil
	}
	return Refuse(http.StatusForbidden, "role_too_low", "",
		"this needs a key of role %s; this one has role %s", need, c.Key.Role)
}

func notFoundFault(param, code, format string, args ...any) *Fault {
	return Refuse(http.StatusNotFound, code, param, format, args...)
}

func conflictFault(code, format string, args ...any) *Fault {
	return Refuse(http.StatusConflict, code, "", format, args...)
}

// unreadStore is the fault for a store that could not be read. When the client has hung up it is the context's error.
func unreadStore(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	return Refuse(http.StatusServiceUnavailable, "store_away", "",
		"the store does not answer; try again").After(time.Second).From(err)
}

func digitsOf(n uint64) string { return strconv.FormatUint(n, 10) }
