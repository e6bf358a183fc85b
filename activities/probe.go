package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/forgetting"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/probe"
	"github.com/seed-56a03226/oneiros/internal/recall"
)

// Notes of the probe: its questions and results at the beginning of a dream, and the decision at its end. The
// decision is written before a dream is undone, so that a repeated end does not decide again.
const (
	probeNote   = "probe/asked"
	verdictNote = "probe/verdict"
)

// mostProbed is how many of the newest memories questions are made of. With 10,000 memories the probe takes 0.7 s of
// one core before a dream and 0.15 s after it.
const mostProbed = 20_000

// probed is the note of the probe at the beginning of a dream.
type probed struct {
	Questions []probe.Question `json:"questions"`
	Found     []bool           `json:"found"`
	// rank of the expected answer, from 1; 0: not found; missing in notes of older versions
	Places []int `json:"places,omitempty"`
	Alone  []int `json:"alone,omitempty"` // the same for the text's own word alone; 0: it has none
}

// before questions an agent's memory when the dream begins, and keeps the results.
func (p Ports) before(ctx context.Context, spec Spec, s Stretch) error {
	if spec.Knobs.Probe <= 0 {
		return nil
	}
	_, err := p.Memory.Note(ctx, s.Agent, s.Dream, probeNote)
	if !errors.Is(err, memory.ErrNotFound) {
		return err
	}
	docs, own, err := p.recallable(ctx, s.Agent)
	if err != nil {
		return err
	}
	note := probed{Questions: probe.Ask(docs, probe.Sample(own, spec.Knobs.Probe, spec.Seed), spec.Seed)}
	for _, q := range note.Questions {
		found, err := p.answer(ctx, s.Agent, q)
		if err != nil {
			return err
		}
		place := slices.Index(found, q.ID) + 1
		note.Found, note.Places = append(note.Found, place > 0), append(note.Places, place)
		found, err = p.alone(ctx, s.Agent, q)
		if err != nil {
			return err
		}
		note.Alone = append(note.Alone, slices.Index(found, q.ID)+1)
	}
	body, err := json.Marshal(note)
	if err != nil {
		return fmt.Errorf("note the probe of %s: %w", s.Dream, err)
	}
	_, err = p.Memory.PutNote(ctx, s.Agent, s.fence(), probeNote, body)
	return err
}

// answer searches by words alone, because embedding the question could cost a call.
func (p Ports) answer(ctx context.Context, agent string, q probe.Question) ([]string, error) {
	a, err := recall.Find(ctx, p.Memory, recall.Question{
		Agent:  agent,
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
func (p Ports) alone(ctx context.Context, agent string, q probe.Question) ([]string, error) {
	if q.Own == "" {
		return nil, nil
	}
	return p.answer(ctx, agent, probe.Question{ID: q.ID, Words: []string{q.Own}})
}

// recallable are the texts that recall may find, and the ids of those that people and agents said.
func (p Ports) recallable(ctx context.Context, agent string) ([]probe.Doc, []string, error) {
	items, err := p.Memory.Find(ctx, memory.Query{Agent: agent, Kinds: recall.Kinds, Limit: mostProbed})
	if err != nil {
		return nil, nil, fmt.Errorf("read what recall may find: %w", err)
	}
	var docs []probe.Doc
	var own []string
	for _, item := range items {
		h := item.Header()
		if h.Dreamt() {
			continue
		}
		docs = append(docs, probe.Doc{ID: h.ID, Text: item.Text()})
		if forgetting.Protected(h.Taint) {
			own = append(own, h.ID)
		}
	}
	return docs, own, nil
}

// after repeats the probe when the dream ends; nil when there was none at the beginning.
func (p Ports) after(ctx context.Context, s Stretch) (*probe.Verdict, error) {
	body, err := p.Memory.Note(ctx, s.Agent, s.Dream, verdictNote)
	if err == nil {
		v := new(probe.Verdict)
		return v, json.Unmarshal(body, v)
	}
	if !errors.Is(err, memory.ErrNotFound) {
		return nil, err
	}
	body, err = p.Memory.Note(ctx, s.Agent, s.Dream, probeNote)
	if errors.Is(err, memory.ErrNotFound) {
		return nil, nil
	}
	var note probed
	if err == nil {
		err = json.Unmarshal(body, &note)
	}
	if err != nil {
		return nil, fmt.Errorf("read the probe of %s: %w", s.Dream, err)
	}
	fresh, err := p.freshlyMade(ctx, s)
	if err != nil {
		return nil, err
	}
	var results []probe.Result
	for i, q := range note.Questions {
		found, err := p.answer(ctx, s.Agent, q)
		if err != nil {
			return nil, err
		}
		r, exists, err := p.compared(ctx, s, q.ID, placeIn(note.Places, i), found, fresh)
		if err != nil {
			return nil, err
		}
		found, err = p.alone(ctx, s.Agent, q)
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
func (p Ports) freshlyMade(ctx context.Context, s Stretch) (map[string]bool, error) {
	items, err := p.Memory.Find(ctx, memory.Query{Agent: s.Agent, Dream: s.Dream, Kinds: recall.Kinds})
	if err != nil {
		return nil, fmt.Errorf("read what %s has made: %w", s.Dream, err)
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
func (p Ports) compared(
	ctx context.Context, s Stretch, id string, before int, found []string, fresh map[string]bool,
) (r probe.Result, exists bool, err error) {
	at := id
	for range 5 { // follow what replaced it, and what replaced that
		items, err := p.Memory.Get(ctx, s.Agent, at)
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
	revisions, err := p.Memory.Revisions(ctx, s.Agent, id)
	if err != nil {
		return r, exists, err
	}
	r.Caused = revisions[len(revisions)-1].Cause == s.Dream
	r.Caused = r.Caused || slices.ContainsFunc(found, func(other string) bool { return fresh[other] })
	return r, exists, nil
}

// undoIfWorse repeats the probe and undoes the dream if it has made recall worse. It returns the ending and the
// events to announce; what was spent stays spent. A repetition does not decide again.
func (b *DreamRun) undoIfWorse(ctx context.Context, s Stretch, record *dream.Record,
	e Ending,
) (*dream.Record, Ending, []event.Event, error) {
	v, err := b.after(ctx, s)
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
		return record, e, nil, fmt.Errorf("note why %s is undone: %w", s.Dream, err)
	}
	if _, err := b.Memory.PutNote(ctx, s.Agent, s.fence(), verdictNote, body); err != nil &&
		!errors.Is(err, memory.ErrFenced) {
		return record, e, nil, err
	}
	undone, err := b.Memory.Undo(ctx, s.Agent, s.Dream)
	if err != nil {
		return record, e, nil, err
	}
	record, err = memory.One[*dream.Record](ctx, b.Memory, s.Agent, s.Dream)
	if err != nil {
		return record, e, nil, err
	}
	record.Recall, record.After, record.AfterAt = recall, record.Before, record.BeforeAt
	e.Outcome, e.Kept = dream.Undone, 0
	e.Reason = fmt.Sprintf(
		"it made recall worse: of %d of the agent's own memories, %d were found before and %d after it; %d were lost by it, %d came behind what it made, "+
			"%d gained, and %d may be lost", v.Requested, v.Before, v.After, v.Lost, v.Behind, v.Gained, v.Margin)
	result := event.NightUndone{
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
	return record, e, []event.Event{b.event(s, "end/"+s.Run, result)}, nil
}
