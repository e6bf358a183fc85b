package screen

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
)

// subject is the number of columns of a line's second column.
const subject = 12

// Line describes one event on one line, never wider than the terminal: its time, subject and content. An event of a
// type unknown to this version is named, not hidden.
func Line(e event.Event, st Style) string {
	is := describe(e, st)
	at := st.clock(e.At, "15:04:05")
	room := st.columns() - len(at) - subject - 4
	line := st.paint(faint, at) + "  " + st.paint(is.colour, pad(cut(Clean(is.about), subject), subject)) + "  " +
		cut(Clean(is.text), room)
	return strings.TrimRight(line, " ")
}

// caption is how an event is described: its subject, the subject's colour, and the content.
type caption struct {
	about  string
	colour ink
	text   string
}

// occurrence is an event with the style in which it is shown.
type occurrence struct {
	event.Event
	st Style
}

// shown is how the events of one type are described.
type shown struct {
	eventType string
	as        func(e occurrence) caption
}

// show describes events by their payload, or says that it cannot be read.
func show[P event.Payload](as func(e occurrence, p P) caption) shown {
	var kind P
	return shown{kind.EventType(), func(e occurrence) caption {
		var p P
		if err := json.Unmarshal(e.Data, &p); err != nil {
			return caption{e.Type, red, fmt.Sprintf("cannot be read: %v", err)}
		}
		return as(e, p)
	}}
}

// descriptions are by type of event.
var descriptions = func() map[string]func(occurrence) caption {
	all := map[string]func(occurrence) caption{}
	for _, s := range slices.Concat(onsetEvents, laterEvents, claimEvents, wakeEvents, remarkEvents, reviewEvents) {
		all[s.eventType] = s.as
	}
	return all
}()

func describe(e event.Event, st Style) caption {
	if as := descriptions[e.Type]; as != nil {
		return as(occurrence{e, st})
	}
	return caption{e.Type, faint, fmt.Sprintf("not known to this version (%d bytes)", len(e.Data))}
}

// onsetEvents are those until the end of the onset.
var onsetEvents = []shown{
	show(func(e occurrence, p event.DreamStarted) caption {
		return caption{
			"dream", bold,
			fmt.Sprintf("begins, %s, %s to spend, seed %d", p.Tier, p.Budget, p.Seed) +
				continuedFrom(string(p.From), p.Redreams),
		}
	}),
	show(func(e occurrence, p event.OnsetStarted) caption {
		return caption{"onset", amber, fmt.Sprintf("%s, %s, up to %s; %d of %s",
			stageName(p.Depth), biasName(p.Bias), p.Budget, p.Shown, count(p.Selected, "piece"))}
	}),
	show(func(e occurrence, p event.OnsetSkipped) caption {
		return caption{"onset", amber, "skipped: " + skippedFor(p.Reason)[0]}
	}),
	show(func(e occurrence, p event.DepthChanged) caption {
		return caption{
			"depth", amber,
			fmt.Sprintf("%s to %s, T %s", stageName(p.From), stageName(p.To), temperature(p.Temperature)),
		}
	}),
	show(func(e occurrence, p event.DaliInterrupt) caption {
		return caption{fmt.Sprintf("%s Dali %d", drop, p.Cycle), amber, fmt.Sprintf("%s%s halted, %d caught, peak T %s",
			tooDeep(p.TooDeep), count(p.Partials, "thought"), p.Captured, temperature(p.Temperature))}
	}),
	show(func(e occurrence, p event.FragmentCaptured) caption {
		return caption{
			caught + " caught", bright,
			fmt.Sprintf("%s: worth %s, new %s, distance %s", own(e, p.Fragment), score(p.Composite),
				score(p.Novelty), score(p.Distance)),
		}
	}),
	show(func(e occurrence, p event.FragmentDiscarded) caption {
		return caption{"set aside", faint, fmt.Sprintf("%s: worth %s, %s", own(e, p.Fragment), score(p.Composite), p.Reason)}
	}),
	show(func(e occurrence, p event.SomaticMarkerFired) caption {
		came := map[dream.Valence]string{dream.CameOutWell: "well", dream.CameOutBadly: "badly"}[p.Valence]
		return caption{
			"touched", gold,
			fmt.Sprintf("%s: like %s that came out %s, relevance +%s", own(e, p.Fragment),
				count(p.Count, "strong moment"), came, score(p.Boost)),
		}
	}),
	show(func(e occurrence, p event.ObserverDrifted) caption {
		return caption{
			"alarm", red,
			fmt.Sprintf("the observer, after %d outcomes: %s", p.Outcomes, strings.Join(p.Alarms, "; ")),
		}
	}),
	show(func(e occurrence, p event.OnsetCompleted) caption {
		return caption{
			"onset", amber,
			fmt.Sprintf("done: %s in %s, %s, %.1f s%s", count(p.Fragments, "fragment"), count(p.Cycles, "cycle"),
				p.Spent, p.Seconds, reasonSuffix(p.Reason)),
		}
	}),
}

