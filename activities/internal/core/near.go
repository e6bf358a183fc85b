package core

import (
	"context"
	"fmt"
	"slices"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/prompt"
)

// Near measures a text against memory and playbook as they were at the spec's time. Sources that the text names are
// kept; if it names none, the nearest lived memories are used, at most three.
func (r *Run) Near(ctx context.Context, v memory.Vector, sources []string) (hypnagogia.Near, []string, error) {
	n := hypnagogia.Near{PlaybookEmpty: true}
	existing, cosines, err := nearest(ctx, r, v, dream.KindEpisode, dream.KindSemantic, dream.KindGist)
	if err != nil {
		return n, nil, fmt.Errorf("measure the distance to memory: %w", err)
	}
	rules, likeness, err := nearest(ctx, r, v, dream.KindPlaybook)
	if err != nil {
		return n, nil, fmt.Errorf("measure the distance to the playbook: %w", err)
	}
	if len(rules) > 0 {
		n.Playbook, n.PlaybookEmpty = likeness[rules[0].Header().ID], false
	}
	if len(existing) > 0 {
		n.Memory = cosines[existing[0].Header().ID]
	}
	scale, _ := r.Guard.Calibration(ctx, r.Spec.Models[dream.Embedder])
	named, lived, sum := len(sources) > 0, 0, 0.0
	for _, item := range existing {
		h := item.Header()
		if h.Taint == dream.FromDream || lived == 3 {
			continue
		}
		lived++
		sum += cosines[h.ID]
		if !named && cosines[h.ID] >= scale.Unrelated {
			sources = append(sources, h.ID)
		}
	}
	if lived > 0 {
		n.Source = max(0, sum/float64(lived))
	}
	return n, sources, nil
}

// How many neighbours are used, and among how many candidates they are searched when newer items must be skipped.
const (
	Neighbours     = 8
	mostNeighbours = 512
)

// nearest are the items nearest to a text that existed at the spec's time, nearest first, with their cosines by id.
func nearest(ctx context.Context, r *Run, v memory.Vector,
	kinds ...dream.Kind,
) ([]dream.Item, map[string]float64, error) {
	for most := Neighbours; ; most *= Neighbours {
		hits, err := r.Memory.Near(ctx, memory.Near{
			Agent:  r.Agent,
			Space:  v.Space,
			V:      v.V,
			Limit:  most,
			Filter: memory.Filter{Kinds: kinds},
		})
		if err != nil {
			return nil, nil, err
		}
		ids, cosines := make([]string, len(hits)), map[string]float64{}
		for i, hit := range hits {
			ids[i], cosines[hit.Item] = hit.Item, hit.Cosine
		}
		items, err := r.Again(ctx, ids)
		if err != nil {
			return nil, nil, err
		}
		items = slices.DeleteFunc(items, func(item dream.Item) bool { return item.Header().At.After(r.Spec.AsOf) })
		if len(items) >= Neighbours || len(hits) < most || most >= mostNeighbours {
			return items[:min(len(items), Neighbours)], cosines, nil
		}
	}
}

// rules is how many playbook entries a prompt shows.
const rules = 12

// Playbook reads the entries that an agent acts by, the most certain first, as lines p1, p2, …. They do not change
// during a dream.
func (r *Run) Playbook(ctx context.Context) ([]prompt.Line, error) {
	var existing *[]prompt.Line
	r.Cached(ctx, func(v *CachedRun) { existing = v.rules })
	if existing != nil {
		return *existing, nil
	}
	items, err := r.Memory.Find(ctx, memory.Query{
		Agent: r.Agent,
		Kinds: []dream.Kind{dream.KindPlaybook},
		Sort:  memory.HighestScore,
		Limit: rules,
		Until: r.Spec.AsOf.Add(1),
	})
	if err != nil {
		return nil, fmt.Errorf("read the playbook: %w", err)
	}
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i] = item.Text()
	}
	lines := prompt.Lines("p", texts...)
	r.Cached(ctx, func(v *CachedRun) { v.rules = &lines })
	return lines, nil
}

// SourcesOf converts the references of an answer to item ids, each once, leaving out references that were not shown.
func SourcesOf(refs []string, lines []prompt.Line, behind []string) []string {
	var ids []string
	seen := map[string]bool{}
	for _, ref := range refs {
		for i, line := range lines {
			if line.Ref == TrimRef(ref) && !seen[behind[i]] {
				seen[behind[i]] = true
				ids = append(ids, behind[i])
			}
		}
	}
	return ids
}

// TrimRef accepts "[r3]" for "r3".
func TrimRef(ref string) string {
	for len(ref) > 0 && (ref[0] == '[' || ref[0] == ' ') {
		ref = ref[1:]
	}
	for len(ref) > 0 && (ref[len(ref)-1] == ']' || ref[len(ref)-1] == ' ') {
		ref = ref[:len(ref)-1]
	}
	return ref
}
