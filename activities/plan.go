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

// PlanRequest asks for a dream that starts by itself.
type PlanRequest struct {
	Agent       string        `json:"agent"`
	Now         time.Time     `json:"now"`
	IdleTimeout time.Duration `json:"idle_timeout"`

	Resume *Stretch `json:"resume,omitempty"` // go on with this interrupted dream instead of planning one
	// when dreams by themselves may begin, in the agent's zone; none: always
	Windows []string `json:"windows,omitempty"`
	Quiet   []string `json:"quiet,omitempty"` // and when never

	// after the hours open, so that not every agent of a zone begins at once
	Jitter time.Duration `json:"jitter,omitempty"`
}

// PlanResult is an order, or why there is none. With neither order nor reason the agent is not idle: it lived
// something.
type PlanResult struct {
	Spec   Spec   `json:"order"`
	Reason string `json:"reason,omitempty"` // not empty: do not dream now
	// when the newest thing that the agent remembers was lived, or somebody was seen; zero for nothing
	Active time.Time `json:"active"`

	// somebody holds the agent awake until then, and nobody told its life
	Awake     time.Time `json:"awake,omitzero"`
	NotBefore time.Time `json:"not_before,omitzero"` // the hours are quiet until then
	Resume    bool      `json:"resume,omitempty"`    // go on with the interrupted dream
	Removed   bool      `json:"removed,omitempty"`   // the agent was removed, and its workflow has nothing left to do
}

// Plan freezes an order for a dream that starts by itself, when the agent is idle by what it remembers, too: whoever
// brings memories in need not say so. It writes nothing, so that it may be done twice: the record is opened when the
// dream lies down.
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

// against asks what forbids a dream by itself now: somebody who holds the agent awake, or the hours.
func (b *DreamRun) against(ctx context.Context, r PlanRequest, result *PlanResult) (bool, error) {
	status, err := b.Presence.Status(ctx, r.Agent, r.Now)
	if err != nil {
		return true, fmt.Errorf("ask who is connected to %s: %w", r.Agent, err)
	}
	if status.Awake(r.Now) {
		result.Awake = status.Until()
		return true, nil
	}
	// who came while an alarm held it awake told its life nothing
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
