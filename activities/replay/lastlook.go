package replay

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/forgetting"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
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
func (n *Replay) LastLook(ctx context.Context, r activities.StepRequest) (activities.StepResult, error) {
	run, err := n.open(ctx, r.Stretch)
	if err != nil {
		return activities.StepResult{}, err
	}
	if err := run.renew(ctx); err != nil {
		return activities.StepResult{}, err
	}
	volatility, err := run.volatility(ctx)
	if err != nil {
		return activities.StepResult{}, err
	}
	entries, err := run.fading(ctx, volatility)
	if err != nil {
		return activities.StepResult{}, err
	}
	if len(entries) == 0 {
		return activities.StepResult{CallOutcome: activities.CallOutcome{NoCall: true}}, nil
	}
	self, _, err := run.Self(ctx)
	if err != nil {
		return activities.StepResult{}, err
	}
	texts := make([]string, len(entries))
	behind := make([]string, len(entries))
	for i, e := range entries {
		texts[i], behind[i] = e.Content, e.ID
	}
	lines := prompt.Lines("r", texts...)
	c := core.Call{
		Phase:       dream.NREM,
		Limit:       r.Limit,
		Tone:        r.Tone,
		Step:        "last-look",
		Role:        dream.Replayer,
		Temperature: r.Temperature,
		Text:        prompt.LastLook(self, lines),
		Behind:      behind,
		Tokens:      run.Spec.Knobs.AnswerTokens + 40*len(entries),
		Seed:        run.SeedOf(dream.NREM, 0, 50),
	}
	var answer gists
	model, err := n.Catalog.Lookup(run.Spec.Models[dream.Replayer])
	if err != nil {
		return activities.StepResult{}, err
	}
	done := activities.CallOutcome{}
	if model.Judges {
		_, done, err = run.AskFor(ctx, c, &answer)
		if err != nil || done.End != activities.EndDone {
			return activities.StepResult{CallOutcome: done}, err
		}
	}
	items, w, err := run.distil(ctx, entries, gistsBySource(answer, lines, texts, model.Judges))
	if err != nil {
		return activities.StepResult{}, err
	}
	return run.Keep(ctx, c, done, items, w)
}

// fadingNote freezes the entries of a last look, out of the fadingPool live entries that are due soonest.
const fadingNote, fadingPool = "fading", 10_000

