package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/internal/hermes/api"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

// The rows beside the gauge, and the least width of an event beside it.
const (
	gaugeRows  = 8
	leastEvent = 40
)

// Dream draws one dream, live or past: how it stands and what it spends, the timeline, the depth as a gauge and in
// words with the newest events, and what it made as far as the key's role sees it.
func Dream(n Night, s Sheet) []string {
	d := draw(s)
	d.headerOf(n)
	d.blank()
	d.timelineOf(n)
	d.blank()
	d.depthOf(n)
	if summary := summaryOf(n); len(summary) > 0 {
		d.blank()
		for _, line := range summary {
			d.field(line[0], line[1])
		}
	}
	d.insights(n)
	d.fragments(n.Fragments)
	d.scenarios(n.Scenarios)
	d.deniedOf(n)
	return d.lines
}

// headerOf says which dream it is, how it stands, and what it has spent.
func (d *drawing) headerOf(n Night) {
	state, ink := stateOf(n)
	who := cmp.Or(screen.Clean(n.Dream.Agent), "the agent")
	title := cmp.Or(screen.Clean(n.Dream.Dream), screen.Clean(n.Dream.ID))
	head := who + " · " + title
	if title == "" {
		head = who
	}
	for i, line := range screen.Wrap(head+" · "+state, d.st.Columns()) {
		if i == 0 && line == head+" · "+state {
			line = d.st.Paint(screen.Bold, head) + " · " + d.st.Paint(ink, state)
		}
		d.raw(line)
	}
	d.text("", timesOf(n, d), screen.Faint)
	if reason := n.Dream.Reason; reason != "" {
		d.text("", "why: "+reason, screen.Unpainted)
	}
	r := n.Dream.Record
	if r == nil {
		d.text("", "What it costs and what it is about is shown to a key of the role operator.", screen.Faint)
		return
	}
	if r.Theme != "" {
		d.text("", "theme “"+r.Theme+"”", screen.Unpainted)
	}
	d.text("", costOf(n), screen.Unpainted)
}

// stateOf is how a dream stands, in a word or two.
func stateOf(n Night) (state string, ink screen.Ink) {
	switch {
	case n.Dream.Undone:
		return "undone: what it made no longer counts", screen.Red
	case !n.Dream.Over() && n.Waits:
		return "interrupted; it may go on", screen.Gold
	case n.Dream.Status == "pending":
		return "requested; it has not begun", screen.Faint
	case !n.Dream.Over():
		return "dreaming", screen.Violet
	}
	outcome := cmp.Or(screen.Clean(n.Dream.Outcome), screen.Clean(n.Dream.Status))
	switch dream.Outcome(n.Dream.Outcome) {
	case dream.Completed:
		return outcome, screen.Green
	case dream.Aborted:
		return "aborted: it failed, and its allowance was given back", screen.Red
	case dream.Undone:
		return "undone: it made recall worse", screen.Red
	case dream.Empty:
		return "empty: it kept nothing", screen.Amber
	case dream.Exhausted:
		return "exhausted: a cap on its money ended it", screen.Amber
	case dream.Dreaming, dream.Canceled, dream.Interrupted:
	}
	return outcome, screen.Amber
}

func timesOf(n Night, d *drawing) string {
	var parts []string
	begun := time.Unix(n.Dream.Created, 0)
	if n.Dream.Created > 0 {
		parts = append(parts, "begun "+d.when(begun))
	}
	switch {
	case n.Dream.Ended != nil:
		parts = append(parts, "over after "+screen.Span(time.Unix(*n.Dream.Ended, 0).Sub(begun)))
	case n.Waits && n.Dream.Resumable != nil:
		parts = append(parts, "it may go on until "+d.when(time.Unix(*n.Dream.Resumable, 0)))
	case !d.sheet.Now.IsZero() && n.Dream.Created > 0:
		parts = append(parts, screen.Span(d.sheet.Now.Sub(begun))+" so far")
	}
	if n.Dream.Resumes > 0 {
		parts = append(parts, "resumed "+times(n.Dream.Resumes))
	}
	if n.Dream.Archived != nil {
		parts = append(parts, "archived")
	}
	return strings.Join(parts, " · ")
}

