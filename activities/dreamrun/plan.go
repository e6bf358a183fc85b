package dreamrun

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/circadian"
)

// Plan prepares the spec of an automatic dream when the agent is idle by its memory as well, since memories may be
// added without a notice. It writes nothing, so it can be repeated: the record is written when the dream begins.
func (d *DreamRun) Plan(ctx context.Context, r activities.PlanRequest) (activities.PlanResult, error) {
	_, err := d.Memory.Agent(ctx, r.Agent)
	if errors.Is(err, memory.ErrRemoved) {
		return activities.PlanResult{Removed: true}, nil
	}
	newest, err := d.Memory.Find(ctx,
		memory.Query{Agent: r.Agent, Kinds: []dream.Kind{dream.KindEpisode}, Until: r.Now, Limit: 1})
	if err != nil {
		return activities.PlanResult{}, err
	}
	var result activities.PlanResult
	for _, episode := range newest {
		result.Active = episode.Header().At
	}
	if r.Resume == nil && result.Active.Add(r.IdleTimeout).After(r.Now) {
		return result, nil
	}
	if speaks, err := d.against(ctx, r, &result); speaks || err != nil {
		return result, err
	}
	if r.Resume != nil {
		result.Resume = true
		return result, nil
	}
	result.Spec, result.Reason, err = d.Planner.Plan(ctx, r.Agent, r.Now)
	return result, err
}

// against checks what forbids an automatic dream now: a client that holds the agent awake, or the hours.
func (d *DreamRun) against(ctx context.Context, r activities.PlanRequest, result *activities.PlanResult) (bool, error) {
	status, err := d.Presence.Status(ctx, r.Agent, r.Now)
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
	agent, err := d.Memory.Agent(ctx, r.Agent)
	if err != nil {
		return true, fmt.Errorf("read agent %s: %w", r.Agent, err)
	}
	zone, err := time.LoadLocation(agent.Zone)
	if err != nil {
		return true, fmt.Errorf("zone %q of %s: %w: %w", agent.Zone, agent.Handle, activities.ErrSettings, err)
	}
	windows, err := circadian.ParseHours(r.Windows)
	if err != nil {
		return true, fmt.Errorf("dream windows: %w: %w", activities.ErrSettings, err)
	}
	quiet, err := circadian.ParseHours(r.Quiet)
	if err != nil {
		return true, fmt.Errorf("quiet hours: %w: %w", activities.ErrSettings, err)
	}
	open, next := circadian.Open(r.Now, zone, windows, quiet)
	if !open {
		result.NotBefore = circadian.Rhythm{Jitter: r.Jitter}.Opening(r.Now, zone, windows, quiet)
		result.Reason = "these are quiet hours until " + next.In(zone).Format("Mon 15:04")
	}
	return !open, nil
}