// fading are the entries nearest to their demurrage threshold that may fade and have no gist yet. The rate of
// forgetting depends on how fast the agent's life changes. The choice is frozen in a note.
func (n replayRun) fading(ctx context.Context, volatility float64) ([]*dream.Semantic, error) {
	ids, err := n.Frozen(ctx, fadingNote, func() ([]string, error) {
		all, err := n.entries(ctx)
		if err != nil {
			return nil, err
		}
		var ids []string
		for _, e := range all {
			soon := n.Spec.AsOf.Add(n.Spec.Knobs.HalfLife / 4)
			if len(ids) == n.Spec.Knobs.LastLookEntries || forgetting.Protected(e.Taint) ||
				n.due(e, volatility).After(soon) {
				continue
			}
			if at, err := n.mentioned(ctx, e); err != nil {
				return nil, err
			} else if !at.IsZero() { // a later dream handles it
				if err := memory.NoteUse(ctx, n.Memory, n.Agent, at, e.ID); err != nil {
					return nil, err
				}
				use := useOf(e).With(at)
				e.Uses, e.Used = use.Count, use.Last
				if n.due(e, volatility).After(soon) {
					continue
				}
			}
			if state, err := n.gisted(ctx, e.ID); err != nil {
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
	items, err := n.Get(ctx, ids...)
	return memory.As[*dream.Semantic](items), err
}

// entries is live knowledge, soonest due first.
func (n replayRun) entries(ctx context.Context) ([]*dream.Semantic, error) {
	items, err := n.Memory.Find(ctx, memory.Query{
		Agent: n.Agent,
		Kinds: []dream.Kind{dream.KindSemantic},
		Sort:  memory.SoonestDue,
		Limit: fadingPool,
		Until: n.Spec.AsOf.Add(1),
	})
	return memory.As[*dream.Semantic](items), err
}

// due is when an entry reaches the threshold at this volatility; the store sorts by the due time without volatility.
func (n replayRun) due(e *dream.Semantic, volatility float64) time.Time {
	from, half := forgetting.Renewed(e.At, n.Spec.Knobs.HalfLife, useOf(e))
	return forgetting.Due(from, e.Strength, half, volatility, n.Spec.Knobs.FadeBelow)
}

// gisted is the state of the gist of an entry; empty when there is none.
func (n replayRun) gisted(ctx context.Context, id string) (dream.State, error) {
	existing, err := n.Get(ctx, gistID(id))
	if err != nil || len(existing) == 0 {
		return "", err
	}
	return existing[0].Header().State, nil
}

// volatility is how fast the agent's life changes, as of the dream's time.
func (n replayRun) volatility(ctx context.Context) (float64, error) {
	episodes, err := n.Pool(ctx)
	if err != nil {
		return 0, err
	}
	surpriseOf, err := core.SurpriseOf(ctx, n.Run)
	if err != nil {
		return 0, err
	}
	episodes = slices.Clone(episodes)
	slices.SortStableFunc(episodes, func(a, b *dream.Episode) int { return a.At.Compare(b.At) })
	surprises := make([]float64, len(episodes))
	for i, e := range episodes {
		surprises[i] = surpriseOf(e.ID, e.Surprise)
	}
	changes, err := core.Changes(ctx, n.Memory, n.Agent, n.Spec.AsOf, hypnagogia.Regime(surprises))
	return changes.Volatility(), err
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
			if core.TrimRef(g.Source) == line.Ref {
				bySource[i] = g.Gist
			}
		}
	}
	return bySource
}

// distil makes the gists of entries, each replacing its entry.
func (n replayRun) distil(ctx context.Context, entries []*dream.Semantic,
	texts []string,
) ([]dream.Item, memory.Write, error) {
	var items []dream.Item
	w := memory.Write{}
	names, err := n.namesOfPeople(ctx)
	if err != nil {
		return nil, w, err
	}
	for i, e := range entries {
		text, ok := forgetting.Gist(texts[i])
		if !ok || !forgetting.Replaces(text, e.Content) || forgetting.InventedName(text, e.Content, names) != "" {
			continue
		}
		foreign, err := n.speaksOfOthers(ctx, e, text)
		if err != nil {
			return nil, w, err
		}
		if foreign {
			continue
		}
		id, err := n.freeGist(ctx, e.ID)
		if err != nil {
			return nil, w, err
		}
		g := &dream.Gist{Head: n.Head(dream.NREM, dream.KindGist, "", []string{e.ID}), Content: text}
		g.ID, g.Taint = id, e.Taint // it repeats its source and has the source's taint
		items = append(items, g)
		e.State, e.NewerID = dream.Archived, g.ID
		w.Change = append(w.Change, e)
		w.Events = append(w.Events,
			n.Event(fmt.Sprintf("nrem/gist-%d", i+1), event.GistExtracted{Gist: g.ID, Source: e.ID}),
			n.Event("nrem/faded/"+e.ID,
				event.ItemArchived{Item: e.ID, Kind: dream.KindSemantic, Newer: g.ID, Reason: event.Faded}))
	}
	return items, w, nil
}

// namesOfPeople are the names in what people and agents said, as far as a probe reads.
func (n replayRun) namesOfPeople(ctx context.Context) (map[string]bool, error) {
	docs, own, err := core.Recallable(ctx, n.Memory, n.Agent)
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
func (n replayRun) speaksOfOthers(ctx context.Context, e *dream.Semantic, gist string) (bool, error) {
	a, err := recall.Find(ctx, n.Memory, recall.Question{
		Agent: n.Agent, Text: gist, Limit: nearestOfGist,
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
func (n replayRun) freeGist(ctx context.Context, source string) (string, error) {
	id := gistID(source)
	existing, err := n.Get(ctx, id)
	if err == nil && len(existing) > 0 && existing[0].Header().Dream != n.Dream {
		id += "@" + n.Dream
	}
	return id, err
}
