package view

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/internal/hermes/api"
	"github.com/seed-56a03226/oneiros/internal/quality"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

// Dreams lists dreams, one on a line.
func Dreams(dreams []api.Dream, s Sheet) []string {
	d := draw(s)
	if len(dreams) == 0 {
		return d.nothing("There is no dream yet. Begin one with /dream now, or let the agent dream by itself: oneiros agents edit NAME --auto")
	}
	columns := []column{
		{head: "DREAM"},
		{head: "BEGUN"},
		{head: "HOW"},
		{head: "LASTED", right: true, drop: 5},
		{head: "KEPT", right: true, drop: 3},
		{head: "SPENT", right: true, drop: 2},
		{head: "INSIGHTS", right: true, drop: 4},
		{head: "THEME", flex: true, drop: 1},
	}
	var rows [][]string
	var inks []screen.Ink
	for _, each := range dreams {
		state, ink := stateOf(NightOf(each))
		state, _, _ = strings.Cut(state, ":")
		state, _, _ = strings.Cut(state, ";")
		row := []string{
			number(each), d.when(time.Unix(each.Created, 0)), state, lasted(each), "-", "-",
			strconv.Itoa(each.Insights), "-",
		}
		if r := each.Record; r != nil {
			row[4], row[5], row[7] = strconv.Itoa(r.Counters.Kept), moneyOf(r), r.Theme
		}
		rows, inks = append(rows, row), append(inks, ink)
	}
	d.table(columns, rows, inks)
	if !slices.ContainsFunc(dreams, func(each api.Dream) bool { return each.Record != nil }) {
		d.blank()
		d.text("", "What they kept, cost and were about is shown to a key of the role operator.", screen.Faint)
	}
	return d.lines
}

// number is the number of a dream, "0042", or its id where it has none.
func number(d api.Dream) string {
	id := cmp.Or(d.Dream, d.ID)
	return id[strings.LastIndexByte(id, '/')+1:]
}

func lasted(d api.Dream) string {
	if d.Ended == nil {
		return "-"
	}
	return screen.Span(time.Duration(*d.Ended-d.Created) * time.Second)
}

func moneyOf(r *api.Record) string {
	if r.Spent == 0 && !r.Paid {
		return "free"
	}
	return screen.Money(r.Spent)
}

// Journal shows journal entries, each with its words in full.
func Journal(entries []api.JournalEntry, s Sheet) []string {
	d := draw(s)
	if len(entries) == 0 {
		return d.nothing("The journal is empty: a dream writes it on its return. Begin one with /dream now.")
	}
	for _, e := range entries {
		d.blank()
		head := d.when(e.At)
		if e.Dream != "" {
			head += " · " + e.Dream
		}
		if e.Interrupted {
			head += " · interrupted"
		}
		head += " · significance " + screen.Score(e.Significance)
		if len(e.Topics) > 0 {
			head += " · " + strings.Join(e.Topics, ", ")
		}
		d.text("", head, screen.Gold)
		d.body("  ", cmp.Or(strings.TrimSpace(e.Content), "(no words)"))
	}
	return d.lines
}

// Memories shows what came to the agent's mind.
func Memories(query string, memories []api.Memory, s Sheet) []string {
	d := draw(s)
	if len(memories) == 0 {
		return d.nothing("Nothing comes to mind for “%s”. Ask with other words, or add something with /remember.", query)
	}
	for _, m := range memories {
		d.item("·", screen.Teal, m.Content)
		note := d.when(m.At) + " · " + m.Kind
		if m.Speaker != "" {
			note += " · by " + m.Speaker
		}
		switch {
		case m.Label != "":
			note += " · " + m.Label
		case m.Dreamt:
			note += " · dream, unverified"
		case m.Taint != "":
			note += " · from " + m.Taint
		}
		d.note(note + " · fits " + screen.Score(m.Score))
	}
	return d.lines
}

