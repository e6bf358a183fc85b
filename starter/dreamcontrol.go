package starter

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// ForDreams is the starter as the HTTP and MCP servers use it for dreams. The starter must outlive it.
func (s *Starter) ForDreams() psyche.DreamControl { return dreamControl{s} }

// dreamControl implements psyche.DreamControl.
type dreamControl struct{ Starter *Starter }

// Begin starts a dream. The caps are checked first, so that an exhausted cap is reported as such.
func (d dreamControl) Begin(ctx context.Context, w psyche.DreamRequest) (string, error) {
	request := requestOf(w)
	agent, err := d.look(ctx, request)
	if err != nil {
		return "", err
	}
	checked, err := drafter{d.Starter}.check(ctx, request)
	if err != nil {
		return "", requestFault(ctx, err)
	}
	return d.begin(ctx, agent, checked)
}

// Redream starts a dream that continues from another one.
func (d dreamControl) Redream(ctx context.Context, w psyche.RedreamRequest) (string, error) {
	request := requestOf(w.DreamRequest)
	if !slices.Contains(dream.Redreamt, w.From) {
		return "",
			invalid("from", "from is %q; it must be nrem, rem, integration or return: an onset anew is another dream",
				w.From)
	}
	agent, err := d.look(ctx, request)
	if err != nil {
		return "", err
	}
	checked, err := drafter{d.Starter}.checkRedream(ctx, RedreamRequest{DreamRequest: request, Dream: w.Dream, From: w.From})
	if errors.Is(err, activities.ErrNoRedream) {
		return "", refused("nothing_to_redream", err, "%v", err)
	}
	if err != nil {
		return "", requestFault(ctx, err)
	}
	return d.begin(ctx, agent, checked)
}

func requestOf(w psyche.DreamRequest) DreamRequest {
	return DreamRequest{
		Agent:  w.Agent,
		Tier:   w.Tier,
		Theme:  w.Theme,
		Budget: w.Budget,
		Seed:   w.Seed,
		Models: w.Models,
	}
}

func (d dreamControl) begin(ctx context.Context, agent dream.Agent, checked checkedRequest) (string, error) {
	if err := d.affordable(ctx, checked); err != nil {
		return "", err
	}
	if err := d.asleep(ctx, agent); err != nil {
		return "", err
	}
	begun, err := drafter{d.Starter}.begin(ctx, checked)
	if err != nil {
		return "", d.beginFault(ctx, agent, err)
	}
	return begun.Dream, nil
}

// look validates a request without drafting it.
func (d dreamControl) look(ctx context.Context, w DreamRequest) (dream.Agent, error) {
	agent, err := d.Starter.Memory.Agent(ctx, w.Agent)
	if errors.Is(err, memory.ErrNotFound) {
		return agent, psyche.Refuse(http.StatusNotFound, "agent_not_found", "agent", "there is no agent %q", w.Agent)
	}
	if err != nil {
		return agent, requestFault(ctx, err)
	}
	if w.Tier != "" && w.Tier != dream.Core && w.Tier != dream.Hardened {
		return agent, invalid("tier", "tier is %q; it must be core or hardened", w.Tier)
	}
	if n := len([]rune(w.Theme)); n > dream.LongestTheme {
		return agent, invalid("theme", "theme has %d characters; at most %d are kept", n, dream.LongestTheme)
	}
	if b := w.Budget; b != nil && *b < 0 {
		return agent, invalid("budget_micros", "budget_micros is %d; it must not be negative", int64(*b))
	} else if b != nil && *b > agent.Caps.Dream {
		return agent, psyche.Refuse(http.StatusPaymentRequired, "over_cap", "budget_micros",
			"budget_micros is %d (%s), and one dream of %s may cost %d (%s); ask for less, or let the "+
				"owner raise the cap",
			int64(*b), *b, agent.Handle, int64(agent.Caps.Dream), agent.Caps.Dream)
	}
	for _, role := range slices.Sorted(maps.Keys(w.Models)) {
		if !slices.Contains(dream.Roles, role) {
			return agent, invalid("models", "models names the role %q; roles are %s", role, dream.RoleNames())
		}
		spec, err := d.Starter.Catalog.Lookup(w.Models[role])
		switch {
		case err != nil || spec.Price == nil:
			return agent,
				invalid("model", "the deployment has no model %q with a price; leave it out to take the agent's own",
					w.Models[role])
		case spec.Embeds != (role == dream.Embedder):
			return agent,
				invalid("model",
					"model %q is of the wrong sort for the role %s: embedding models embed, the others generate",
					w.Models[role], role)
		}
	}
	return agent, nil
}

// affordable refuses a dream when nothing is left under a cap.
func (d dreamControl) affordable(ctx context.Context, checked checkedRequest) error {
	if checked.spec.Free {
		return nil
	}
	var r Rehearsal
	if err := (drafter{d.Starter}).fillCaps(ctx, checked, &r); err != nil {
		return requestFault(ctx, err)
	}
	for _, c := range r.Caps {
		if c.Left > 0 || c.Limit == budget.Unlimited {
			continue
		}
		scope, _, _ := strings.Cut(c.Scope, ":")
		return psyche.Refuse(http.StatusTooManyRequests, "cap_reached", "",
			"nothing is left under the cap of the %s, %s, and this dream would be paid for; no dream begins",
			scope, c.Limit)
	}
	return nil
}

