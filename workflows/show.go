package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"
)

// show writes the live summary that Temporal's own tools display. It holds counts and money, never text of a dream.
func (n *night) show(ctx workflow.Context) {
	var b []byte
	b = fmt.Appendf(b, "%s, seed %d, %s of %s\n\n", n.order.Tier, n.order.Seed, n.state.Spent, n.order.Budget)
	b = fmt.Appendf(b, "| phase | state | calls | made | kept | spent | cap |\n|---|---|---|---|---|---|---|\n")
	for _, t := range n.state.Tallies {
		b = fmt.Appendf(b, "| %s | %s | %d | %d | %d | %s | %s |\n", t.Phase, t.State, t.Calls, t.Made, t.Kept, t.Spent, t.Cap)
	}
	if n.state.Outcome != "" {
		b = fmt.Appendf(b, "\n**%s** %s\n", n.state.Outcome, n.state.Reason)
	}
	workflow.SetCurrentDetails(ctx, string(b))
}