// Status shows how an agent is.
func Status(st api.Status, s Sheet) []string {
	d := draw(s)
	ink := map[string]screen.Ink{"awake": screen.Green, "dreaming": screen.Violet, "sleeping": screen.Blue}[st.State]
	d.text("", cmp.Or(st.Agent, "the agent")+" is "+cmp.Or(st.State, "in an unknown state"), ink)
	d.field("mood", moodOf(st.Emotion, d))
	if st.Leases > 0 {
		held := "by " + screen.Count(st.Leases, "client")
		if !st.Until.IsZero() {
			held += ", until " + d.when(st.Until) + " if nobody comes again"
		}
		d.field("held awake", held)
	}
	d.field("memories", kindsOf(st.Memories))
	own := screen.Count(st.Own.Memories, "memory") + " of what you said"
	if st.Own.Limit > 0 {
		own += fmt.Sprintf(", at most %d", st.Own.Limit)
	}
	if st.Own.Full {
		own += "; it is full: nothing more is remembered until something is forgotten"
	}
	d.field("yours", own)
	dreams := screen.Count(st.Dreams, "dream")
	if st.Dream != "" {
		dreams += ", the newest " + st.Dream
		if st.Outcome != "" {
			dreams += " (" + st.Outcome + ")"
		}
	}
	d.field("dreams", dreams)
	if st.Recall != nil {
		d.field("recall", recallOf(*st.Recall))
	}
	if len(st.Digest) > 0 {
		d.heading("What it brought from its dreams")
		for _, m := range st.Digest {
			d.item("·", screen.Gold, m.Content)
			d.note(cmp.Or(m.Label, "dream, unverified"))
		}
	}
	return d.lines
}

func moodOf(e api.Emotion, d *drawing) string {
	text := fmt.Sprintf("%s (pleasure %s, arousal %s, dominance %s)", cmp.Or(e.Word, "calm"), signed(e.Pleasure),
		signed(e.Arousal), signed(e.Dominance))
	if e.Cause != "" && e.Cause != "new" { // nothing has moved the mood of a new agent
		text += ", because of " + e.Cause
	}
	if !e.Since.IsZero() {
		text += ", since " + d.when(e.Since)
	}
	return text
}

func signed(v float64) string {
	text := screen.Score(math.Abs(v))
	switch {
	case text == ".00":
		return "0"
	case v < 0:
		return "-" + text
	}
	return "+" + text
}

