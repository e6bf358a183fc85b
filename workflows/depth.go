package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

// descent is how deep the onset goes. Without a depth rule it is the zero value: always to the peak.
type descent struct {
	spec      *activities.Spec
	aim       *dream.Depth
	senses    []hypnagogia.Sense // of the current cycle
	collapses int                // cycles that went too deep
}

// stages lists the stages of the onset in order.
func (d *descent) stages() []dream.Stage {
	if d.aim == nil {
		return hypnagogia.Descent(d.spec.Knobs.Cycles, d.spec.Tier)
	}
	return hypnagogia.DescentTo(d.aim.Stage)
}

// deepest is the stage of the Dali cycles.
func (d *descent) deepest() dream.Stage {
	if d.aim == nil {
		return dream.Peak
	}
	return d.aim.Stage
}

// cycles is the number of Dali cycles.
func (d *descent) cycles() int {
	if d.aim == nil {
		return d.spec.Knobs.Cycles
	}
	return d.aim.Cycles
}

// inductionTemperature is the knob's value held within the range of the induction's stage: transitional, or the
// target if that is shallower. Without a depth rule it may be hotter, not colder.
func (d *descent) inductionTemperature() float64 {
	k := d.spec.Knobs
	if d.aim == nil {
		return max(hypnagogia.Floor(dream.Transitional), k.InductionTemperature)
	}
	if d.aim.Stage == dream.Shallow {
		return hypnagogia.InductionTemperature(dream.Shallow, k)
	}
	return hypnagogia.InductionTemperature(dream.Transitional, k)
}

// temperatures are those of a cycle; every earlier cycle that went too deep makes it cooler.
func (d *descent) temperatures(cycle int, captured bool) (partial, judge []float64) {
	k := d.spec.Knobs
	return hypnagogia.TemperaturesAt(d.deepest(), cycle+hypnagogia.CollapseCools*d.collapses, k.Partials,
		k.Partials, k, captured)
}

// requestStage is the stage of the onset that a request names; empty without a depth rule, where activities derive it
// themselves.
func (p *phase) requestStage() dream.Stage {
	if p.run.descent.aim == nil || p.name != dream.Onset {
		return ""
	}
	return p.run.state.Stage
}

// showDepth writes the depth as a search attribute, only when the dream stays there: every write costs an event.
func (r *dreamRun) showDepth(ctx workflow.Context) {
	if r.descent.aim == nil || r.state.Stage == r.descent.deepest() {
		r.setAttributes(ctx, AttrDepth.ValueSet(string(r.state.Stage)))
	}
}

// surface judges whether a cycle went too deep, and returns the moves to TooDeep and back and the reason. The way
// back leads to the same stage at the temperature of the next cycle, which no capture raises.
func (p *phase) surface(cycle int, temperature float64) ([]activities.Deeper, string) {
	n := p.run
	why := hypnagogia.Collapsed(n.descent.senses)
	n.descent.senses = nil
	if n.descent.aim == nil || why == "" {
		return nil, ""
	}
	n.descent.collapses++
	n.state.Collapses = n.descent.collapses
	next, _ := n.descent.temperatures(cycle+1, false)
	stage := n.state.Stage
	return []activities.Deeper{
		{From: stage, To: dream.TooDeep, Temperature: temperature},
		{From: dream.TooDeep, To: stage, Temperature: next[0]},
	}, why
}

// summary is the part of the live summary that shows the depth.
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