func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

// costOf is the spending against the cap, the calls, and the share of the input that came from the provider's cache.
func costOf(n Night) string {
	r := n.Dream.Record
	calls, in, cached := 0, int64(0), int64(0)
	for _, t := range n.Phases {
		calls, in, cached = calls+t.Calls, in+t.In, cached+t.Cached
	}
	spent := n.spent()
	text := "spent " + screen.Money(spent)
	if spent == 0 && (!r.Paid || n.Dream.Over()) {
		text = "free"
	} else if r.Budget > 0 && r.Budget < budget.Unlimited {
		text += " of " + screen.Money(r.Budget) + " cap"
	}
	text += " · " + screen.Count(calls, "call")
	if in > 0 {
		text += fmt.Sprintf(" · %d%% of the input from the cache", 100*min(cached, in)/in)
	}
	return text
}

// timelineOf draws the timeline. Without figures it shows the states of the phases alone.
func (d *drawing) timelineOf(n Night) {
	drawn := strings.Split(screen.Timeline(n.Phases, d.st, n.Breaks...), "\n")
	if !n.Limited {
		for _, line := range drawn {
			d.raw(line)
		}
		return
	}
	if len(drawn) <= 3 { // a segment for each phase; the lines below it hold figures
		d.raw(drawn[0])
	}
	var parts []string
	for _, p := range dream.Phases {
		state := "ahead"
		if n.Dream.Over() {
			state = "not run"
		}
		for _, t := range n.Phases {
			if t.Phase == p {
				state = t.State
			}
		}
		parts = append(parts, phaseName(p)+": "+state)
	}
	if len(n.Phases) > 0 || !n.Dream.Over() {
		d.text("", strings.Join(parts, " · "), screen.Faint)
	}
}

func phaseName(p dream.Phase) string {
	switch p {
	case dream.Onset:
		return "onset"
	case dream.NREM:
		return "NREM (replay)"
	case dream.REM:
		return "REM (imagination)"
	case dream.Integration:
		return "integration"
	case dream.Return:
		return "return"
	}
	return screen.Clean(string(p))
}

// depthOf draws the gauge with the newest events beside it, and says the depth in words. Where there is no depth to
// show there are the events alone.
func (d *drawing) depthOf(n Night) {
	stage := n.Stage
	if n.Dream.Over() {
		stage = n.Deepest
	}
	d.text("", depthWords(n, d), screen.Amber)
	recent := n.Recent[max(0, len(n.Recent)-gaugeRows):]
	beside := d.st.Columns() - screen.GaugeWidth - 2
	if stage == "" {
		for _, e := range recent {
			d.raw(d.eventLine(n, e, d.st.Columns()))
		}
	} else {
		rows := screen.Gauge(stage, d.sheet.Beat, d.st)
		first := gaugeRows - len(recent)
		for i, e := range recent {
			if beside >= leastEvent {
				rows[first+i] += "  " + d.eventLine(n, e, beside)
			}
		}
		for _, row := range rows {
			d.raw(row)
		}
		if beside < leastEvent {
			for _, e := range recent[max(0, len(recent)-3):] {
				d.raw(d.eventLine(n, e, d.st.Columns()))
			}
		}
	}
	if n.Agent.Type != "" && !n.Dream.Over() {
		d.raw(d.eventLine(n, n.Agent, d.st.Columns()))
	}
	if len(recent) == 0 && !n.Dream.Over() {
		d.text("", "Nothing has happened in this dream yet, or its events were not followed.", screen.Faint)
	}
}

// depthWords says the depth, so that nobody has to read the gauge.
func depthWords(n Night, d *drawing) string {
	switch {
	case n.Limited:
		return "depth: shown to a key of the role operator"
	case n.Dream.Over() && n.Deepest != "":
		return "depth: the onset reached " + stageWords(n.Deepest)
	case n.Dream.Over():
		return "depth: the onset of this dream was not followed"
	case n.Waits:
		text := "depth: awake"
		if n.Dream.Resumable != nil {
			text += "; the dream may go on until " + d.when(time.Unix(*n.Dream.Resumable, 0))
		}
		return text
	case n.Stage != "":
		return "depth: " + stageWords(n.Stage)
	}
	for _, t := range slices.Backward(n.Phases) {
		switch {
		case t.Phase == dream.Onset && t.State == "running":
			return "depth: falling asleep"
		case t.Phase == dream.Onset:
			return "depth: the onset is over"
		case t.State == "running":
			return "depth: past the onset, in " + phaseName(t.Phase)
		}
	}
	return "depth: the onset has not begun"
}

