package psyche

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/journal"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/mood"
)

// Why a turn was given no memories (Told.Skipped).
const (
	SkippedOff     = "off"     // by the request, the agent's settings or the deployment's
	SkippedBudget  = "budget"  // the search took too long
	SkippedFailed  = "failed"  // embedder or store did; the log says why
	SkippedNothing = "nothing" // nothing is near enough
)

// searching is how long a search may go on after the turn has gone on without it: the first one after a start reads an agent's
// vectors, and the next finds them read.
const searching = 30 * time.Second

// mostSearches bounds how many searches go on at once.
const mostSearches = 64

// recallable are the kinds that come to mind. Of what was dreamt only what was promoted to the playbook does (Z8); journal, fragments
// and scenarios never do (W6).
var recallable = []dream.Kind{dream.KindEpisode, dream.KindSemantic, dream.KindGist, dream.KindPlaybook}

// recall finds what comes to mind for a turn within its budget.
func (t *turn) recall(ctx context.Context, query string, known map[string]bool) ([]Memory, string) {
	b := t.being
	if !t.on.recall {
		return nil, SkippedOff
	}
	if query == "" {
		return nil, SkippedNothing
	}
	type answer struct {
		found []Memory
		err   error
	}
	answers := make(chan answer, 1)
	if b.searches.Add(1) > mostSearches {
		b.searches.Add(-1)
		return nil, SkippedBudget
	}
	begun := b.aside(func() {
		defer b.searches.Add(-1)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), searching)
		defer cancel()
		defer context.AfterFunc(b.hear, cancel)()
		found, err := b.search(ctx, t.agent, t.Caller, query, b.o.Items, known)
		answers <- answer{found, err}
	})
	if !begun {
		b.searches.Add(-1)
		return nil, SkippedFailed
	}
	late := time.NewTimer(b.o.Within)
	defer late.Stop()
	select {
	case a := <-answers:
		switch {
		case a.err != nil:
			b.Log.WarnContext(ctx, "memory could not be asked", "agent", t.agent.Handle, "error", a.err)
			return nil, SkippedFailed
		case len(a.found) == 0:
			return nil, SkippedNothing
		}
		return a.found, ""
	case <-late.C:
		return nil, SkippedBudget
	case <-ctx.Done():
		return nil, SkippedBudget
	}
}

// How near a memory must lie to come to mind. The built-in embedder's cosines of texts without a word in common are about 0,
// those of hosted embedders hardly fall below .2.
const (
	nearLexical = .12
	nearHosted  = .3
)

// search asks memory: the nearest that the caller may see, then by closeness, recency, salience and mood.
func (b *Being) search(ctx context.Context, a dream.Agent, c Caller, query string, n int, known map[string]bool) ([]Memory, error) {
	space, err := b.Memory.Space(ctx, a.ID)
	if err != nil || space == "" {
		return nil, err
	}
	spec, err := b.Purse.Catalog.Lookup(b.modelOf(&a, dream.Embedder))
	if err != nil {
		return nil, err
	}
	if !spec.Makes(space) {
		return nil, memory.ErrSpace
	}
	v, space, err := b.embed(ctx, a, c, []string{query})
	if err != nil {
		return nil, err
	}
	affect, err := b.Memory.Affect(ctx, a.ID)
	if err != nil {
		return nil, err
	}
	least := nearHosted
	if spec.BuiltIn {
		least = nearLexical
	}
	filter, err := b.visible(ctx, a, c)
	if err != nil {
		return nil, err
	}
	for id := range known {
		filter.Except = append(filter.Except, id)
	}
	now := b.now()
	feels := mood.Settled(affect.PAD, b.o.Baseline, now.Sub(affect.Since))
	hits, err := b.Memory.Near(ctx, memory.Near{Agent: a.ID, Space: space, V: v[0], Limit: 3 * n, Filter: filter})
	if err != nil {
		return nil, err
	}
	cosines := map[string]float64{}
	var ids []string
	for _, hit := range hits {
		if hit.Cosine >= least {
			cosines[hit.Item] = hit.Cosine
			ids = append(ids, hit.Item)
		}
	}
	items, err := b.Memory.Get(ctx, a.ID, ids...)
	if err != nil {
		return nil, err
	}
	items = slices.DeleteFunc(items, func(i dream.Item) bool { return i.Header().State != dream.Live })
	return best(items, cosines, feels, now, n), nil
}

// visible is what may come to mind before a caller: the agent's own memories and what was said in the caller's talks. Of what
// was dreamt only what was promoted counts, for callers that may hear of dreams.
func (b *Being) visible(ctx context.Context, a dream.Agent, c Caller) (memory.Filter, error) {
	hears, err := b.talkers.hears(ctx, c, a.ID, a.Handle, b.o.Shared)
	if err != nil {
		return memory.Filter{}, err
	}
	f := memory.Filter{Kinds: recallable, Owners: []string{"", c.Owner()}, Dreamt: memory.NoneDreamt}
	if hears && !b.o.Private {
		f.Dreamt = memory.PromotedDreamt
	}
	return f, nil
}

// The weights of what comes to mind. Park et al. (2023) add relevance, recency and importance; here relevance leads, since what is
// recalled stands in the prompt whether it helps or not. Mood congruence (Bower 1981) tips the scale between equals.
const (
	weighsNear   = .7
	weighsRecent = .12
	weighsHeavy  = .1
	weighsMood   = .08
	recentHalf   = 14 * 24 * time.Hour
)

func best(items []dream.Item, cosines map[string]float64, feels mood.PAD, now time.Time, n int) []Memory {
	out := make([]Memory, 0, len(items))
	for _, item := range items {
		h := item.Header()
		var tone mood.PAD
		switch i := item.(type) {
		case *dream.Episode:
			tone = i.Affect
		case *dream.Semantic:
			tone = i.Affect
		}
		age := max(0, now.Sub(h.At))
		score := weighsNear*cosines[h.ID] + weighsRecent*math.Exp2(-float64(age)/float64(recentHalf)) +
			weighsHeavy*max(item.Marks().Salience, item.Marks().Score) + weighsMood*(1+feels.Cosine(tone))/2
		label := ""
		if h.Dreamt() {
			label = journal.Label
		}
		out = append(out, Memory{
			ID: h.ID, Kind: h.Kind, At: h.At, Content: item.Text(), Taint: h.Taint, Score: max(0, min(1, score)), Dreamt: h.Dreamt(), Label: label,
		})
	}
	slices.SortStableFunc(out, func(a, b Memory) int {
		switch {
		case a.Score > b.Score:
			return -1
		case a.Score < b.Score:
			return 1
		}
		return strings.Compare(a.ID, b.ID)
	})
	return out[:min(n, len(out))]
}

// embed places texts. The built-in embedder is called straight, since it cannot cost anything.
func (b *Being) embed(ctx context.Context, a dream.Agent, c Caller, texts []string) ([][]float32, string, error) {
	model := b.modelOf(&a, dream.Embedder)
	spec, err := b.Purse.Catalog.Lookup(model)
	if err != nil {
		return nil, "", err
	}
	if spec.BuiltIn {
		v, err := b.Purse.Model.Embed(ctx, model, texts, "")
		return v.V, v.Space, err
	}
	v, err := b.Purse.Place(ctx, b.charge(&a, &c), model, texts)
	if err == nil && len(v.V) != len(texts) {
		err = errors.New("the embedder gave another number of vectors than texts")
	}
	return v.V, v.Space, err
}