// laterEvents follow the onset.
var laterEvents = []shown{
	show(func(e occurrence, p event.PhaseStarted) caption {
		return caption{phaseName(p.Phase), inkOf(p.Phase), "begins, up to " + p.Budget.String()}
	}),
	show(func(e occurrence, p event.PhaseCompleted) caption {
		text := fmt.Sprintf("%s: %d made, %d kept, %s, %s", p.State, p.Made, p.Kept, count(p.Calls, "call"), p.Spent)
		if p.Reason != "" {
			text += ": " + p.Reason
		}
		return caption{phaseName(p.Phase), inkOf(p.Phase), text}
	}),
	show(func(e occurrence, p event.PatternFound) caption {
		return caption{
			"pattern", blue,
			fmt.Sprintf("%s: %s, confidence %s", own(e, p.Prediction), p.Direction, score(p.Confidence)),
		}
	}),
	show(func(e occurrence, p event.GistExtracted) caption {
		return caption{"gist", blue, fmt.Sprintf("%s from %s", own(e, p.Gist), p.Source)}
	}),
	show(func(e occurrence, p event.ItemArchived) caption {
		newer := ""
		if p.Newer != "" {
			newer = ", " + own(e, p.Newer) + " stands for it"
		}
		return caption{"archived", amber, fmt.Sprintf("%s %s: %s%s", p.Kind, own(e, p.Item), p.Reason, newer)}
	}),
	show(func(e occurrence, p event.ItemRestored) caption {
		return caption{"restored", green, fmt.Sprintf("%s %s, by a %s", p.Kind, own(e, p.Item), p.By)}
	}),
	show(func(e occurrence, p event.MemoriesRenewed) caption {
		return caption{"strengthened", green, count(p.Memories, "memory") + ", by use"}
	}),
	show(func(e occurrence, p event.MemoriesEmbedded) caption {
		took := (time.Duration(p.Took) * time.Millisecond).Round(time.Second)
		return caption{"embedded", green, fmt.Sprintf("%d memories, in %s, space %s", p.Embedded, took, p.Space)}
	}),
	show(func(e occurrence, p event.WritesLost) caption {
		since := "a time that is not known"
		if !p.Since.IsZero() {
			since = p.Since.UTC().Format(time.DateTime)
		}
		noticed := p.Noticed.UTC().Format(time.DateTime)
		return caption{
			"lost", red,
			fmt.Sprintf("the store went back: what was written from %s to %s UTC may be gone", since, noticed),
		}
	}),
	show(func(e occurrence, p event.ScenarioImagined) caption {
		fate, kind := "dropped", ""
		if p.Kept {
			fate = "kept"
		}
		if p.Synthetic {
			kind = ", recombined"
		}
		for i, parent := range p.Parents {
			kind += []string{", " + string(p.Operation) + " of ", " and "}[min(i, 1)] + own(e, parent)
		}
		return caption{
			"scenario", violet,
			fmt.Sprintf("%s: scored %s, %s%s", own(e, p.Scenario), score(p.Score), fate, kind),
		}
	}),
	show(func(e occurrence, p event.HypothesisStaged) caption {
		return caption{
			"hypothesis", teal,
			fmt.Sprintf("%s: staged, confidence %s", own(e, p.Hypothesis), score(p.Confidence)),
		}
	}),
	show(func(e occurrence, p event.HypothesisChanged) caption {
		return caption{
			"hypothesis", teal,
			fmt.Sprintf("%s: %s, confidence %s%s", own(e, p.Hypothesis), p.Status, score(p.Confidence), causeOf(e, p)),
		}
	}),
	show(func(e occurrence, p event.PredictionResolved) caption {
		return caption{
			"prediction", blue,
			fmt.Sprintf("%s: %s by %s, confidence was %s", own(e, p.Prediction), p.Status, p.By,
				score(p.Confidence)),
		}
	}),
	show(func(e occurrence, p event.HypnopompicStarted) caption {
		return caption{"return", gold, "begins with " + count(p.Insights, "insight")}
	}),
	show(func(e occurrence, p event.HypnopompicCompleted) caption {
		return caption{
			"return", gold,
			fmt.Sprintf("%s surfaced, mood moved by %s", count(p.Insights, "insight"), score(p.Delta)),
		}
	}),
	show(func(e occurrence, p event.DreamAborted) caption {
		return caption{"dream", red, fmt.Sprintf("aborted in %s: %s", phaseName(p.Phase), p.Reason)}
	}),
	show(func(e occurrence, p event.Spent) caption { return reportTally(p.Tally) }),
	show(func(e occurrence, p event.DreamUndone) caption {
		return caption{
			"alarm", red,
			fmt.Sprintf("undone, it made recall worse: %d of %s found before, %d after; %d archived, %d restored",
				p.Before, count(p.Requested, "memory"), p.After, p.Archived, p.Restored),
		}
	}),
	show(func(e occurrence, p event.EmptyDreamsRepeated) caption {
		return caption{
			"alarm", red,
			fmt.Sprintf("%d dreams in a row have kept nothing; look at the memories and the models", p.Dreams),
		}
	}),
	show(func(e occurrence, p event.DreamEnded) caption {
		return caption{
			"dream", outcomeInk(p.Outcome),
			fmt.Sprintf("%s, %d kept, %s%s", p.Outcome, p.Kept, p.Spent, reasonSuffix(p.Reason)),
		}
	}),
}