func stageWords(s dream.Stage) string {
	switch s {
	case dream.Shallow:
		return "shallow, H1 to H2"
	case dream.Transitional:
		return "transitional, H3 to H4"
	case dream.Peak:
		return "peak, H5 to H6, the Dali zone"
	case dream.TooDeep:
		return "too deep, H7 to H8; the dreamer is drawn back up"
	}
	return screen.Clean(string(s))
}

// eventLine is an event on one line, with the words of what it names where there is room.
func (d *drawing) eventLine(n Night, e api.Event, columns int) string {
	if n.Limited {
		return d.plainEvent(e, columns)
	}
	st := d.st
	st.Width = columns
	line := screen.Line(e.Event, st)
	text := screen.Clean(e.Text)
	st.Colour = false
	room := columns - screen.Width(screen.Line(e.Event, st)) - 2
	if text == "" || room < 12 {
		return line
	}
	return line + "  " + d.st.Paint(screen.Faint, screen.Cut("“"+text+"”", room))
}

// plainEvent is an event whose figures the key's role does not see.
func (d *drawing) plainEvent(e api.Event, columns int) string {
	at := d.st.Time(e.At, time.TimeOnly)
	text := screen.Cut(eventWords(e), columns-len(at)-2)
	return d.st.Paint(screen.Faint, at) + "  " + text
}

// eventWords says what an event announces to every role.
func eventWords(e api.Event) string {
	var p struct {
		Phase   dream.Phase `json:"phase"`
		State   string      `json:"state"`
		Cause   string      `json:"cause"`
		Outcome string      `json:"outcome"`
	}
	_ = json.Unmarshal(e.Data, &p)
	switch e.Type {
	case event.DreamStarted{}.EventType():
		return "the dream begins"
	case event.OnsetStarted{}.EventType():
		return "the onset begins"
	case event.OnsetSkipped{}.EventType():
		return "the onset is skipped"
	case event.OnsetCompleted{}.EventType():
		return "the onset is over"
	case event.AlarmAbort{}.EventType():
		return "an alarm ended the onset"
	case event.PhaseStarted{}.EventType():
		return phaseName(p.Phase) + " begins"
	case event.PhaseCompleted{}.EventType():
		return screen.Clean(phaseName(p.Phase) + ": " + p.State)
	case event.HypnopompicStarted{}.EventType():
		return "the return begins"
	case event.HypnopompicCompleted{}.EventType():
		return "the return is over"
	case event.DreamInterrupted{}.EventType():
		return screen.Clean("interrupted: " + p.Cause)
	case event.DreamResumed{}.EventType():
		return "the dream goes on"
	case event.DreamEnded{}.EventType():
		return screen.Clean("the dream has ended: " + p.Outcome)
	case event.AgentAwake{}.EventType():
		return screen.Clean("the agent is awake: " + p.Cause)
	case event.AgentAsleep{}.EventType():
		return "the agent is asleep"
	}
	return screen.Clean(e.Type)
}

