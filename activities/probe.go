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

// Notes of the probe: what was asked when the night began and what was found, and what was decided when it ended. The second
// is written before a night is undone, so that an end that is done twice decides once.
const (
	probeNote   = "probe/asked"
	verdictNote = "probe/verdict"
)

// mostProbed bounds what questions are made of: the newest so many memories. With 10,000 the probe takes .7 s of one core before
// a night and .15 s after it.
const mostProbed = 20_000

// probed is the note of the probe before the night.
type probed struct {
	Questions []probe.Question `json:"questions"`
	Found     []bool           `json:"found"`
}

// before asks an agent's memory what it should know, when the night begins, and keeps what it found.
func (p Ports) before(ctx context.Context, o Order, s Sitting) error {
	if o.Knobs.Probe <= 0 {
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
	note := probed{Questions: probe.Ask(docs, probe.Sample(own, o.Knobs.Probe, o.Seed), o.Seed)}
	for _, q := range note.Questions {
		found, err := p.answer(ctx, s.Agent, q)
		if err != nil {
			return err
		}
		note.Found = append(note.Found, slices.Contains(found, q.ID))
	}
	body, err := json.Marshal(note)
	if err != nil {
		return fmt.Errorf("note the probe of %s: %w", s.Dream, err)
	}
	_, err = p.Memory.PutNote(ctx, s.Agent, s.fence(), probeNote, body)
	return err
}

// answer asks recall itself, by words alone: placing the question could cost a call.
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

// recallable are the texts that recall may find, and of these the ids of what people and agents said.
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

// after asks the same again when the night ends. Nil when nothing was asked before.
func (p Ports) after(ctx context.Context, s Sitting) (*probe.Verdict, error) {
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
	var results []probe.Result
	for i, q := range note.Questions {
		found, err := p.answer(ctx, s.Agent, q)
		if err != nil {
			return nil, err
		}
		r, known, err := p.compared(ctx, s, note.Questions[i].ID, found)
		if err != nil {
			return nil, err
		}
		if r.Before = note.Found[i]; known {
			results = append(results, r)
		}
	}
	v := probe.Judge(results)
	return &v, nil
}

// compared says what became of the text that a question was made of. It is not known any more when it was forgotten.
func (p Ports) compared(ctx context.Context, s Sitting, id string, found []string) (r probe.Result, known bool, err error) {
	at := id
	for range 5 { // what took its place, and what took the place of that
		items, err := p.Memory.Get(ctx, s.Agent, at)
		if err != nil {
			return r, false, err
		}
		if len(items) == 0 {
			break
		}
		known = true
		h := items[0].Header()
		if h.State == dream.Live && slices.Contains(found, at) {
			r.After = true
		}
		if at = h.NewerID; at == "" || h.State == dream.Live {
			break
		}
	}
	if r.After || !known {
		return r, known, nil
	}
	revisions, err := p.Memory.Revisions(ctx, s.Agent, id)
	if err != nil {
		return r, known, err
	}
	r.Caused = revisions[len(revisions)-1].Cause == s.Dream
	before, err := p.Memory.Get(ctx, s.Agent, found...)
	for _, item := range before {
		r.Caused = r.Caused || item.Header().Dream == s.Dream
	}
	return r, known, err
}

// undoIfWorse probes the memory again, and undoes the night when it has made recall worse. It answers how the night ends then,
// and what it is to announce; what was spent stays spent. Done twice it decides once.
func (b *Bed) undoIfWorse(ctx context.Context, s Sitting, night *dream.Night, e Ending) (*dream.Night, Ending, []event.Event, error) {
	v, err := b.after(ctx, s)
	if err != nil || v == nil {
		return night, e, nil, err
	}
	recall := &dream.Recall{Asked: v.Asked, Before: v.Before, After: v.After, Lost: v.Lost, Gained: v.Gained, Margin: v.Margin}
	night.Recall = recall
	if !v.Worse() {
		return night, e, nil, nil
	}
	body, err := json.Marshal(v)
	if err != nil {
		return night, e, nil, fmt.Errorf("note why %s is undone: %w", s.Dream, err)
	}
	if _, err := b.Memory.PutNote(ctx, s.Agent, s.fence(), verdictNote, body); err != nil && !errors.Is(err, memory.ErrFenced) {
		return night, e, nil, err
	}
	undone, err := b.Memory.Undo(ctx, s.Agent, s.Dream)
	if err != nil {
		return night, e, nil, err
	}
	if night, err = memory.One[*dream.Night](ctx, b.Memory, s.Agent, s.Dream); err != nil {
		return night, e, nil, err
	}
	night.Recall, night.After, night.AfterAt = recall, night.Before, night.BeforeAt
	e.Outcome, e.Kept = dream.Undone, 0
	e.Reason = fmt.Sprintf("it made recall worse: of %d of the agent's own memories, %d were found before and %d after it; %d were lost by it, %d gained, and %d may be lost",
		v.Asked, v.Before, v.After, v.Lost, v.Gained, v.Margin)
	told := event.NightUndone{
		Asked: v.Asked, Before: v.Before, After: v.After, Lost: v.Lost, Gained: v.Gained, Margin: v.Margin,
		Archived: undone.Archived, Restored: undone.Restored, Kept: len(undone.Kept),
	}
	return night, e, []event.Event{b.event(s, "end/"+s.Run, told)}, nil
}
