package chaos

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
)

// Figures sum up a run for people.
type Figures struct {
	Seed      uint64
	Dreams    int
	Outcomes  map[dream.Outcome]int
	Caps      map[string]int // dreams that ended on a cap, by the kind of cap
	Capped    int
	Kills     int
	Calls     int
	Faults    map[provider.Fault]int
	States    map[spend.State]int
	Billed    budget.Micros
	Ledger    budget.Micros
	Whole     int // calls served whole and billed truthfully
	Equal     int // of those, settled ones that count for exactly what they cost
	Samples   int // comparisons of provider and ledger during the run
	Fair      budget.Micros
	Ways      map[dream.Loosening]int   // dreams, by how their generator was loosened
	Judged    map[string]int            // dreams, by how their observer was called
	HookCalls map[activities.Border]int // requests to the hook
	Vetoed    int                       // onsets
	Barred    map[string]int            // fragments, by what holds them
	Imagined  map[dream.Operation]int   // scenarios, by how REM made them
	Judge     JudgeFigures
	Wall      time.Duration
}

func (p *execution) figures(e Evidence) Figures {
	f := Figures{
		Seed:      p.run.Seed,
		Outcomes:  map[dream.Outcome]int{},
		Caps:      map[string]int{},
		Kills:     p.crew.Killed(),
		Calls:     len(e.Book.Calls),
		Faults:    map[provider.Fault]int{},
		States:    map[spend.State]int{},
		Billed:    e.Book.Total,
		Samples:   p.samples,
		Fair:      p.fair,
		Ways:      map[dream.Loosening]int{},
		Judged:    map[string]int{},
		HookCalls: p.guard.Calls(),
		Barred:    map[string]int{},
		Imagined:  map[dream.Operation]int{},
	}
	f.Judge = e.judgeFigures()
	for _, fragment := range e.Fragments {
		if flag, barred := fragment.Barred(); barred {
			by, _, _ := strings.Cut(flag.By, "/")
			f.Barred[by]++
		}
	}
	for _, s := range e.Scenarios {
		f.Imagined[s.Operation]++
	}
	for _, d := range e.Dreams {
		if HandleIs(d.Record.ID, measured) {
			continue
		}
		f.Dreams++
		f.Outcomes[d.Record.Outcome]++
		f.look(e, d)
		if d.Record.Outcome == dream.Exhausted {
			f.Capped++
			f.Caps[capOf(d.Record.Reason)]++
		}
	}
	for _, call := range e.Book.Calls {
		if call.Fault != provider.None {
			f.Faults[call.Fault]++
		}
		if whole(call) {
			f.Whole++
		}
	}
	for _, pair := range e.Truthful() {
		if pair.Row.Counted == pair.Call.Cost {
			f.Equal++
		}
	}
	for _, row := range e.Rows {
		f.States[row.State]++
		f.Ledger += row.Counted
	}
	return f
}

// look adds how a dream was dreamt.
func (f *Figures) look(e Evidence, d Dream) {
	if !d.Begun {
		return
	}
	f.Ways[d.Spec.Loosening[dream.Generator]]++
	if d.Spec.Observer != nil {
		f.Judged[d.Spec.Observer.Way]++
	}
	for _, skipped := range e.events(d, event.OnsetSkipped{}.EventType()) {
		if strings.Contains(string(skipped.Data), hypnagogia.SkipVeto) {
			f.Vetoed++
		}
	}
}

// HandleIs says whether a dream is one of the agent's.
func HandleIs(dreamID, handle string) bool { return strings.HasPrefix(dreamID, "dream/"+handle+"/") }

// capOf is the kind of cap that a reason names: "cap phase:dream/…" is "phase".
func capOf(reason string) string {
	_, after, _ := strings.Cut(reason, "cap ")
	sort, _, found := strings.Cut(after, ":")
	if !found {
		return "other"
	}
	return sort
}

// String is the report of a run.
func (f Figures) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %d dreams, %d kills, %d calls, %s\n", f.Seed, f.Dreams, f.Kills, f.Calls,
		f.Wall.Round(time.Second))
	fmt.Fprintf(&b, "outcomes: %s; on a cap: %d (%.0f %%): %s\n", list(f.Outcomes), f.Capped, f.Share()*100,
		list(f.Caps))
	fmt.Fprintf(
		&b,
		"loosened: %s; judged: %s; hook called: %s, %d onsets vetoed; fragments barred: %s; scenarios: %s\n",
		list(f.Ways),
		list(f.Judged),
		list(f.HookCalls),
		f.Vetoed,
		list(f.Barred),
		list(f.Imagined),
	)
	fmt.Fprintf(&b, "predictions: %s\n", f.Judge)
	fmt.Fprintf(&b, "faults met: %s\n", list(f.Faults))
	fmt.Fprintf(&b, "attempts: %s\n", list(f.States))
	fmt.Fprintf(
		&b,
		"provider %s, ledger %s, compared %d times during the run; a night without faults costs %s\n",
		f.Billed,
		f.Ledger,
		f.Samples,
		f.Fair,
	)
	fmt.Fprintf(
		&b,
		"of %d calls served whole and billed truthfully %d are settled at exactly what they cost; the others were halted or their bill never came",
		f.Whole,
		f.Equal,
	)
	return b.String()
}

// Share of the dreams that ended on a cap, in [0, 1].
func (f Figures) Share() float64 { return float64(f.Capped) / float64(max(1, f.Dreams)) }

func list[K ~string](counts map[K]int) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", k, counts[k]))
	}
	return strings.Join(parts, ", ")
}
