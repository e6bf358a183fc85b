package screen

import (
	"fmt"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
)

// DreamReport is everything a dream left behind, read from the store.
type DreamReport struct {
	Agent       string // the handle
	Record      dream.Record
	Fragments   []*dream.Fragment   // every one, the discarded too
	Predictions []*dream.Prediction // every one; those of NREM are shown as patterns
	Scenarios   []*dream.Scenario   // every one, the dropped too
	Hypotheses  []*dream.Hypothesis // staged or changed by this dream
	Gists       []*dream.Gist
	Playbook    []*dream.Playbook // added or changed by this dream
	Surfaced    []string          // the texts of what came back on return
	BuiltIn     bool              // whether all words of the night are the built-in model's

	BuiltInRoles []string // the roles that the built-in model had
	Breaks       []Break  // where it was woken, Breaks of its events

	Archived []Archived // what it put aside that counted before, and that is still archived

	Learned []string // what the agent knows since the dream before, a sentence each without its full stop
	Stopped []string // what it no longer believes since then

	Journal      []*dream.Journal
	Waiting      int // what counts only when a person accepts it
	Strengthened int // memories whose fading it put off

	Reviewed []*dream.Prediction // whose reasoning it reviewed
	MayGoOn  bool                // it was interrupted, and the time to resume it has not run out
	Option   string              // flags that the commands of the summary need, with a space before them
}

// most is how many entries of a list the report shows before it only counts the rest.
const most = 12

// Report describes a dream: how it ended, what was noticed and kept and why, what was set aside, and what it cost.
// Texts of items are cleaned and wrapped to the terminal. It ends with a line break.
func Report(r DreamReport, st Style) string {
	p := &page{st: st}
	summarized(p, Summarize(r))
	headline(p, r)
	if r.BuiltIn {
		p.blank()
		p.text("",
			"Built-in model, for trying things out: it recombines the memories it is shown and understands none of them.",
			amber)
	} else if len(r.BuiltInRoles) > 0 {
		p.blank()
		p.text("",
			fmt.Sprintf(
				"Built-in model, for trying things out, as %s: there it recombines the memories it is shown and understands none of them. "+
					"The other roles had the models named above.", Clean(strings.Join(r.BuiltInRoles, " and "))), amber)
	}
	if len(r.Record.Phases) > 0 {
		p.blank()
		p.raw(Timeline(r.Record.Phases, st, r.Breaks...))
	}
	noticed(p, r.Fragments)
	setAside(p, r)
	reasoned(p, r.Reviewed)
	patterns(p, r.Predictions)
	imagined(p, r.Scenarios)
	staged(p, r)
	showGists(p, r.Gists)
	archived(p, r.Archived)
	returned(p, r)
	recallOf(p, r.Record)
	moodOf(p, r.Record)
	costs(p, r.Record)
	return p.String()
}

// headline says plainly how the night ended. An empty night is never told as a success.
func headline(p *page, r DreamReport) {
	n := r.Record
	p.text("", sentence(r)+goesOn(n, p.st), headlineInk(n.Outcome))
	facts := []string{Clean(n.ID)}
	add := func(format string, args ...any) { facts = append(facts, fmt.Sprintf(format, args...)) }
	if n.Tier != "" {
		add("%s", n.Tier)
	}
	if theme := Clean(n.Theme); theme != "" {
		add("theme “%s”", theme)
	}
	add("seed %d", n.Seed)
	if r := n.Redreams; r != nil {
		add("dreamt anew from %s on; what came before is that of %s", phaseName(r.From), Clean(r.Dream))
	}
	switch n.Review {
	case dream.ReviewAsk:
		add("what it made waits for a review")
	case dream.JournalOnly:
		add("only its journal was kept")
	case dream.ReviewAuto:
	}
	if !n.At.IsZero() {
		add("%s", p.st.clock(n.At, "2 Jan 2006, 15:04"))
	}
	if away := n.AsOf.Sub(n.At).Abs(); !n.AsOf.IsZero() && !n.At.IsZero() && away > 24*time.Hour {
		add("as of %s", p.st.clock(n.AsOf, "2 Jan 2006"))
	}
	if n.Selected > 0 {
		add("%d of %s shown", n.Shown, count(n.Selected, "memory piece"))
	}
	facts = append(facts, modelsBy(n.Models)...)
	p.text("", strings.Join(facts, " · "), faint)
}

