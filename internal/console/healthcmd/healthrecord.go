package healthcmd

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
)

// recorded compares what dreams reported with the store: by id, from their events, and by number, from their records.
func (e *examination) recorded(ctx context.Context, a dream.Agent, records []*dream.Record) (healthLine, error) {
	l := healthLine{Name: "record", State: Fine, Found: "no dream to compare with the store"}
	records, err := e.detailed(ctx, a, records)
	if err != nil || len(records) == 0 {
		return l, err
	}
	reported, absent, err := e.absent(ctx, a, records)
	if err != nil {
		return l, err
	}
	l.Found = fmt.Sprintf("everything that %s reported is in the store: %s",
		cli.Count(len(records), "dream"), cli.Count(reported, "thing"))
	if len(absent) == 0 {
		return l, nil
	}
	l.Found = strings.Join(absent, "; ")
	untouched, err := e.outsideLosses(ctx, a, records)
	if err != nil {
		return l, err
	}
	if len(untouched) < len(records) {
		_, absent, err = e.absent(ctx, a, untouched)
		if err != nil || len(absent) == 0 {
			l.State, l.Advice = Look, "The store lost writes of the time of these dreams; the line losses says which."
			return l, err
		}
	}
	forgotten, err := e.app.Store.Forgettings(ctx, a.ID)
	if forgotten > 0 {
		l.State = Look
		l.Advice = fmt.Sprintf(
			"Memories of %s were forgotten %s since, and with them what dreams had made of them, where that was requested.",
			a.Handle, cli.Count(int(forgotten), "time"))
		return l, err
	}
	l.State, l.Advice = Wrong,
		"Nothing was ever forgotten here, so this must not happen; restore the store from a copy, and please report it."
	return l, err
}

// absent says what dreams reported that is not in the store, and counts what they reported by name.
func (e *examination) absent(
	ctx context.Context, a dream.Agent, records []*dream.Record,
) (reported int, absent []string, err error) {
	if len(records) == 0 {
		return 0, nil, nil
	}
	lines, err := e.text(ctx, a, records)
	if err != nil {
		return 0, nil, err
	}
	missing, err := e.missing(ctx, a, lines)
	if err != nil {
		return 0, nil, err
	}
	if len(missing) > 0 {
		absent = append(absent, fmt.Sprintf("%d of the %d things that dreams reported are not in the store: %s",
			len(missing), len(lines), firstIDs(missing)))
	}
	short, err := e.short(ctx, a, records)
	return len(lines), append(absent, short...), err
}

// outsideLosses returns those of the records whose dreams ran in no time of which the store has lost writes. Of losses
// before an archive was put back only the agent's log tells.
func (e *examination) outsideLosses(
	ctx context.Context, a dream.Agent, records []*dream.Record,
) ([]*dream.Record, error) {
	if e.app.Sweeper == nil {
		return records, nil
	}
	state, err := e.app.Sweeper.Store.Swept(ctx)
	if err != nil {
		return nil, err
	}
	losses := slices.Clone(state.Continuity.Losses)
	first := records[len(records)-1].At
	err = view.Backwards(ctx, e.app.Events, a.ID, func(v event.Event) (bool, error) {
		if v.Type != (event.WritesLost{}).EventType() {
			return !v.At.Before(first), nil
		}
		var lost event.WritesLost
		fault := json.Unmarshal(v.Data, &lost)
		losses = append(losses, memory.Loss{Since: lost.Since, Last: lost.Last, Noticed: lost.Noticed})
		return true, fault
	})
	return slices.DeleteFunc(slices.Clone(records), func(r *dream.Record) bool {
		return slices.ContainsFunc(losses, func(l memory.Loss) bool { return l.Meets(r.At, r.Ended) })
	}), err
}

// detailed returns those of the records, newest first, whose dreams still have everything that they left.
func (e *examination) detailed(ctx context.Context, a dream.Agent, records []*dream.Record) ([]*dream.Record, error) {
	if e.app.Sweeper == nil {
		return records, nil
	}
	aged, err := e.app.Sweeper.Store.Aged(ctx, a.ID)
	return slices.DeleteFunc(slices.Clone(records), func(r *dream.Record) bool { return r.At.Before(aged.Details) }), err
}