// kindsOf lists counts by kind, the largest first.
func kindsOf(counts map[string]int) string {
	var kinds []string
	for kind, n := range counts {
		if n > 0 {
			kinds = append(kinds, kind)
		}
	}
	if len(kinds) == 0 {
		return "none yet, or none that you may read"
	}
	slices.SortFunc(kinds, func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	for i, kind := range kinds {
		kinds[i] = screen.Count(counts[kind], kindName(kind))
	}
	return strings.Join(kinds, ", ")
}

func kindName(kind string) string {
	switch kind {
	case "semantic":
		return "knowledge entry"
	case "playbook", "journal":
		return kind + " entry"
	}
	return strings.ReplaceAll(kind, "_", " ")
}

func recallOf(r api.RecallCounts) string {
	text := screen.Count(r.Recalled, "turn") + " with memories"
	for _, part := range []struct {
		of   map[string]int
		text string
	}{{r.Skipped, "without"}, {r.WordsOnly, "by words alone"}} {
		var names []string
		for name, n := range part.of {
			if n > 0 {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		for _, name := range names {
			text += fmt.Sprintf(", %d %s (%s)", part.of[name], part.text, name)
		}
	}
	return text
}

// Metrics shows what the newest dreams yield; nil: none was measured.
func Metrics(q *api.Quality, s Sheet) []string {
	d := draw(s)
	if q == nil || len(q.Metrics) == 0 {
		return d.nothing("Nothing is measured yet: that takes five dreams that ran to their end. Begin one with /dream now.")
	}
	var rows [][]string
	var inks []screen.Ink
	for _, m := range q.Metrics {
		rows, inks = append(rows, metricRow(m)), append(inks, readingInk(m.State))
	}
	if d.st.Columns() < 76 {
		d.stackedMetrics(rows, inks)
	} else {
		d.table([]column{
			{head: "METRIC"},
			{head: "VALUE", right: true},
			{head: "HEALTHY"},
			{head: "ALARM"},
			{head: "OF", right: true},
			{head: "READING"},
		}, rows, inks)
		d.blank()
		for _, row := range rows {
			d.text("  ", row[0]+": "+row[6]+".", screen.Faint)
		}
	}
	d.blank()
	d.text("", fmt.Sprintf("%s measured by %s, %s.", screen.Count(q.Dreams, "dream"), cmp.Or(q.Dream, "the newest dream"),
		d.when(q.At)), screen.Faint)
	d.text("", "The metrics are watched: nothing in a dream is chosen to reach one. A value between the healthy range and an "+
		"alarm reads outside; below five dreams and ten items it reads too few.", screen.Faint)
	return d.lines
}

// stackedMetrics writes two lines for each metric, so that nothing is left out.
func (d *drawing) stackedMetrics(rows [][]string, inks []screen.Ink) {
	for i, row := range rows {
		d.raw(d.st.Paint(inks[i], screen.Cut(screen.Clean(row[0]+": "+row[1]+", "+row[5]), d.st.Columns())))
		text := "of " + row[4] + "; healthy " + row[2]
		if row[3] != "" {
			text += "; alarm " + row[3]
		}
		d.text("  ", text+"; "+row[6], screen.Faint)
	}
}

func metricRow(m event.QualityMetric) []string {
	row := []string{strings.ReplaceAll(m.Name, "_", " "), "-", "", "", strconv.Itoa(m.Of), m.State, ""}
	if m.Of > 0 {
		row[1] = figure(m.Value)
	}
	for _, r := range quality.Ranges {
		if string(r.Name) != m.Name {
			continue
		}
		row[2], row[6] = figure(r.Low)+" to "+figure(r.High), r.Means
		var alarms []string
		if r.AlarmLow != nil {
			alarms = append(alarms, "below "+figure(*r.AlarmLow))
		}
		if r.AlarmHigh != nil {
			alarms = append(alarms, "above "+figure(*r.AlarmHigh))
		}
		row[3] = strings.Join(alarms, ", ")
	}
	return row
}

func figure(x float64) string { return fmt.Sprintf("%.3g", x) }

func readingInk(state string) screen.Ink {
	switch quality.State(state) {
	case quality.Healthy:
		return screen.Green
	case quality.Outside:
		return screen.Amber
	case quality.Alarm:
		return screen.Red
	case quality.TooFew:
	}
	return screen.Faint
}

// Predictions shows what was foretold.
func Predictions(predictions []api.Prediction, s Sheet) []string {
	d := draw(s)
	if len(predictions) == 0 {
		return d.nothing("Nothing is foretold. Dreams foretell; begin one with /dream now.")
	}
	shown := "" // by what the one before is shown
	for _, p := range predictions {
		mark, ink := "·", screen.Blue
		switch p.Status {
		case "correct":
			mark, ink = "+", screen.Green
		case "incorrect":
			mark, ink = "-", screen.Red
		}
		d.item(mark, ink, cmp.Or(p.Claim, "(a fragment's claim)"))
		note := p.Status + " · confidence " + screen.Score(p.Confidence)
		if !p.Horizon.IsZero() && p.Resolved.IsZero() {
			note += " · due " + d.when(p.Horizon)
		}
		switch {
		case p.Criterion == "":
		case p.Criterion == shown:
			note += " · shown by the same"
		default:
			note += " · shown by: " + p.Criterion
		}
		shown = p.Criterion
		if p.Evidence != "" {
			note += " · because: " + p.Evidence
		}
		d.note(note)
	}
	return d.lines
}
