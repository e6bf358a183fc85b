package dreamrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/probe"
	"github.com/seed-56a03226/oneiros/internal/recall"
)

// Notes of the probe: its questions and results at the beginning of a dream, and the decision at its end. The
// decision is written before a dream is undone, so that a repeated end does not decide again.
const (
	probeNote   = "probe/asked"
	verdictNote = "probe/verdict"
)

// probed is the note of the probe at the beginning of a dream.
type probed struct {
	Questions []probe.Question `json:"questions"`
	Found     []bool           `json:"found"`
	// rank of the expected answer, from 1; 0: not found; missing in notes of older versions
	Places []int `json:"places,omitempty"`
	Alone  []int `json:"alone,omitempty"` // the same for the text's own word alone; 0: it has none
}

// prober asks the questions of a probe; it reads each item once.
type prober struct{ *core.Run }

func newProber(r *core.Run) prober {
	once := *r
	once.Memory = &readOnce{DreamStore: r.Memory}
	return prober{&once}
}

// before questions an agent's memory when the dream begins, and keeps the results.
func (p prober) before(ctx context.Context) error {
	ctx = memory.SteadySearches(ctx)
	if p.Spec.Knobs.Probe <= 0 {
		return nil
	}
	_, err := p.Note(ctx, probeNote)
	if !errors.Is(err, memory.ErrNotFound) {
		return err
	}
	docs, own, err := core.Recallable(ctx, p.Memory, p.Agent)
	if err != nil {
		return err
	}
	note := probed{Questions: probe.Ask(docs, probe.Sample(own, p.Spec.Knobs.Probe, p.Spec.Seed), p.Spec.Seed)}
	for _, q := range note.Questions {
		found, err := p.answer(ctx, q)
		if err != nil {
			return err
		}
		place := slices.Index(found, q.ID) + 1
		note.Found, note.Places = append(note.Found, place > 0), append(note.Places, place)
		found, err = p.alone(ctx, q)
		if err != nil {
			return err
		}
		note.Alone = append(note.Alone, slices.Index(found, q.ID)+1)
	}
	body, err := json.Marshal(note)
	if err != nil {
		return fmt.Errorf("note the probe of %s: %w", p.Dream, err)
	}
	_, err = p.PutNote(ctx, probeNote, body)
	return err
}

// readOnce is a store for one probe: its questions find the same items again and again, and each is read once. One
// goroutine uses it.
type readOnce struct {
	memory.DreamStore
	items map[string]dream.Item // by id; nil: there is none
}

// Find implements memory.DreamStore and remembers the items.
func (r *readOnce) Find(ctx context.Context, q memory.Query) ([]dream.Item, error) {
	items, err := r.DreamStore.Find(ctx, q)
	r.remember(items)
	return items, err
}

func (r *readOnce) remember(items []dream.Item) {
	if r.items == nil {
		r.items = map[string]dream.Item{}
	}
	for _, item := range items {
		r.items[item.Header().ID] = item
	}
}

// Get implements memory.DreamStore for the items of one agent.
func (r *readOnce) Get(ctx context.Context, agent string, ids ...string) ([]dream.Item, error) {
	var unread []string
	for _, id := range ids {
		if _, ok := r.items[id]; !ok {
			unread = append(unread, id)
		}
	}
	if len(unread) > 0 {
		items, err := r.DreamStore.Get(ctx, agent, unread...)
		if err != nil {
			return nil, err
		}
		r.remember(items)
		for _, id := range unread {
			if _, ok := r.items[id]; !ok {
				r.items[id] = nil
			}
		}
	}
	var out []dream.Item
	for _, id := range ids {
		if item := r.items[id]; item != nil {
			out = append(out, item)
		}
	}
	return out, nil
}

// answer searches by words alone, because embedding the question could cost a call.
func (p prober) answer(ctx context.Context, q probe.Question) ([]string, error) {
	a, err := recall.Find(ctx, p.Memory, recall.Question{
		Agent:  p.Agent,
		Text:   strings.Join(q.Words, " "),
		Limit:  probe.First,
		Filter: memory.Filter{Kinds: recall.Kinds, Dreamt: memory.NoneDreamt},
	})
	if err != nil {
		return nil, fmt.Errorf("ask recall for the probe: %w", err)
	}
	ids := make([]string, len(a.Memories))
	for i, m := range a.Memories {
		ids[i] = m.Item.Header().ID
	}
	return ids, nil
}

// alone searches for a text by its own word; empty where it has none.
func (p prober) alone(ctx context.Context, q probe.Question) ([]string, error) {
	if q.Own == "" {
		return nil, nil
	}
	return p.answer(ctx, probe.Question{ID: q.ID, Words: []string{q.Own}})
}

