package screen

import (
	"encoding/json"
	"fmt"
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
	about, colour, text := describe(e, st)
	at := st.clock(e.At, "15:04:05")
	room := st.columns() - len(at) - subject - 4
	line := st.paint(faint, at) + "  " + st.paint(colour, pad(cut(Clean(about), subject), subject)) + "  " +
		cut(Clean(text), room)
	return strings.TrimRight(line, " ")
}

func describe(e event.Event, st Style) (about string, colour ink, text string) {
	switch e.Type {
	case "ReviewRequested", "ReviewDecided":
		return reportReview(e)
	case "DreamStarted":
		return read(e, func(p event.DreamStarted) (string, ink, string) {
			return "dream", bold,
				fmt.Sprintf("begins, %s, %s to spend, seed %d", p.Tier, p.Budget, p.Seed) +
					continuedFrom(string(p.From), p.Redreams)
		})
	case "OnsetStarted":
		return read(e, func(p event.OnsetStarted) (string, ink, string) {
			return "onset", amber, fmt.Sprintf("%s, %s, up to %s; %d of %s",
				stageName(p.Depth), biasName(p.Bias), p.Budget, p.Shown, count(p.Selected, "piece"))
		})
	case "OnsetSkipped":
		return read(e, func(p event.OnsetSkipped) (string, ink, string) {
			return "onset", amber, "skipped: " + skippedFor(p.Reason)[0]
		})
	case "DepthChanged":
		return read(e, func(p event.DepthChanged) (string, ink, string) {
			return "depth", amber,
				fmt.Sprintf("%s to %s, T %s", stageName(p.From), stageName(p.To), temperature(p.Temperature))
		})
	case "DaliInterrupt":
		return read(e, func(p event.DaliInterrupt) (string, ink, string) {
			return fmt.Sprintf("%s Dali %d", drop, p.Cycle), amber, fmt.Sprintf("%s%s halted, %d caught, peak T %s",
				tooDeep(p.TooDeep), count(p.Partials, "thought"), p.Captured, temperature(p.Temperature))
		})
	case "FragmentCaptured":
		return read(e, func(p event.FragmentCaptured) (string, ink, string) {
			return caught + " caught", bright,
				fmt.Sprintf("%s: worth %s, new %s, distance %s", own(e, p.Fragment), score(p.Composite),
					score(p.Novelty), score(p.Distance))
		})
	case "FragmentDiscarded":
		return read(e, func(p event.FragmentDiscarded) (string, ink, string) {
			return "set aside", faint, fmt.Sprintf("%s: worth %s, %s", own(e, p.Fragment), score(p.Composite), p.Reason)
		})
	case "SomaticMarkerFired":
		return read(e, func(p event.SomaticMarkerFired) (string, ink, string) {
			came := map[dream.Valence]string{dream.CameOutWell: "well", dream.CameOutBadly: "badly"}[p.Valence]
			return "touched", gold,
				fmt.Sprintf("%s: like %s that came out %s, relevance +%s", own(e, p.Fragment),
					count(p.Count, "strong moment"), came, score(p.Boost))
		})
	case "ObserverDrifted":
		return read(e, func(p event.ObserverDrifted) (string, ink, string) {
			return "alarm", red,
				fmt.Sprintf("the observer, after %d outcomes: %s", p.Outcomes, strings.Join(p.Alarms, "; "))
		})
	case "OnsetCompleted":
		return read(e, func(p event.OnsetCompleted) (string, ink, string) {
			return "onset", amber,
				fmt.Sprintf("done: %s in %s, %s, %.1f s%s", count(p.Fragments, "fragment"), count(p.Cycles, "cycle"),
					p.Spent, p.Seconds, reasonSuffix(p.Reason))
		})
	}
	return reportLater(e, st)
}

