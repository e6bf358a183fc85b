package workflows

import (
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
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
	return b.String() + lasting(specSpans(&r.spec)...)
}

// setDetails sets the summary that Temporal's tools display.
func setDetails(ctx workflow.Context, text string) {
	workflow.SetCurrentDetails(ctx, withoutDollars(text))
}

// span is a duration of an input, by the name that it has there.
type span struct {
	name string
	long time.Duration
}

// lasting is a paragraph that tells durations in words, without those that are zero. The input itself holds them in
// nanoseconds, which workers of every build read (docs/decisions/0075-durations-are-read-in-words.md).
func lasting(spans ...span) string {
	var texts []string
	for _, s := range spans {
		if s.long != 0 {
			texts = append(texts, s.name+" "+screen.Span(s.long))
		}
	}
	if len(texts) == 0 {
		return ""
	}
	return "\n\n" + strings.Join(texts, ", ") + "\n"
}

// spans of an agent's input.
func (s *Settings) spans() []span {
	return []span{
		{"idle_timeout", s.IdleTimeout},
		{"min_gap", s.MinGap},
		{"client_timeout", s.ClientTimeout},
		{"wake_lock", s.WakeLock},
		{"alarm_hold", s.AlarmHold},
		{"resume_after", s.ResumeAfter},
		{"jitter", s.Jitter},
		{"try_again", s.TryAgain},
	}
}

// specSpans are those of a dream's input.
func specSpans(s *activities.Spec) []span {
	spans := []span{
		{"half_life", s.Knobs.HalfLife},
		{"call_timeout", s.Knobs.CallTimeout},
		{"idle_token", s.Knobs.IdleToken},
		{"dream_wall", s.Knobs.DreamWall},
		{"resume_ttl", s.ResumeTTL},
	}
	if h := s.Holds; h != nil {
		spans = append(spans, span{"alarm", h.Alarm}, span{"client", h.Client}, span{"lock", h.Lock})
	}
	return spans
}

// spans of a feed's input.
func (s *FeedSettings) spans() []span {
	spans := []span{{"every", s.Every}}
	for _, rule := range s.Rules {
		spans = append(spans, span{"window of " + rule.Name, rule.Window})
	}
	return spans
}

// withoutDollars writes amounts in USD: in Markdown as the web UI reads it, text between two dollar signs is
// mathematics.
func withoutDollars(text string) string { return strings.ReplaceAll(text, "$", "USD ") }
