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

// LastLook replaces fading knowledge that neither a person nor an agent said by its gist. The entry is archived in
// the write that stores the gist. An entry without a gist, or whose gist repeats its own words, stays. Numbers, dates
// and addresses are removed from the gist.
func (n *Replay) LastLook(ctx context.Context, r StepRequest) (StepResult, error) {
	spec, err := n.spec(ctx, r.Stretch)
	if err != nil {
		return StepResult{}, toApplicationError(err)
	}
	if err := n.renew(ctx, spec, r.Stretch); err != nil {
		return StepResult{}, toApplicationError(err)
	}
	volatility, err := n.volatility(ctx, spec, r.Stretch)
	if err != nil {
		return StepResult{}, toApplicationError(err)
	}
	entries, err := n.fading(ctx, spec, r.Stretch, volatility)
	if err != nil {
		return StepResult{}, toApplicationError(err)
	}
	if len(entries) == 0 {
		return StepResult{Done: Done{NoCall: true}}, nil
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
		spec:        spec,
		phase:       dream.NREM,
		limit:       r.Limit,
		tone:        r.Tone,
		stretch:     r.Stretch,
		step:        "last-look",
		role:        dream.Replayer,
		temperature: r.Temperature,
		text:        prompt.LastLook(self, lines),
		behind:      behind,
		tokens:      spec.Knobs.AnswerTokens + 40*len(entries),
		seed:        seedOf(spec, dream.NREM, 0, 50),
	}
	var answer gists
	model, err := n.Catalog.Lookup(spec.Models[dream.Replayer])
	if err != nil {
		return StepResult{}, toApplicationError(err)
	}
	done := Done{}
	if model.Judges {
		_, done, err = n.askFor(ctx, c, &answer)
		if err != nil || done.End != EndDone {
			return StepResult{Done: done}, toApplicationError(err)
		}
	}
	items, w, err := n.distil(ctx, spec, r.Stretch, entries, gistsBySource(answer, lines, texts, model.Judges))
	if err != nil {
		return StepResult{}, toApplicationError(err)
	}
	return n.keep(ctx, r.Stretch, c, done, items, w)
}

// fadingNote freezes the entries of a last look, out of the fadingPool live entries that are due soonest.
const fadingNote, fadingPool = "fading", 10_000

// fading are the entries nearest to their demurrage threshold that may fade and have no gist yet. The rate of
// forgetting depends on the volatility of the dream's episodes. The choice is frozen in a note.
func (n *Replay) fading(ctx context.Context, spec Spec, s Stretch, volatility float64) ([]*dream.Semantic, error) {
	ids, err := n.frozen(ctx, s, fadingNote, func() ([]string, error) {
		all, err := n.entries(ctx, spec)
		if err != nil {
			return nil, err
		}
		var ids []string
		for _, e := range all {
			soon := spec.AsOf.Add(spec.Knobs.HalfLife / 4)
			if len(ids) == spec.Knobs.LastLookEntries || forgetting.Protected(e.Taint) ||
				n.due(spec, e, volatility).After(soon) {
				continue
			}
			if at, err := n.mentioned(ctx, spec, e); err != nil {
				return nil, err
			} else if !at.IsZero() { // a later dream handles it
				if err := memory.NoteUse(ctx, n.Memory, spec.Agent, at, e.ID); err != nil {
					return nil, err
				}
				use := useOf(e).With(at)
				e.Uses, e.Used = use.Count, use.Last
				if n.due(spec, e, volatility).After(soon) {
					continue
				}
			}
			if state, err := n.gisted(ctx, spec.Agent, e.ID); err != nil {
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
	items, err := n.Memory.Get(ctx, spec.Agent, ids...)
	return memory.As[*dream.Semantic](items), err
}

// entries is live knowledge, soonest due first.
func (n *Replay) entries(ctx context.Context, spec Spec) ([]*dream.Semantic, error) {
	items, err := n.Memory.Find(ctx, memory.Query{
		Agent: spec.Agent,
		Kinds: []dream.Kind{dream.KindSemantic},
		Sort:  memory.SoonestDue,
		Limit: fadingPool,
		Until: spec.AsOf.Add(1),
	})
	return memory.As[*dream.Semantic](items), err
}

// due is when an entry reaches the threshold at this volatility; the store sorts by the due time without volatility.
func (n *Replay) due(spec Spec, e *dream.Semantic, volatility float64) time.Time {
	from, half := forgetting.Renewed(e.At, spec.Knobs.HalfLife, useOf(e))
	return forgetting.Due(from, e.Strength, half, volatility, spec.Knobs.FadeBelow)
}

// gisted is the state of the gist of an entry; empty when there is none.
func (n *Replay) gisted(ctx context.Context, agent, id string) (dream.State, error) {
	existing, err := n.Memory.Get(ctx, agent, gistID(id))
	if err != nil || len(existing) == 0 {
		return "", err
	}
	return existing[0].Header().State, nil
}

// volatility is the dispersion of the surprise of the dream's episodes.
func (n *Replay) volatility(ctx context.Context, spec Spec, s Stretch) (float64, error) {
	episodes, err := n.pool(ctx, spec, s)
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

// gistsBySource is the gist of each entry: the model's, or the entry's text without its specifics.
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

// distil makes the gists of entries, each replacing its entry.
func (n *Replay) distil(ctx context.Context, spec Spec, s Stretch, entries []*dream.Semantic,
	texts []string,
) ([]dream.Item, memory.Write, error) {
	var items []dream.Item
	w := memory.Write{}
	names, err := n.namesOfPeople(ctx, spec.Agent)
	if err != nil {
		return nil, w, err
	}
	for i, e := range entries {
		text, ok := forgetting.Gist(texts[i])
		if !ok || !forgetting.Replaces(text, e.Content) || forgetting.Foreign(text, e.Content, names) != "" {
			continue
		}
		foreign, err := n.speaksOfOthers(ctx, spec, e, text)
		if err != nil {
			return nil, w, err
		}
		if foreign {
			continue
		}
		id, err := n.freeGist(ctx, spec, e.ID)
		if err != nil {
			return nil, w, err
		}
		g := &dream.Gist{Head: head(spec, dream.NREM, dream.KindGist, "", []string{e.ID}), Content: text}
		g.ID, g.Taint = id, e.Taint // it repeats its source and has the source's taint
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

// speaksOfOthers says whether the gist of an entry is rather about something that a person or an agent said: a search
// for the gist's words then finds that before the entry. This keeps out gists of a model that invents or contradicts.
// If a person said the same as the entry, the entry stays.
func (n *Replay) speaksOfOthers(ctx context.Context, spec Spec, e *dream.Semantic, gist string) (bool, error) {
	a, err := recall.Find(ctx, n.Memory, recall.Question{
		Agent: spec.Agent, Text: gist, Limit: nearestOfGist,
		Filter: memory.Filter{Kinds: recall.Kinds, Dreamt: memory.NoneDreamt},
	})
	if err != nil {
		return false, fmt.Errorf("search what the gist of %s is about: %w", e.ID, err)
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

// nearestOfGist is how many search results are compared with a gist: as many as a probe compares.
const nearestOfGist = probe.First

// freeGist is the id for the gist of an entry. The id of an undone dream's gist stays taken.
func (n *Replay) freeGist(ctx context.Context, spec Spec, source string) (string, error) {
	id := gistID(source)
	existing, err := n.Memory.Get(ctx, spec.Agent, id)
	if err == nil && len(existing) > 0 && existing[0].Header().Dream != spec.Dream {
		id += "@" + spec.Dream
	}
	return id, err
}
