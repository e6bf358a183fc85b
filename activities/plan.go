package activities

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/internal/circadian"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

// PlanRequest is the input of DreamRun.Plan.
type PlanRequest struct {
	Agent       string        `json:"agent"`
	Now         time.Time     `json:"now"`
	IdleTimeout time.Duration `json:"idle_timeout"`

	Resume *Stretch `json:"resume,omitempty"` // resume this interrupted dream instead of planning one
	// automatic dreams begin only within these hours, in the agent's zone; none: always
	Windows []string `json:"windows,omitempty"`
	Quiet   []string `json:"quiet,omitempty"` // and never within these

	// a delay after the hours open, so that the agents of a zone do not all begin at once
	Jitter time.Duration `json:"jitter,omitempty"`
}

// PlanResult is a dream's spec, or why there is none. With neither, the agent is not idle: it has a newer memory.
type PlanResult struct {
	Spec   Spec   `json:"order"`
	Reason string `json:"reason,omitempty"` // why no dream begins now; empty: it may
	// the time of the newest memory or of the last client, whichever is later; zero for none
	Active time.Time `json:"active"`

	// a client holds the agent awake until then, which the workflow does not know yet
	Awake     time.Time `json:"awake,omitzero"`
	NotBefore time.Time `json:"not_before,omitzero"` // quiet hours last until then
	Resume    bool      `json:"resume,omitempty"`    // resume the interrupted dream
	Removed   bool      `json:"removed,omitempty"`   // the agent was removed: its workflow completes
}

// Plan prepares the spec of an automatic dream when the agent is idle by its memory as well, since memories may be
// added without a notice. It writes nothing, so it can be repeated: the record is written when the dream begins.
func (b *DreamRun) Plan(ctx context.Context, r PlanRequest) (PlanResult, error) {
	_, err := b.Memory.Agent(ctx, r.Agent)
	if errors.Is(err, memory.ErrRemoved) {
		return PlanResult{Removed: true}, nil
	}
	newest, err := b.Memory.Find(ctx,
		memory.Query{Agent: r.Agent, Kinds: []dream.Kind{dream.KindEpisode}, Until: r.Now, Limit: 1})
	if err != nil {
		return PlanResult{}, toApplicationError(err)
	}
	var result PlanResult
	for _, episode := range newest {
		result.Active = episode.Header().At
	}
	if r.Resume == nil && result.Active.Add(r.IdleTimeout).After(r.Now) {
		return result, nil
	}
	if speaks, err := b.against(ctx, r, &result); speaks || err != nil {
		return result, toApplicationError(err)
	}
	if r.Resume != nil {
		result.Resume = true
		return result, nil
	}
	result.Spec, result.Reason, err = b.Planner.Plan(ctx, r.Agent, r.Now)
	return result, toApplicationError(err)
}

// against checks what forbids an automatic dream now: a client that holds the agent awake, or the hours.
func (b *DreamRun) against(ctx context.Context, r PlanRequest, result *PlanResult) (bool, error) {
	status, err := b.Presence.Status(ctx, r.Agent, r.Now)
	if err != nil {
		return true, fmt.Errorf("ask who is connected to %s: %w", r.Agent, err)
	}
	if status.Awake(r.Now) {
		result.Awake = status.Until()
		return true, nil
	}
	// a client that connected during an alarm has not been reported to the agent's workflow
	if r.Resume == nil && status.Seen.After(result.Active) {
		result.Active = status.Seen
		if result.Active.Add(r.IdleTimeout).After(r.Now) {
			return true, nil
		}
	}
	if len(r.Windows)+len(r.Quiet) == 0 {
		return false, nil
	}
	agent, err := b.Memory.Agent(ctx, r.Agent)
	if err != nil {
		return true, fmt.Errorf("read agent %s: %w", r.Agent, err)
	}
	zone, err := time.LoadLocation(agent.Zone)
	if err != nil {
		return true, fmt.Errorf("zone %q of %s: %w: %w", agent.Zone, agent.Handle, ErrSettings, err)
	}
	windows, err := circadian.ParseHours(r.Windows)
	if err != nil {
		return true, fmt.Errorf("dream windows: %w: %w", ErrSettings, err)
	}
	quiet, err := circadian.ParseHours(r.Quiet)
	if err != nil {
		return true, fmt.Errorf("quiet hours: %w: %w", ErrSettings, err)
	}
	open, next := circadian.Open(r.Now, zone, windows, quiet)
	if !open {
		result.NotBefore = circadian.Rhythm{Jitter: r.Jitter}.Opening(r.Now, zone, windows, quiet)
		result.Reason = "these are quiet hours until " + next.In(zone).Format("Mon 15:04")
	}
	return !open, nil
}
