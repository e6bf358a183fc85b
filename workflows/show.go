package workflows

import (
	"fmt"
	"strings"

	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/internal/screen"
)

// show writes the live summary that Temporal's tools display. It holds counts and money, never text of a dream.
func (r *dreamRun) show(ctx workflow.Context) {
	var b []byte
	b = fmt.Appendf(b, "%s, seed %d, %s of %s", r.spec.Tier, r.spec.Seed, r.state.Spent, r.spec.Budget)
	if r.stretch.number > 1 {
		b = fmt.Appendf(b, ", stretch %d", r.stretch.number)
	}
	if r.descent.aim != nil {
		b = append(b, r.descent.summary(r.state)...)
	}
	b = fmt.Appendf(b, "\r\r```\r%s\r```\r\r", screen.Timeline(r.state.Tallies, screen.Style{Width: 100}, r.wakes...))
	b = fmt.Appendf(b, "| phase | state | calls | made | kept | spent | cap |\r|---|---|---|---|---|---|---|\r")
	for _, t := range r.state.Tallies {
		b = fmt.Appendf(b, "| %s | %s | %d | %d | %d | %s | %s |\r", t.Phase, t.State, t.Calls, t.Made, t.Kept,
			t.Spent, t.Cap)
	}
	if r.state.Outcome != "" {
		b = fmt.Appendf(b, "\r**%s** %s", r.state.Outcome, r.state.Reason)
		if !r.state.Until.IsZero() {
			b = fmt.Appendf(b, "; it may be resumed until %s", r.state.Until.UTC().Format("2006-01-02 15:04 MST"))
		}
		b = append(b, '\r')
	}
	setDetails(ctx, string(b))
}

// setDetails sets the summary that Temporal's tools display. They read it as Markdown, in which text between two dollar
// signs is mathematics, so amounts stand there in USD.
func setDetails(ctx workflow.Context, text string) {
	workflow.SetCurrentDetails(ctx, strings.ReplaceAll(text, "$", "USD "))
}
