package workflows

import (
	"fmt"
	"strings"

	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/internal/screen"
)

// detailColumns is the width of a dream's summary. Narrower, its phases would not stand beside each other; wider, the
// page of a workflow in Temporal's web UI would cut them.
const detailColumns = 80

// show writes the live summary that Temporal's tools display. It holds counts and money, never text of a dream.
func (r *dreamRun) show(ctx workflow.Context) { workflow.SetCurrentDetails(ctx, details(r)) }

// details is the summary as Markdown. All that has columns is in one code block: the UI's style sheet leaves no space
// between the cells of a table, and an amount in it may keep its dollar sign.
func details(r *dreamRun) string {
	var b strings.Builder
	head := fmt.Sprintf("%s, seed %d, %s of %s", r.spec.Tier, r.spec.Seed, r.state.Spent, r.spec.Budget)
	if r.stretch.number > 1 {
		head += fmt.Sprintf(", stretch %d", r.stretch.number)
	}
	if r.descent.aim != nil {
		head += r.descent.summary(r.state)
	}
	b.WriteString(withoutDollars(head))
	b.WriteString("\n\n```\n")
	b.WriteString(screen.Timeline(r.state.Tallies, screen.Style{Width: detailColumns}, r.wakes...))
	b.WriteString("\n\n")
	const row = "%-12s %-10s %5v %5v %5v  %-10s %s\n"
	b.WriteString(fmt.Sprintf(row, "phase", "state", "calls", "made", "kept", "spent", "cap"))
	for _, t := range r.state.Tallies {
		b.WriteString(fmt.Sprintf(row, t.Phase, t.State, t.Calls, t.Made, t.Kept, t.Spent, t.Cap))
	}
	b.WriteString("```\n")
	if r.state.Outcome != "" {
		end := fmt.Sprintf("\n**%s** %s", r.state.Outcome, r.state.Reason)
		if !r.state.Until.IsZero() {
			end += "; it may be resumed until " + r.state.Until.UTC().Format("2006-01-02 15:04 MST")
		}
		b.WriteString(withoutDollars(end) + "\n")
	}
	return b.String()
}

// setDetails sets the summary that Temporal's tools display.
func setDetails(ctx workflow.Context, text string) {
	workflow.SetCurrentDetails(ctx, withoutDollars(text))
}

// withoutDollars writes amounts in USD: in Markdown as the web UI reads it, text between two dollar signs is
// mathematics.
func withoutDollars(text string) string { return strings.ReplaceAll(text, "$", "USD ") }