// after repeats the probe when the dream ends; nil when there was none at the beginning.
func (p prober) after(ctx context.Context) (*probe.Verdict, error) {
	ctx = memory.SteadySearches(ctx)
	body, err := p.Note(ctx, verdictNote)
	if err == nil {
		v := new(probe.Verdict)
		return v, json.Unmarshal(body, v)
	}
	if !errors.Is(err, memory.ErrNotFound) {
		return nil, err
	}
	body, err = p.Note(ctx, probeNote)
	if errors.Is(err, memory.ErrNotFound) {
		return nil, nil
	}
	var note probed
	if err == nil {
		err = json.Unmarshal(body, &note)
	}
	if err != nil {
		return nil, fmt.Errorf("read the probe of %s: %w", p.Dream, err)
	}
	fresh, err := p.freshlyMade(ctx)
	if err != nil {
		return nil, err
	}
	var results []probe.Result
	for i, q := range note.Questions {
		found, err := p.answer(ctx, q)
		if err != nil {
			return nil, err
		}
		r, exists, err := p.compared(ctx, q.ID, placeIn(note.Places, i), found, fresh)
		if err != nil {
			return nil, err
		}
		found, err = p.alone(ctx, q)
		if err != nil {
			return nil, err
		}
		r.Behind = r.Behind || behind(placeIn(note.Alone, i), q.ID, found, fresh)
		r.Before = note.Found[i]
		if exists {
			results = append(results, r)
		}
	}
	v := probe.Judge(results)
	return &v, nil
}

// freshlyMade are the ids of items made by the dream that recall may find.
func (p prober) freshlyMade(ctx context.Context) (map[string]bool, error) {
	items, err := p.Memory.Find(ctx, memory.Query{Agent: p.Agent, Dream: p.Dream, Kinds: recall.Kinds})
	if err != nil {
		return nil, fmt.Errorf("read what %s has made: %w", p.Dream, err)
	}
	fresh := map[string]bool{}
	for _, item := range items {
		fresh[item.Header().ID] = true
	}
	return fresh, nil
}

// placeIn is the rank in a note; 0 in notes of older versions.
func placeIn(places []int, i int) int {
	if i < len(places) {
		return places[i]
	}
	return 0
}

// behind says whether a text that had the rank before is now lower or missing, and a new item ranks above it.
func behind(before int, id string, found []string, fresh map[string]bool) bool {
	at := slices.Index(found, id)
	if at < 0 {
		at = len(found)
	}
	return before > 0 && at >= before &&
		slices.ContainsFunc(found[:at], func(other string) bool { return fresh[other] })
}

// compared is what became of the text behind a question, which had the rank before. exists is false when it was
// removed.
func (p prober) compared(ctx context.Context, id string, before int, found []string,
	fresh map[string]bool,
) (r probe.Result, exists bool, err error) {
	at := id
	for range 5 { // follow what replaced it, and what replaced that
		items, err := p.Get(ctx, at)
		if err != nil {
			return r, false, err
		}
		if len(items) == 0 {
			break
		}
		exists = true
		h := items[0].Header()
		if h.State == dream.Live && slices.Contains(found, at) {
			r.After = true
			r.Behind = behind(before, at, found, fresh)
		}
		at = h.NewerID
		if at == "" || h.State == dream.Live {
			break
		}
	}
	if r.After || !exists {
		return r, exists, nil
	}
	revisions, err := p.Memory.Revisions(ctx, p.Agent, id)
	if err != nil {
		return r, exists, err
	}
	r.Caused = revisions[len(revisions)-1].Cause == p.Dream
	r.Caused = r.Caused || slices.ContainsFunc(found, func(other string) bool { return fresh[other] })
	return r, exists, nil
}

// undoIfWorse repeats the probe and undoes the dream if it has made recall worse. It returns the ending and the
// events to announce; what was spent stays spent. A repetition does not decide again.
func undoIfWorse(ctx context.Context, run *core.Run, record *dream.Record,
	e activities.Ending,
) (*dream.Record, activities.Ending, []event.Event, error) {
	v, err := newProber(run).after(ctx)
	if err != nil || v == nil {
		return record, e, nil, err
	}
	recall := &dream.Recall{
		Requested: v.Requested,
		Before:    v.Before,
		After:     v.After,
		Lost:      v.Lost,
		Gained:    v.Gained,
		Margin:    v.Margin,
		Behind:    v.Behind,
	}
	record.Recall = recall
	if !v.Worse() {
		return record, e, nil, nil
	}
	body, err := json.Marshal(v)
	if err != nil {
		return record, e, nil, fmt.Errorf("note why %s is undone: %w", run.Dream, err)
	}
	if _, err := run.PutNote(ctx, verdictNote, body); err != nil &&
		!errors.Is(err, memory.ErrFenced) && !errors.Is(err, memory.ErrWoken) {
		return record, e, nil, err
	}
	undone, err := run.Memory.Undo(ctx, run.Agent, run.Dream)
	if err != nil {
		return record, e, nil, err
	}
	record, err = run.Record(ctx)
	if err != nil {
		return record, e, nil, err
	}
	record.Recall, record.After, record.AfterAt = recall, record.Before, record.BeforeAt
	e.Outcome, e.Kept = dream.Undone, 0
	e.Reason = fmt.Sprintf(
		"it made recall worse: of %d of the agent's own memories, %d were found before and %d after it; %d were lost by it, %d came behind what it made, "+
			"%d gained, and %d may be lost", v.Requested, v.Before, v.After, v.Lost, v.Behind, v.Gained, v.Margin)
	result := event.DreamUndone{
		Requested: v.Requested,
		Before:    v.Before,
		After:     v.After,
		Lost:      v.Lost,
		Gained:    v.Gained,
		Margin:    v.Margin,
		Behind:    v.Behind,
		Archived:  undone.Archived,
		Restored:  undone.Restored,
		Kept:      len(undone.Kept),
	}
	return record, e, []event.Event{run.Event("end/"+run.Run, result)}, nil
}
