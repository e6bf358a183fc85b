package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/journal"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
)

// Wakes are what a deployment has recorded about the wakes of its agents.
type Wakes struct {
	Entries map[string]*dream.Journal // of interrupted stretches, by id
	Waiting map[string]int            // snapshots that have not been judged, by dream
	Status  map[string]presence.Status
	Dreams  []Interrupted
	Total   int // stretches that were interrupted by a wake
}

// Interrupted is one dream and its recorded stretches.
type Interrupted struct {
	Dream
	Wakes   []event.DreamInterrupted // in order
	Resumed []event.DreamResumed
	Names   []string // event type names of both, in the order of the log
}

// Wakes reads the wakes of a deployment from store and evidence.
func (e *Evidence) Wakes(ctx context.Context, c *testdeploy.Deployment) (Wakes, error) {
	w := Wakes{Entries: map[string]*dream.Journal{}, Waiting: map[string]int{}, Status: map[string]presence.Status{}}
	for _, d := range e.Dreams {
		result, err := e.interruptions(d)
		if err != nil {
			return w, err
		}
		w.Dreams = append(w.Dreams, result)
		w.Total += len(result.Wakes)
		notes, err := c.Store.Notes(ctx, d.Record.Agent, d.Record.ID, memory.LateNote)
		if err != nil {
			return w, err
		}
		w.Waiting[d.Record.ID] = len(notes)
	}
	for agent := range e.Events {
		items, err := c.Store.Find(ctx, memory.Query{Agent: agent, Kinds: []dream.Kind{dream.KindJournal}})
		if err != nil {
			return w, err
		}
		for _, j := range memory.As[*dream.Journal](items) {
			if j.Interrupted {
				w.Entries[j.ID] = j
			}
		}
		w.Status[agent], err = c.Store.Status(ctx, agent, time.Now())
		if err != nil {
			return w, err
		}
	}
	return w, nil
}

func (e *Evidence) interruptions(d Dream) (Interrupted, error) {
	i := Interrupted{Dream: d}
	for _, one := range e.Events[d.Record.Agent] {
		if one.Dream != d.Record.ID {
			continue
		}
		switch one.Type {
		case event.DreamInterrupted{}.EventType():
			var result event.DreamInterrupted
			if err := json.Unmarshal(one.Data, &result); err != nil {
				return i, fmt.Errorf("read event %s: %w", one.ID, err)
			}
			i.Wakes, i.Names = append(i.Wakes, result), append(i.Names, one.Type)
		case event.DreamResumed{}.EventType():
			var result event.DreamResumed
			if err := json.Unmarshal(one.Data, &result); err != nil {
				return i, fmt.Errorf("read event %s: %w", one.ID, err)
			}
			i.Resumed, i.Names = append(i.Resumed, result), append(i.Names, one.Type)
		}
	}
	return i, nil
}

// Audit checks what was promised about wakes: stretches end and begin by turns, each wake has an epoch of its own and
// at most one journal entry, made of what was significant enough, and nothing is left to be judged.
func (w Wakes) Audit() error {
	var faults []error
	epochs, existing := map[string]map[int64]string{}, map[string]bool{}
	for _, d := range w.Dreams {
		if n := w.Waiting[d.Record.ID]; n > 0 {
			faults = append(faults, fmt.Errorf("%s: %d snapshots wait to be judged", d.Record.ID, n))
		}
		faults = append(faults, d.turns()...)
		for _, wake := range d.Wakes {
			if epochs[d.Record.Agent] == nil {
				epochs[d.Record.Agent] = map[int64]string{}
			}
			if other, used := epochs[d.Record.Agent][wake.Epoch]; used || wake.Epoch > w.Status[d.Record.Agent].Epoch {
				faults = append(faults,
					fmt.Errorf("%s: it was woken by epoch %d, which is also of %q, and the agent's newest is %d",
						d.Record.ID, wake.Epoch, other, w.Status[d.Record.Agent].Epoch))
			}
			epochs[d.Record.Agent][wake.Epoch] = d.Record.ID
			faults = append(faults, w.entry(d, wake)...)
			existing[wake.Journal] = true
		}
		// of a stretch that was cancelled
		existing[fmt.Sprintf("%s/wake/%d", d.Record.ID, max(1, d.Record.Stretches))] = true
	}
	for id := range w.Entries {
		if !existing[id] {
			faults = append(faults, fmt.Errorf("journal entry %s belongs to no wake that was announced", id))
		}
	}
	return errors.Join(faults...)
}

// turns checks that stretches follow one another, and that the record counts them.
func (d Interrupted) turns() []error {
	var faults []error
	for i, name := range d.Names {
		want := event.DreamInterrupted{}.EventType()
		if i%2 == 1 {
			want = event.DreamResumed{}.EventType()
		}
		if name != want {
			faults = append(faults, fmt.Errorf("%s: the events of its stretches are %v", d.Record.ID, d.Names))
			break
		}
	}
	for i, wake := range d.Wakes {
		if wake.Stretch != i+1 {
			faults = append(faults, fmt.Errorf("%s: wake %d was of stretch %d", d.Record.ID, i+1, wake.Stretch))
		}
	}
	for i, resumed := range d.Resumed {
		if resumed.Stretch != i+2 {
			faults = append(faults,
				fmt.Errorf("%s: resumption %d was of stretch %d", d.Record.ID, i+1, resumed.Stretch))
		}
	}
	if len(d.Wakes) > 0 && d.Record.Stretches != len(d.Resumed)+1 {
		faults = append(faults,
			fmt.Errorf("%s: its record counts %d stretches and its log %d", d.Record.ID, d.Record.Stretches,
				len(d.Resumed)+1))
	}
	return faults
}

// entry checks the journal entry of one wake.
func (w Wakes) entry(d Interrupted, wake event.DreamInterrupted) []error {
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("%s, wake %d: %s", d.Record.ID, wake.Stretch, fmt.Sprintf(format, args...)))
	}
	j := w.Entries[wake.Journal]
	switch significant := wake.Significance >= journal.Threshold; {
	case wake.Journal == "" && significant:
		fault("a significance of %.2f made no entry", wake.Significance)
	case wake.Journal == "":
	case j == nil:
		fault("entry %s is announced and does not exist", wake.Journal)
	case !significant:
		fault("a significance of %.2f made an entry", wake.Significance)
	case j.Significance != wake.Significance || j.Content == "" || j.Wake == nil || j.Dream != d.Record.ID ||
		len(j.Topics) > 3 || j.Taint != dream.FromDream:
		fault("its entry is %+v", j)
	}
	if wake.Cause == string(presence.Alarm) && wake.Delta != 0 {
		fault("an alarm moved the mood by %.3f", wake.Delta)
	}
	if wake.Partials == 0 && wake.Journal != "" {
		fault("nothing was said and %s tells of it", wake.Journal)
	}
	if wake.Receipt < 0 || wake.Stop < 0 || wake.Preserve < 0 || wake.Switch < 0 {
		fault("its phases lasted %v, %v, %v and %v ms", wake.Receipt, wake.Stop, wake.Preserve, wake.Switch)
	}
	return faults
}