// modelsBy lists each model once, with its roles.
func modelsBy(models []string) []string {
	var facts, names []string
	roles := map[string][]string{}
	for _, m := range models {
		role, model, ok := strings.Cut(Clean(m), "=")
		if !ok {
			facts = append(facts, role)
			continue
		}
		if roles[model] == nil {
			names = append(names, model)
		}
		roles[model] = append(roles[model], role)
	}
	for _, model := range names {
		facts = append(facts, strings.Join(roles[model], ", ")+": "+model)
	}
	return facts
}

func sentence(r DreamReport) string {
	n, who := r.Record, Clean(r.Agent)
	if who == "" {
		who = "The agent"
	}
	why := Clean(n.Reason)
	because := ""
	if why != "" {
		because = " (" + why + ")"
	}
	slept := ""
	if d := n.Ended.Sub(n.At); !n.Ended.IsZero() && !n.At.IsZero() && d >= time.Second {
		slept = " for " + span(d)
		if n.Stretches > 1 {
			slept = fmt.Sprintf(" in %d stretches within %s", n.Stretches, span(d))
		}
	}
	kept := keptWords(r)
	if n.State == dream.Archived && n.Outcome != dream.Dreaming {
		return fmt.Sprintf("%s dreamt%s, and the dream was undone; the %s it spent still counts.", who, slept, n.Spent)
	}
	switch n.Outcome {
	case dream.Dreaming:
		return who + " is still dreaming."
	case dream.Completed:
		return fmt.Sprintf("%s dreamt%s and kept %s.", who, slept, kept)
	case dream.Empty:
		return fmt.Sprintf("%s dreamt%s and kept nothing%s. The dream was empty.", who, slept, because)
	case dream.Exhausted:
		return fmt.Sprintf("The money ran out%s. %s dreamt%s until then and kept %s.", because, who, slept, kept)
	case dream.Aborted:
		return fmt.Sprintf(
			"The dream failed%s. %s kept %s; the dream's allowance is given back, and the %s it spent still counts.",
			because, who, kept, n.Spent)
	case dream.Undone:
		return fmt.Sprintf("The dream was undone%s. %s is as before it; the %s it spent still counts.", because, who,
			n.Spent)
	case dream.Canceled:
		return fmt.Sprintf("The dream was canceled%s. %s kept %s.", because, who, kept)
	case dream.Interrupted:
		return fmt.Sprintf("%s was woken%s and kept %s.", who, because, kept)
	}
	return fmt.Sprintf("%s dreamt; the dream ended as %q.", who, Clean(string(n.Outcome)))
}

// goesOn says until when an interrupted dream may be resumed.
func goesOn(n dream.Record, st Style) string {
	if !n.Resumable() {
		return ""
	}
	return " It may go on until " + st.futureTime(n.Until, n.Ended) + "."
}

// keptWords lists what a night has left, and apart from it what came back on return, which was kept before: "4
// fragments and 1 hypothesis, and brought back 2 insights".
func keptWords(r DreamReport) string {
	kept := 0
	for _, f := range r.Fragments {
		if f.Status != dream.FragmentDiscarded {
			kept++
		}
	}
	scenarios := 0
	for _, s := range r.Scenarios {
		if s.Kept {
			scenarios++
		}
	}
	var parts []string
	for _, c := range []struct {
		n     int
		thing string
	}{
		{kept, "fragment"},
		{len(patternsOf(r.Predictions)), "pattern"},
		{scenarios, "scenario"},
		{len(r.Hypotheses), "hypothesis"},
		{len(r.Gists), "gist"},
	} {
		if c.n > 0 {
			parts = append(parts, count(c.n, c.thing))
		}
	}
	text := "nothing"
	switch len(parts) {
	case 0:
	case 1:
		text = parts[0]
	default:
		text = strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]
	}
	if n := len(r.Surfaced); n > 0 {
		text += ", and brought back " + count(n, "insight")
	}
	return text
}

// recallOf shows how many of the agent's own memories were found before and after the dream.
func recallOf(p *page, n dream.Record) {
	r := n.Recall
	if r == nil || r.Requested == 0 {
		return
	}
	p.heading("Recall")
	p.item("before  ", faint,
		fmt.Sprintf("%d of %d of the agent's own memories, asked for by some of their words, among the first answers",
			r.Before, r.Requested))
	after := fmt.Sprintf("%d; the dream lost %d and gained %d, and may lose %d more than it gains", r.After, r.Lost,
		r.Gained, r.Margin)
	if r.Behind > 0 {
		after += fmt.Sprintf("; %d came behind what it made, which counts as lost", r.Behind)
	}
	p.item("after   ", faint, after)
}

