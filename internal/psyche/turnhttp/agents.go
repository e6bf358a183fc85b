package turnhttp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
)

// Reached lists the agents that a caller reaches, by handle.
func (t *Turns) Reached(ctx context.Context, c psyche.Caller) ([]dream.Agent, error) {
	agents, err := t.Talk.Agents(ctx, c)
	slices.SortFunc(agents, func(a, b dream.Agent) int { return cmp.Compare(a.Handle, b.Handle) })
	return agents, err
}

// most is how many agents a sentence names.
const most = 20

// Unknown adds the existing agents to the error about an unknown one. Other errors are unchanged.
func (t *Turns) Unknown(ctx context.Context, c *psyche.Caller, name string, err error) error {
	var existing *psyche.Fault
	if isFault := errors.As(err, &existing); isFault && existing.Code != "agent_not_found" ||
		!isFault && !errors.Is(err, memory.ErrNotFound) {
		return err
	}
	agents, fault := t.Reached(ctx, *c)
	if fault != nil {
		return fault
	}
	var handles []string
	for _, a := range agents[:min(len(agents), most)] {
		handles = append(handles, a.Handle)
	}
	there := "This key reaches no agent; oneiros agents add makes one."
	if len(handles) > 0 {
		there = "This key reaches " + strings.Join(handles, ", ")
		if len(agents) > most {
			there += fmt.Sprintf(" and %d more", len(agents)-most)
		}
		there += "."
	}
	return &psyche.Fault{
		Status:  http.StatusNotFound,
		Type:    "invalid_request_error",
		Code:    "model_not_found",
		Param:   "model",
		Err:     err,
		Message: fmt.Sprintf("There is no agent %q. %s", clipped(name), there),
	}
}

// clipped is a name as quoted in errors.
func clipped(name string) string {
	if len(name) > front.LongestName {
		return strings.ToValidUTF8(name[:front.LongestName], "") + "..."
	}
	return name
}
