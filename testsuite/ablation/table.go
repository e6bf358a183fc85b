package ablation

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Table is a comparison at equal money.
type Table struct {
	Title string
	Money budget.Micros // of each arm
	Rows  []Row
}

// Tables are the comparisons that a record allows: fragments for the same cost of onsets, and scenarios of REM for
// the same cost of whole nights, with and without an onset.
func Tables(r Record) []Table {
	var onset, whole []string
	nights := map[string][]Night{}
	for _, a := range Arms {
		nights[a.Name] = r.Of(a.Name)
		if a.Onset {
			onset = append(onset, a.Name)
		}
		if a.Whole {
			whole = append(whole, a.Name)
		}
	}
	return []Table{
		table("Fragments of the onset", nights, onset, dream.Onset, dream.Onset),
		table("Scenarios of REM", nights, whole, dream.REM),
	}
}

func table(title string, nights map[string][]Night, arms []string, of dream.Phase, phases ...dream.Phase) Table {
	t := Table{Title: title, Money: Least(nights, arms, phases...)}
	for _, arm := range arms {
		t.Rows = append(t.Rows, Measure(arm, Cut(nights[arm], t.Money, of, phases...)))
	}
	return t
}

type column struct {
	name string
	of   func(Row) Figure
	form string
}

// The columns: how much an arm's money buys, and of what quality.
var (
	bought = []column{
		{"distinct a cent", func(r Row) Figure { return r.PerCent }, "%.1f"},
		{"kept", func(r Row) Figure { return r.Kept }, "%.2f"},
		{"distinct kept a cent", func(r Row) Figure { return r.UsePer }, "%.1f"},
	}
	like = []column{
		{"apart", func(r Row) Figure { return r.Apart }, "%.2f"},
		{"from memory", func(r Row) Figure { return r.Memory }, "%.2f"},
		{"recited", func(r Row) Figure { return r.Recited }, "%.2f"},
		{"surface", func(r Row) Figure { return r.Surface }, "%.2f"},
		{"log-prob", func(r Row) Figure { return r.LogProb }, "%.2f"},
		{"observer's coherence", func(r Row) Figure { return r.Observer }, "%.2f"},
	}
)

// Markdown writes a table in two parts, each figure with its interval. A column without figures is left out.
func (t Table) Markdown() string {
	return t.part([]string{"nights", "ideas"}, bought,
		func(r Row) string { return fmt.Sprintf(" %.1f | %d |", r.Nights, r.Ideas) }) + "\n" +
		t.part(nil, like, func(Row) string { return "" })
}

func (t Table) part(counts []string, columns []column, count func(Row) string) string {
	var shown []column
	head := append([]string{"arm"}, counts...)
	for _, c := range columns {
		if slices.ContainsFunc(t.Rows,
			func(r Row) bool { f := c.of(r); return !math.IsNaN(f.Value) && f != (Figure{}) }) {
			shown, head = append(shown, c), append(head, c.name)
		}
	}
	var b strings.Builder
	b.WriteString("| " + strings.Join(head, " | ") + " |\n|" + strings.Repeat("---|", len(head)) + "\n")
	for _, r := range t.Rows {
		b.WriteString("| " + r.Arm + " |" + count(r))
		for _, c := range shown {
			b.WriteString(" " + c.of(r).write(c.form) + " |")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// write formats a figure as "12.3 (9.8-14.1)", without the zero before a decimal point.
func (f Figure) write(form string) string {
	if math.IsNaN(f.Value) {
		return "-"
	}
	number := func(v float64) string {
		s := fmt.Sprintf(form, v)
		if rest, ok := strings.CutPrefix(s, "0."); ok {
			return "." + rest
		}
		return strings.Replace(s, "-0.", "-.", 1)
	}
	return fmt.Sprintf("%s (%s to %s)", number(f.Value), number(f.Low), number(f.High))
}

// Report is a record with its tables, for docs/measurements.
func Report(r Record) string {
	var b strings.Builder
	h := r.Head
	fmt.Fprintf(&b, "# made %s with %s; embedder %s; $%.2f in, $%.2f out a million tokens; life of %s\n", h.Day,
		h.Model, h.Embedder,
		float64(h.In)/1e6, float64(h.Out)/1e6, h.AgentState)
	fmt.Fprintf(
		&b,
		"# %d cycles of %d partials of %d tokens; heat %.2f in the induction, %.2f at the peak; min-p %.2f; %d scenarios a night; %d characters of memory shown\n",
		h.Cycles,
		h.Partials,
		h.Tokens,
		h.Temperature[0],
		h.Temperature[1],
		h.MinP,
		h.Scenarios,
		h.Characters,
	)
	for _, t := range Tables(r) {
		fmt.Fprintf(&b, "\n%s, $%.6f an arm\n\n%s", t.Title, float64(t.Money)/1e6, t.Markdown())
	}
	b.WriteString(
		"\nEvery night: arm, seed, outcome, calls, tokens in and out, spent in onset / in all, seconds, ideas, silent\n\n",
	)
	for _, n := range r.Nights {
		fmt.Fprintf(&b, "%-12s %2d  %-9s  %2d calls  %6d in  %5d out  $%.6f / $%.6f  %4d s  %2d ideas  %d silent\n",
			n.Arm, n.Seed, n.Outcome, n.Calls, n.In, n.Out,
			float64(n.Money(dream.Onset))/1e6, float64(n.Money())/1e6, n.Seconds, len(n.Ideas), n.Silent)
	}
	return b.String()
}