// reportLater describes what follows the onset.
func reportLater(e event.Event, st Style) (about string, colour ink, text string) {
	switch e.Type {
	case "PhaseStarted":
		return read(e, func(p event.PhaseStarted) (string, ink, string) {
			return phaseName(p.Phase), inkOf(p.Phase), "begins, up to " + p.Budget.String()
		})
	case "PhaseCompleted":
		return read(e, func(p event.PhaseCompleted) (string, ink, string) {
			text := fmt.Sprintf("%s: %d made, %d kept, %s, %s", p.State, p.Made, p.Kept, count(p.Calls, "call"), p.Spent)
			if p.Reason != "" {
				text += ": " + p.Reason
			}
			return phaseName(p.Phase), inkOf(p.Phase), text
		})
	case "PatternFound":
		return read(e, func(p event.PatternFound) (string, ink, string) {
			return "pattern", blue,
				fmt.Sprintf("%s: %s, confidence %s", own(e, p.Prediction), p.Direction, score(p.Confidence))
		})
	case "GistExtracted":
		return read(e, func(p event.GistExtracted) (string, ink, string) {
			return "gist", blue, fmt.Sprintf("%s from %s", own(e, p.Gist), p.Source)
		})
	case "ItemArchived":
		return read(e, func(p event.ItemArchived) (string, ink, string) {
			newer := ""
			if p.Newer != "" {
				newer = ", " + own(e, p.Newer) + " stands for it"
			}
			return "archived", amber, fmt.Sprintf("%s %s: %s%s", p.Kind, own(e, p.Item), p.Reason, newer)
		})
	case "ItemRestored":
		return read(e, func(p event.ItemRestored) (string, ink, string) {
			return "restored", green, fmt.Sprintf("%s %s, by a %s", p.Kind, own(e, p.Item), p.By)
		})
	case "MemoriesRenewed":
		return read(e, func(p event.MemoriesRenewed) (string, ink, string) {
			return "strengthened", green, count(p.Memories, "memory") + ", by use"
		})
	case "MemoriesEmbedded":
		return read(e, func(p event.MemoriesEmbedded) (string, ink, string) {
			took := (time.Duration(p.Took) * time.Millisecond).Round(time.Second)
			return "embedded", green, fmt.Sprintf("%d memories, in %s, space %s", p.Embedded, took, p.Space)
		})
	case "ScenarioImagined":
		return read(e, func(p event.ScenarioImagined) (string, ink, string) {
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
			return "scenario", violet,
				fmt.Sprintf("%s: scored %s, %s%s", own(e, p.Scenario), score(p.Score), fate, kind)
		})
	case "HypothesisStaged":
		return read(e, func(p event.HypothesisStaged) (string, ink, string) {
			return "hypothesis", teal,
				fmt.Sprintf("%s: staged, confidence %s", own(e, p.Hypothesis), score(p.Confidence))
		})
	case "HypothesisChanged":
		return read(e, func(p event.HypothesisChanged) (string, ink, string) {
			return "hypothesis", teal,
				fmt.Sprintf("%s: %s, confidence %s%s", own(e, p.Hypothesis), p.Status, score(p.Confidence), causeOf(e, p))
		})
	case "PredictionResolved":
		return read(e, func(p event.PredictionResolved) (string, ink, string) {
			return "prediction", blue,
				fmt.Sprintf("%s: %s by %s, confidence was %s", own(e, p.Prediction), p.Status, p.By,
					score(p.Confidence))
		})
	case "HypnopompicStarted":
		return read(e, func(p event.HypnopompicStarted) (string, ink, string) {
			return "return", gold, "begins with " + count(p.Insights, "insight")
		})
	case "HypnopompicCompleted":
		return read(e, func(p event.HypnopompicCompleted) (string, ink, string) {
			return "return", gold,
				fmt.Sprintf("%s surfaced, mood moved by %s", count(p.Insights, "insight"), score(p.Delta))
		})
	case "DreamAborted":
		return read(e, func(p event.DreamAborted) (string, ink, string) {
			return "dream", red, fmt.Sprintf("aborted in %s: %s", phaseName(p.Phase), p.Reason)
		})
	case "Spent":
		return read(e, func(p event.Spent) (string, ink, string) { return reportTally(p.Tally) })
	case "DreamUndone":
		return read(e, func(p event.DreamUndone) (string, ink, string) {
			return "alarm", red,
				fmt.Sprintf("undone, it made recall worse: %d of %s found before, %d after; %d archived, %d restored",
					p.Before, count(p.Requested, "memory"), p.After, p.Archived, p.Restored)
		})
	case "EmptyDreamsRepeated":
		return read(e, func(p event.EmptyDreamsRepeated) (string, ink, string) {
			return "alarm", red,
				fmt.Sprintf("%d dreams in a row have kept nothing; look at the memories and the models", p.Dreams)
		})
	case "DreamEnded":
		return read(e, func(p event.DreamEnded) (string, ink, string) {
			return "dream", outcomeInk(p.Outcome),
				fmt.Sprintf("%s, %d kept, %s%s", p.Outcome, p.Kept, p.Spent, reasonSuffix(p.Reason))
		})
	}
	return reportClaim(e, st)
}

// read decodes a payload and describes it, or says that it cannot be read.
func read[P event.Payload](e event.Event, tell func(P) (string, ink, string)) (string, ink, string) {
	var p P
	if err := json.Unmarshal(e.Data, &p); err != nil {
		return e.Type, red, fmt.Sprintf("cannot be read: %v", err)
	}
	return tell(p)
}

func reportTally(t dream.Tally) (string, ink, string) {
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
	return phaseName(t.Phase), inkOf(t.Phase), text
}

// own is an id without the name of the event's dream.
func own(e event.Event, id string) string {
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
