package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

// descent is how deep the onset goes. The zero descent is that of orders without a depth rule: always to the peak.
type descent struct {
	aim       *dream.Depth
	senses    []hypnagogia.Sense // of the cycle under way
	collapses int                // cycles that went too deep
}

// way lists the stages that the onset goes through, in order.
func (n *dreamRun) way() []dream.Stage {
	if n.descent.aim == nil {
		return hypnagogia.Descent(n.spec.Knobs.Cycles, n.spec.Tier)
	}
	return hypnagogia.DescentTo(n.descent.aim.Stage)
}

// deepest is the stage that Dali cycles are dreamt at.
func (n *dreamRun) deepest() dream.Stage {
	if n.descent.aim == nil {
		return dream.Peak
	}
	return n.descent.aim.Stage
}

// cycles is how many Dali cycles the onset has.
func (n *dreamRun) cycles() int {
	if n.descent.aim == nil {
		return n.spec.Knobs.Cycles
	}
	return n.descent.aim.Cycles
}

// inductionTemperature is the knob's, held within the stage that the induction is dreamt at: transitional, or the
// target above it. Where nothing chooses the depth it may be hotter than that, and no colder.
func (n *dreamRun) inductionTemperature() float64 {
	k := n.spec.Knobs
	if n.descent.aim == nil {
		return max(hypnagogia.Floor(dream.Transitional), k.InductionTemperature)
	}
	if n.descent.aim.Stage == dream.Shallow {
		return hypnagogia.InductionTemperature(dream.Shallow, k)
	}
	return hypnagogia.InductionTemperature(dream.Transitional, k)
}

// temperatures are those of a cycle: each that went too deep makes the ones after it cooler.
func (n *dreamRun) temperatures(cycle int, captured bool) (partial, judge []float64) {
	k := n.spec.Knobs
	return hypnagogia.TemperaturesAt(n.deepest(), cycle+hypnagogia.CollapseCools*n.descent.collapses, k.Partials,
		k.Partials, k, captured)
}

// stageAsked is the stage that a step of the onset is asked at; empty for orders without a depth rule, whose deeds know
// it by themselves.
func (p *phase) stageAsked() dream.Stage {
	if p.n.descent.aim == nil || p.name != dream.Onset {
		return ""
	}
	return p.n.state.Stage
}

// sound shows other tools how deep the dream is, where that lasts: every write costs an event.
func (n *dreamRun) sound(ctx workflow.Context) {
	if n.descent.aim == nil || n.state.Stage == n.deepest() {
		n.find(ctx, AttrDepth.ValueSet(string(n.state.Stage)))
	}
}

// surface judges whether a cycle went too deep (S4, HoriStage), and answers the moves there and back, and why. The way
// back is to the stage that it came from, at the heat of the next cycle.
func (p *phase) surface(cycle int, temperature float64, captured bool) ([]activities.Deeper, string) {
	n := p.n
	why := hypnagogia.Collapsed(n.descent.senses)
	n.descent.senses = nil
	if n.descent.aim == nil || why == "" {
		return nil, ""
	}
	n.descent.collapses++
	n.state.Collapses = n.descent.collapses
	next, _ := n.temperatures(cycle+1, captured)
	stage := n.state.Stage
	return []activities.Deeper{
		{From: stage, To: dream.TooDeep, Temperature: temperature},
		{From: dream.TooDeep, To: stage, Temperature: next[0]},
	}, why
}

// summary is what the live summary says of the depth.
func (d descent) summary(state Progress) string {
	text := fmt.Sprintf(", down to %s", d.aim.Stage)
	if state.Phase == dream.Onset && state.Stage != d.aim.Stage {
		text += fmt.Sprintf(", now %s", state.Stage)
	}
	switch {
	case d.collapses == 1:
		text += ", too deep once"
	case d.collapses > 1:
		text += fmt.Sprintf(", too deep %d times", d.collapses)
	}
	return text
}