func reportTally(t dream.Tally) caption {
	text := fmt.Sprintf("%s, %s", count(t.Calls, "call"), t.Spent)
	if t.Cap > 0 && t.Cap != budget.Unlimited {
		text += " of " + t.Cap.String()
	}
	if share, any := cached(t); any {
		text += fmt.Sprintf(", %d%% cached", share)
	}
	if t.State == skipped {
		text = "skipped" + reasonSuffix(t.Reason)
	}
	return caption{phaseName(t.Phase), inkOf(t.Phase), text}
}

// own is an id without the name of the event's dream.
func own(e occurrence, id string) string {
	if rest, ok := strings.CutPrefix(id, e.Dream); ok && e.Dream != "" && len(rest) > 1 {
		return strings.TrimLeft(rest, "/-#:.")
	}
	return id
}

func reasonSuffix(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + reason + ")"
}

func temperature(t float64) string { return fmt.Sprintf("%.2f", t) }

// tooDeep describes a cycle whose partials made no sense any more.
func tooDeep(why string) string {
	if why == "" {
		return ""
	}
	return "too deep, " + why + ": "
}

func stageName(s dream.Stage) string { return strings.ReplaceAll(string(s), "_", " ") }

func biasName(b mood.Bias) string {
	switch b {
	case mood.Threat:
		return "drawn to threats"
	case mood.Opportunity:
		return "drawn to opportunities"
	case mood.Broad:
		return "broad view"
	}
	return string(b)
}

func phaseName(p dream.Phase) string {
	switch p {
	case dream.NREM, dream.REM:
		return strings.ToUpper(string(p))
	case dream.Onset, dream.Integration, dream.Return:
	}
	return string(p)
}

func outcomeInk(o dream.Outcome) ink {
	switch o {
	case dream.Completed:
		return green
	case dream.Exhausted, dream.Interrupted, dream.Canceled:
		return amber
	case dream.Empty, dream.Aborted, dream.Undone:
		return red
	case dream.Dreaming:
	}
	return plain
}
