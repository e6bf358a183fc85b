package activities

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/forgetting"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/probe"
	"github.com/seed-56a03226/oneiros/internal/prompt"
	"github.com/seed-56a03226/oneiros/internal/recall"
)

type gists struct {
	Gists []struct {
		Source string `json:"source"`
		Gist   string `json:"gist"`
	} `json:"gists"`
}

// LastLook lets knowledge that no person and no agent said give up its gist before it fades. The gist takes its place:
// the entry is archived in the write that keeps the gist, under the gist's id. An entry that gave none, or only its own
// words, stays. A gist that still carries numbers, dates or addresses is cut down until it does not.
func (n *Replay) LastLook(ctx context.Context, r StepRequest) (StepResult, error) {
	order, err := n.spec(ctx, r.Stretch)
	if err != nil {
		return StepResult{}, toApplicationError(err)
	}
	if err := n.renew(ctx, order, r.Stretch); err != nil {
		return StepResult{}, toApplicationError(err)
	}
	volatility, err := n.volatility(ctx, order, r.Stretch)
	if err != nil {
		return StepResult{}, toApplicationError(err)
	}
	entries, err := n.fading(ctx, order, r.Stretch, volatility)
	if err != nil {
		return StepResult{}, toApplicationError(err)
	}
	if len(entries) == 0 {
		return StepResult{Done: Done{Unasked: true}}, nil
	}
	self, _, err := n.self(ctx, r.Stretch)
	if err != nil {
		return StepResult{}, toApplicationError(err)
	}
	texts := make([]string, len(entries))
	behind := make([]string, len(entries))
	for i, e := range entries {
		texts[i], behind[i] = e.Content, e.ID
	}
	lines := prompt.Lines("r", texts...)
	c := call{
		spec:        order,
		phase:       dream.NREM,
		limit:       r.Limit,
		tone:        r.Tone,
		stretch:     r.Stretch,
		step:        "last-look",
		role:        dream.Replayer,
		temperature: r.Temperature,
		text:        prompt.LastLook(self, lines),
		behind:      behind,
		tokens:      order.Knobs.AnswerTokens + 40*len(entries),
		seed:        seedOf(order, dream.NREM, 0, 50),
	}
	var answer gists
	spec, err := n.Catalog.Lookup(order.Models[dream.Replayer])
	if err != nil {
		return StepResult{}, toApplicationError(err)
	}
	done := Done{}
	if spec.Judges {
		_, done, err = n.askFor(ctx, c, &answer)
		if err != nil || done.End != EndDone {
			return StepResult{Done: done}, toApplicationError(err)
		}
	}
	items, w, err := n.distil(ctx, order, r.Stretch, entries, gistsBySource(answer, lines, texts, spec.Judges))
	if err != nil {
		return StepResult{}, toApplicationError(err)
	}
	return n.keep(ctx, r.Stretch, c, done, items, w)
}

// fadingNote freezes what is looked at tonight, out of the fadingPool live entries that are due soonest.
const fadingNote, fadingPool = "fading", 10_000

// fading are the entries nearest to their demurrage threshold that may fade and have no gist yet, at the rate of
// forgetting that the volatility of the night's episodes sets. The choice is frozen in a note.
func (n *Replay) fading(ctx context.Context, o Spec, s Stretch, volatility float64) ([]*dream.Semantic, error) {
	ids, err := n.frozen(ctx, s, fadingNote, func() ([]string, error) {
		all, err := n.entries(ctx, o)
		if err != nil {
			return nil, err
		}
		var ids []string
		for _, e := range all {
			soon := o.AsOf.Add(o.Knobs.HalfLife / 4)
			if len(ids) == o.Knobs.LastLookEntries || forgetting.Protected(e.Taint) ||
				n.due(o, e, volatility).After(soon) {
				continue
			}
			if at, err := n.mentioned(ctx, o, e); err != nil {
				return nil, err
			} else if !at.IsZero() { // the next night takes it in
				if err := memory.NoteUse(ctx, n.Memory, o.Agent, at, e.ID); err != nil {
					return nil, err
				}
				use := useOf(e).With(at)
				e.Uses, e.Used = use.Count, use.Last
				if n.due(o, e, volatility).After(soon) {
					continue
				}
			}
			if state, err := n.gisted(ctx, o.Agent, e.ID); err != nil {
				return nil, err
			} else if state != dream.Live && state != dream.Proposed {
				ids = append(ids, e.ID)
			}
		}
		return ids, nil
	})
	if err != nil {
		return nil, fmt.Errorf("choose fading knowledge: %w", err)
	}
	items, err := n.Memory.Get(ctx, o.Agent, ids...)
	return memory.As[*dream.Semantic](items), err
}

// entries is live knowledge, soonest due first.
func (n *Replay) entries(ctx context.Context, o Spec) ([]*dream.Semantic, error) {
	items, err := n.Memory.Find(ctx, memory.Query{
		Agent: o.Agent,
		Kinds: []dream.Kind{dream.KindSemantic},
		Order: memory.SoonestDue,
		Limit: fadingPool,
		Until: o.AsOf.Add(1),
	})
	return memory.As[*dream.Semantic](items), err
}