// summaryOf are the sentences with which the server sums a dream up.
func summaryOf(n Night) [][2]string {
	if n.Dream.Record == nil || n.Dream.Record.Summary == nil || !n.Dream.Over() {
		return nil
	}
	s := n.Dream.Record.Summary
	var lines [][2]string
	for _, line := range [][2]string{
		{"learned", s.Learned},
		{"stopped", s.Stopped},
		{"changed", s.Changed},
		{"archived", s.Archived},
		{"next", s.Next},
	} {
		if line[1] != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// insights are what surfaced on return.
func (d *drawing) insights(n Night) {
	if len(n.Insights) == 0 {
		if n.Dream.Insights > 0 && n.Dream.Over() {
			d.heading("Brought back")
			d.text("  ", screen.Count(n.Dream.Insights, "insight")+" surfaced; none is shown to this key.", screen.Faint)
		}
		return
	}
	d.heading("Brought back")
	for _, i := range n.Insights {
		d.item("·", screen.Gold, cmp.Or(i.Content, "(its words are withheld from the role client)"))
		note := fmt.Sprintf("%s, significance %s", cmp.Or(i.Label, i.Kind), screen.Score(i.Significance))
		if i.Promoted {
			note = fmt.Sprintf("confirmed, and acted by; confidence %s", screen.Score(i.Significance))
		}
		d.note(note)
	}
}

// fragments are the thoughts of the onset, the best first, and how many were discarded for which reason.
func (d *drawing) fragments(all []api.Fragment) {
	if len(all) == 0 {
		return
	}
	kept := slices.DeleteFunc(slices.Clone(all), api.Fragment.Discarded)
	slices.SortStableFunc(kept, func(a, b api.Fragment) int {
		return cmp.Or(cmp.Compare(b.Verdict.Composite, a.Verdict.Composite), cmp.Compare(a.ID, b.ID))
	})
	d.heading("Noticed at the edge of sleep")
	d.text("  ", fmt.Sprintf("%s, %d kept.", screen.Count(len(all), "fragment"), len(kept)), screen.Unpainted)
	for _, f := range kept {
		d.item("•", screen.Amber, f.Content)
		v := f.Verdict
		note := fmt.Sprintf("worth %s: new %s, fitting %s, clear %s", screen.Score(v.Composite), screen.Score(v.Novelty),
			screen.Score(v.Relevance), screen.Score(v.Coherence))
		d.note(note + fateOf(f))
	}
	d.counted("fragment", discardedBy(all))
}

func fateOf(f api.Fragment) string {
	text := ""
	switch f.Status {
	case dream.FragmentSelected:
		text = "; chosen to be imagined"
	case dream.FragmentDeveloped:
		text = "; became a scenario"
	case dream.FragmentPromoted:
		text = "; became a hypothesis"
	}
	if f.Reason != "" {
		text += "; " + f.Reason
	}
	return text
}

func discardedBy(all []api.Fragment) map[string]int {
	reasons := map[string]int{}
	for _, f := range all {
		if f.Discarded() {
			reasons[cmp.Or(screen.Clean(f.Reason), "no reason recorded")]++
		}
	}
	return reasons
}

// counted says how many were set aside for which reason, the most frequent first.
func (d *drawing) counted(thing string, reasons map[string]int) {
	var names []string
	for name := range reasons {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(reasons[b], reasons[a]), cmp.Compare(a, b))
	})
	for _, name := range names {
		d.text("  ", screen.Count(reasons[name], thing)+" set aside: "+name, screen.Faint)
	}
}

// scenarios are what REM imagined, the best first.
func (d *drawing) scenarios(all []api.Scenario) {
	if len(all) == 0 {
		return
	}
	d.heading("Imagined")
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b api.Scenario) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID))
	})
	dropped := map[string]int{}
	for _, s := range sorted {
		if !s.Kept {
			dropped[cmp.Or(screen.Clean(s.Reason), "scored too low")]++
			continue
		}
		d.item("·", screen.Violet, s.Content)
		note := "scored " + screen.Score(s.Score)
		if s.Counterfactual {
			note += "; against what happened"
		}
		if s.Synthetic {
			note += "; of things that never happened together"
		}
		if s.Premise != "" {
			note += "; from: " + s.Premise
		}
		d.note(note)
	}
	d.counted("scenario", dropped)
}

// deniedOf says which role sees what the dream made.
func (d *drawing) deniedOf(n Night) {
	if n.Denied == nil {
		return
	}
	text, advice := troubleOf("fragments and scenarios of this dream", n.Denied)
	d.blank()
	d.text("", strings.Replace(text, "cannot be shown: this needs", "need", 1), screen.Amber)
	if advice != "" {
		d.text("", advice, screen.Faint)
	}
}