func firstIDs(ids []string) string {
	const most = 3
	if len(ids) <= most {
		return strings.Join(ids, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(ids[:most], ", "), len(ids)-most)
}

// namingEvents are the event types that name an item, with the field that holds its id.
var namingEvents = map[string]string{
	event.FragmentCaptured{}.EventType(): "fragment_id", event.FragmentDiscarded{}.EventType(): "fragment_id",
	event.PatternFound{}.EventType():  "prediction_id",
	event.GistExtracted{}.EventType(): "gist_id", event.ScenarioImagined{}.EventType(): "scenario_id",
	event.HypothesisStaged{}.EventType(): "hypothesis_id",
	event.ItemArchived{}.EventType():     "item_id",
	event.ReviewRequested{}.EventType():  "item_id", event.DreamInterrupted{}.EventType(): "journal",
}

// text returns the ids that dreams have reported in their events and records.
func (e *examination) text(ctx context.Context, a dream.Agent, records []*dream.Record) ([]string, error) {
	first := records[len(records)-1].At
	mine, seen := map[string]bool{}, map[string]bool{}
	var ids []string
	add := func(id string) {
		if id != "" && !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	for _, n := range records {
		mine[n.ID] = true
		for _, id := range n.Insights {
			add(id)
		}
	}
	err := view.Backwards(ctx, e.app.Events, a.ID, func(v event.Event) (bool, error) {
		if field := namingEvents[v.Type]; field != "" && mine[v.Dream] {
			var data map[string]any
			if json.Unmarshal(v.Data, &data) == nil {
				id, _ := data[field].(string)
				add(id)
			}
		}
		return !v.At.Before(first.Add(-view.OverdueBy)), nil
	})
	return ids, err
}

// missing returns those that the store lacks.
func (e *examination) missing(ctx context.Context, a dream.Agent, ids []string) ([]string, error) {
	var removed []string
	for page := range slices.Chunk(ids, 500) {
		items, err := e.app.Store.Get(ctx, a.ID, page...)
		if err != nil {
			return nil, err
		}
		there := map[string]bool{}
		for _, item := range items {
			there[item.Header().ID] = true
		}
		for _, id := range page {
			if !there[id] {
				removed = append(removed, id)
			}
		}
	}
	return removed, nil
}

// short returns the dreams whose record counts more kept items than the store has. Gists are not counted: their ids
// derive from their sources, and they belong to the first dream that used them.
func (e *examination) short(ctx context.Context, a dream.Agent, records []*dream.Record) ([]string, error) {
	counted := map[dream.Phase]dream.Kind{
		dream.Onset: dream.KindFragment, dream.REM: dream.KindScenario,
		dream.Integration: dream.KindHypothesis,
	}
	var short []string
	for _, n := range records {
		for _, t := range n.Phases {
			kind, ok := counted[t.Phase]
			if !ok || t.Kept == 0 {
				continue
			}
			there, err := e.app.Store.Count(ctx,
				memory.Query{Agent: a.ID, Dream: n.ID, Kinds: []dream.Kind{kind}, States: dream.States})
			if err != nil {
				return nil, err
			}
			if there < t.Kept {
				short = append(short,
					fmt.Sprintf("%s says that its %s kept %d, and the store has %d", n.ID, t.Phase, t.Kept, there))
			}
		}
	}
	return short, nil
}

// spent compares the money that dreams reported with the ledger.
func (e *examination) spent(ctx context.Context, a dream.Agent, records []*dream.Record) (healthLine, error) {
	l := healthLine{Name: "money", State: Fine, Found: "no dream to compare with the ledger"}
	var reported budget.Micros
	var differ []string
	over := 0
	for _, n := range records {
		if n.Unsettled() {
			continue
		}
		rows, err := e.app.Ledger.Rows(ctx, spend.Query{Dream: n.ID})
		if err != nil {
			return l, fmt.Errorf("read the ledger of %s: %w", n.ID, err)
		}
		var booked budget.Micros
		for _, r := range rows {
			booked += r.Counted
		}
		over++
		reported += n.Spent
		if booked != n.Spent {
			differ = append(differ, fmt.Sprintf("%s reports %s and the ledger has %s", n.ID, n.Spent, booked))
		}
	}
	if over > 0 {
		l.Found = fmt.Sprintf("%s reported by %s, as the ledger has it", reported,
			cli.Count(over, "dream"))
	}
	if len(differ) > 0 {
		l.is(Wrong, firstIDs(differ), "The ledger counts; oneiros spend shows it. Please report this.")
	}
	return l, nil
}