// moodOf shows the mood before and after, and the distance.
func moodOf(p *page, n dream.Record) {
	if n.Outcome == dream.Dreaming {
		return
	}
	p.heading("Mood")
	if n.Before == n.After {
		p.item("unmoved  ", faint, moodWords(n.After))
		return
	}
	p.item("before  ", faint, moodWords(n.Before))
	p.item("after   ", faint, fmt.Sprintf("%s; moved by %s", moodWords(n.After), score(n.Before.Distance(n.After))))
}

func moodWords(m mood.PAD) string {
	return fmt.Sprintf("pleasure %s, arousal %s, dominance %s", signed(m.Pleasure), signed(m.Arousal),
		signed(m.Dominance))
}

// signed formats a number with its sign; what rounds to zero has no minus.
func signed(v float64) string {
	return strings.Replace(fmt.Sprintf("%+.2f", v), "-0.00", "+0.00", 1)
}

// costs is the exact table of what each phase spent against its cap.
func costs(p *page, n dream.Record) {
	if len(n.Phases) == 0 {
		return
	}
	p.heading("Cost")
	spent, limits := []budget.Micros{}, []budget.Micros{}
	for _, t := range n.Phases {
		spent, limits = append(spent, t.Spent), append(limits, t.Cap)
	}
	spentText, limitText := exact(append(spent, n.Spent)), exact(append(limits, n.Budget))
	rows := [][]string{{"", "calls", "tokens in", "out", "cached", "spent", "cap"}}
	var calls, reused, failed int
	var in, out, hit int64
	for i, t := range n.Phases {
		rows = append(rows,
			[]string{
				phaseName(t.Phase) + stateMark(t), fmt.Sprint(t.Calls), fmt.Sprint(t.In), fmt.Sprint(t.Out),
				percent(t.Cached, t.In), spentText[i], limitText[i],
			})
		calls, reused, failed = calls+t.Calls, reused+t.Reused, failed+t.Failed
		in, out, hit = in+t.In, out+t.Out, hit+t.Cached
	}
	last := len(n.Phases)
	rows = append(rows,
		[]string{
			"together", fmt.Sprint(calls), fmt.Sprint(in), fmt.Sprint(out), percent(hit, in), spentText[last],
			limitText[last],
		})
	p.table(rows)
	var notes []string
	if !n.Paid && n.Spent == 0 {
		notes = append(notes, "Every model of this dream is free of charge.")
	}
	for _, t := range n.Phases {
		if reason := Clean(t.Reason); reason != "" && t.State == "ran" {
			notes = append(notes, fmt.Sprintf("%s made nothing: %s.", phaseName(t.Phase), reason))
		}
	}
	if reused > 0 {
		notes = append(notes, count(reused, "step")+" answered from what was already bought.")
	}
	if failed > 0 {
		notes = append(notes, count(failed, "call")+" failed.")
	}
	if n.Budget > 0 && n.Budget != budget.Unlimited && n.Spent > n.Budget {
		notes = append(notes, "The dream spent more than its cap. This must never happen; please report it.")
	}
	if len(notes) > 0 {
		p.text("  ", strings.Join(notes, " "), faint)
	}
}

// exact formats amounts to the micro-dollar, all with as many decimals as the longest needs.
func exact(amounts []budget.Micros) []string {
	texts, most := make([]string, len(amounts)), 0
	for i, m := range amounts {
		texts[i] = m.String()
		if _, decimals, ok := strings.Cut(texts[i], "."); ok {
			most = max(most, len(decimals))
		}
	}
	for i, text := range texts {
		if _, decimals, ok := strings.Cut(text, "."); ok {
			texts[i] += strings.Repeat("0", most-len(decimals))
		}
	}
	return texts
}

func stateMark(t dream.Tally) string {
	switch t.State {
	case skipped, exhausted, running, stopped, failed:
		return " (" + t.State + ")"
	}
	return ""
}

func percent(part, whole int64) string {
	if whole <= 0 || part <= 0 {
		return "-"
	}
	return fmt.Sprintf("%d%%", 100*min(part, whole)/whole)
}

func headlineInk(o dream.Outcome) ink {
	if colour := outcomeInk(o); colour != plain {
		return bold + ";" + colour
	}
	return bold
}
