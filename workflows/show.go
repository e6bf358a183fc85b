package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/internal/screen"
)

// show writes the live summary that Temporal's tools display. It holds counts and money, never text of a dream.
func (n *dreamRun) show(ctx workflow.Context) {
	var b []byte
	b = fmt.Appendf(b, "%s, seed %d, %s of %s", n.spec.Tier, n.spec.Seed, n.state.Spent, n.spec.Budget)
	if n.stretch.number > 1 {
		b = fmt.Appendf(b, ", stretch %d", n.stretch.number)
	}
	if n.descent.aim != nil {
		b = append(b, n.descent.summary(n.state)...)
	}
	b = fmt.Appendf(b, "\n\n```\n%s\n```\n\n", screen.Timeline(n.state.Tallies, screen.Style{Width: 100}, n.breaks...))
	b = fmt.Appendf(b, "| phase | state | calls | made | kept | spent | cap |\n|---|---|---|---|---|---|---|\n")
	for _, t := range n.state.Tallies {
		b = fmt.Appendf(b, "| %s | %s | %d | %d | %d | %s | %s |\n", t.Phase, t.State, t.Calls, t.Made, t.Kept,
			t.Spent, t.Cap)
	}
	if n.state.Outcome != "" {
		b = fmt.Appendf(b, "\n**%s** %s", n.state.Outcome, n.state.Reason)
		if !n.state.Until.IsZero() {
			b = fmt.Appendf(b, "; it may be resumed until %s", n.state.Until.UTC().Format("2006-01-02 15:04 MST"))
		}
		b = append(b, '\n')
	}
	workflow.SetCurrentDetails(ctx, string(b))
}