// due is when an entry reaches the threshold at this volatility; what the store sorts by is the due time without any.
func (n *Replay) due(o Spec, e *dream.Semantic, volatility float64) time.Time {
	from, half := forgetting.Renewed(e.At, o.Knobs.HalfLife, useOf(e))
	return forgetting.Due(from, e.Strength, half, volatility, o.Knobs.FadeBelow)
}

// gisted is the state of the gist of an entry; empty when there is none.
func (n *Replay) gisted(ctx context.Context, agent, id string) (dream.State, error) {
	existing, err := n.Memory.Get(ctx, agent, gistID(id))
	if err != nil || len(existing) == 0 {
		return "", err
	}
	return existing[0].Header().State, nil
}

// volatility is the dispersion of the surprise of the night's episodes.
func (n *Replay) volatility(ctx context.Context, o Spec, s Stretch) (float64, error) {
	episodes, err := n.pool(ctx, o, s)
	if err != nil {
		return 0, err
	}
	surprises := make([]float64, len(episodes))
	for i, e := range episodes {
		surprises[i] = e.Surprise
	}
	return forgetting.Volatility(surprises), nil
}

func gistID(source string) string { return "gist/" + source }

// gistsBySource takes the model's gist of each entry, or, without one, what is left of the entry when specifics go.
func gistsBySource(answer gists, lines []prompt.Line, texts []string, requested bool) []string {
	bySource := make([]string, len(lines))
	for i, line := range lines {
		if !requested {
			bySource[i] = texts[i]
		}
		for _, g := range answer.Gists {
			if trimRef(g.Source) == line.Ref {
				bySource[i] = g.Gist
			}
		}
	}
	return bySource
}

// distil makes the gists of entries, and lets each take the place of its entry.
func (n *Replay) distil(ctx context.Context, o Spec, s Stretch, entries []*dream.Semantic,
	texts []string,
) ([]dream.Item, memory.Write, error) {
	var items []dream.Item
	w := memory.Write{}
	names, err := n.namesOfPeople(ctx, o.Agent)
	if err != nil {
		return nil, w, err
	}
	for i, e := range entries {
		text, ok := forgetting.Gist(texts[i])
		if !ok || !forgetting.Replaces(text, e.Content) || forgetting.Foreign(text, e.Content, names) != "" {
			continue
		}
		foreign, err := n.speaksOfOthers(ctx, o, e, text)
		if err != nil {
			return nil, w, err
		}
		if foreign {
			continue
		}
		id, err := n.freeGist(ctx, o, e.ID)
		if err != nil {
			return nil, w, err
		}
		g := &dream.Gist{Head: head(o, dream.NREM, dream.KindGist, "", []string{e.ID}), Content: text}
		g.ID, g.Taint = id, e.Taint // it says what its source said, and stands where that stood
		items = append(items, g)
		e.State, e.NewerID = dream.Archived, g.ID
		w.Change = append(w.Change, e)
		w.Events = append(w.Events,
			n.event(s, fmt.Sprintf("nrem/gist-%d", i+1), event.GistExtracted{Gist: g.ID, Source: e.ID}),
			n.event(s, "nrem/faded/"+e.ID,
				event.ItemArchived{Item: e.ID, Kind: dream.KindSemantic, Newer: g.ID, Reason: event.Faded}))
	}
	return items, w, nil
}

// namesOfPeople are the names in what people and agents said, as far as a probe reads.
func (n *Replay) namesOfPeople(ctx context.Context, agent string) (map[string]bool, error) {
	docs, own, err := n.recallable(ctx, agent)
	if err != nil {
		return nil, err
	}
	theirs := map[string]bool{}
	for _, id := range own {
		theirs[id] = true
	}
	names := map[string]bool{}
	for _, doc := range docs {
		if !theirs[doc.ID] {
			continue
		}
		for _, name := range forgetting.Names(doc.Text) {
			names[name] = true
		}
	}
	return names, nil
}

// speaksOfOthers says whether what was given as the gist of an entry is rather about something that a person or an
// agent said: asked by the words of the gist, recall finds that before the entry. A model that floods, contradicts or
// quotes wrongly gets no gist in; where a person has said the same as the entry, the entry stays beside it.
func (n *Replay) speaksOfOthers(ctx context.Context, o Spec, e *dream.Semantic, gist string) (bool, error) {
	a, err := recall.Find(ctx, n.Memory, recall.Question{
		Agent: o.Agent, Text: gist, Limit: nearestOfGist,
		Filter: memory.Filter{Kinds: recall.Kinds, Dreamt: memory.NoneDreamt},
	})
	if err != nil {
		return false, fmt.Errorf("look what the gist of %s speaks of: %w", e.ID, err)
	}
	for _, m := range a.Memories {
		switch h := m.Item.Header(); {
		case h.ID == e.ID:
			return false, nil
		case forgetting.Protected(h.Taint):
			return true, nil
		}
	}
	return false, nil
}

// nearestOfGist is how many answers to the words of a gist are looked at: as many as a probe looks at.
const nearestOfGist = probe.First

// freeGist is the id for the gist of an entry. That of a dream that was undone stays taken.
func (n *Replay) freeGist(ctx context.Context, o Spec, source string) (string, error) {
	id := gistID(source)
	existing, err := n.Memory.Get(ctx, o.Agent, id)
	if err == nil && len(existing) > 0 && existing[0].Header().Dream != o.Dream {
		id += "@" + o.Dream
	}
	return id, err
}