// asleep refuses to begin a dream while a client holds the agent awake.
func (d dreamControl) asleep(ctx context.Context, agent dream.Agent) error {
	if d.Starter.Presence == nil {
		return nil
	}
	now := d.Starter.Now()
	status, err := d.Starter.Presence.Status(ctx, agent.ID, now)
	if err != nil {
		return requestFault(ctx, err)
	}
	if !status.Awake(now) {
		return nil
	}
	by := "the wake lock"
	if n := len(status.Leases); n == 1 {
		by = "a client"
	} else if n > 1 {
		by = fmt.Sprintf("%d clients", n)
	}
	f := refused("agent_awake", ErrAwake,
		"%s is held awake by %s until %s unless a client connects again; no dream begins before", agent.Handle, by,
		status.Until().UTC().Format(time.RFC3339))
	f.Retry = status.Until().Sub(now)
	return f
}

// Cancel requests the end of a dream.
func (d dreamControl) Cancel(ctx context.Context, dreamID string) error {
	err := d.Starter.Cancel(ctx, dreamID)
	if errors.Is(err, memory.ErrNotFound) {
		return refused("dream_not_running", err,
			"dream %s does not run in this deployment's Temporal; a dream that has just ended shows it shortly",
			psyche.PublicID(dreamID))
	}
	return d.beginFault(ctx, dream.Agent{}, err)
}

// Resume resumes an interrupted dream if it is the one that its agent would resume.
func (d dreamControl) Resume(ctx context.Context, dreamID string) error {
	agent, err := d.agentOf(ctx, dreamID)
	if err != nil {
		return err
	}
	if err := d.asleep(ctx, agent); err != nil {
		return err
	}
	begun, err := d.Starter.Resume(ctx, agent.ID)
	if errors.Is(err, ErrNothing) || err == nil && begun.Dream != dreamID {
		return refused("dream_not_resumable", err, "dream %s can no longer be resumed", psyche.PublicID(dreamID))
	}
	return d.beginFault(ctx, agent, err)
}

// Archive hides the record of an ended dream from lists.
func (d dreamControl) Archive(ctx context.Context, dreamID string) error {
	agent, err := d.agentOf(ctx, dreamID)
	if err != nil {
		return err
	}
	for {
		record, err := memory.One[*dream.Record](ctx, d.Starter.Memory, agent.ID, dreamID)
		if err != nil {
			return requestFault(ctx, err)
		}
		now := d.Starter.Now()
		switch {
		case !record.Shelved.IsZero():
			return nil
		case !record.Status(now).Over():
			return refused("dream_not_over", nil, "dream %s is %s; cancel it first, or wait until it is over",
				psyche.PublicID(dreamID), record.Status(now))
		case record.Unsettled():
			return refused("dream_not_over", nil, "dream %s is not closed yet; try again in a minute",
				psyche.PublicID(dreamID))
		}
		record.Shelved = now.UTC()
		_, err = d.Starter.Memory.Commit(ctx,
			memory.Write{Agent: agent.ID, Cause: dreamID, Change: []dream.Item{record}})
		if !errors.Is(err, memory.ErrStale) {
			return requestFault(ctx, err)
		}
	}
}

func (d dreamControl) agentOf(ctx context.Context, dreamID string) (dream.Agent, error) {
	_, handle, ok := psyche.DreamID(dreamID)
	agent, err := d.Starter.Memory.Agent(ctx, handle)
	if !ok || errors.Is(err, memory.ErrNotFound) {
		return agent, psyche.Refuse(http.StatusNotFound, "dream_not_found", "id",
			"there is no dream %q", dreamID).From(err)
	}
	return agent, requestFault(ctx, err)
}

// beginFault converts the failure of a request into a fault of the server.
func (d dreamControl) beginFault(ctx context.Context, agent dream.Agent, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrDreaming):
		return refused("already_dreaming", err, "%s is dreaming already; wait for that dream, or cancel it",
			agent.Handle)
	case errors.Is(err, ErrAwake):
		return refused("agent_awake", err, "%s is held awake; no dream begins while a client holds it awake",
			agent.Handle)
	case errors.Is(err, ErrUnreachable):
		return psyche.Refuse(http.StatusServiceUnavailable, "nobody_dreams", "",
			"no worker answered; is one running?").After(5 * time.Second).From(err)
	}
	return requestFault(ctx, err)
}

// requestFault converts the failure of a check: the store is unreachable, or the settings of the deployment do not
// allow the request.
func requestFault(ctx context.Context, err error) error {
	var existing *psyche.Fault
	switch {
	case err == nil || ctx.Err() != nil || errors.As(err, &existing):
		return err
	case psyche.StoreFault(err) != nil:
		return psyche.StoreFault(err)
	}
	return psyche.Refuse(http.StatusInternalServerError, "not_begun", "",
		"the deployment could not do this; the log says why under the id of this request, and "+
			"oneiros doctor looks for it").From(err)
}

func refused(code string, err error, format string, args ...any) *psyche.Fault {
	return psyche.Refuse(http.StatusConflict, code, "", format, args...).From(err)
}

func invalid(param, format string, args ...any) *psyche.Fault {
	return psyche.Refuse(http.StatusBadRequest, "invalid_value", param, format, args...)
}
