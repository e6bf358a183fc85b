package onset

import (
	"context"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

// judgedThought is a thought with its vector, its neighbours and everything the observer measures without a model.
type judgedThought struct {
	f      *dream.Fragment
	vector memory.Vector
	near   hypnagogia.Near
	ear    hypnagogia.Evidence
}

// weigh is the verdict on a thought, measured or from a judge's scores. Specs without observer parts use the older
// formula.
func (h judgedThought) weigh(spec activities.Spec, answer *dream.Scores) dream.Verdict {
	if spec.Observer != nil {
		return hypnagogia.Weigh(h.f.Content, h.near, answer, h.ear)
	}
	v := hypnagogia.Judge(h.f.Content, h.near)
	if answer == nil {
		return v
	}
	measured := v.Coherence
	v.Novelty, v.Relevance, v.Coherence = answer.Novelty, answer.Relevance, answer.Coherence
	if measured < .5 {
		v.Coherence = min(v.Coherence, measured) // nor is a repeating or garbled text coherent
	}
	if echo := 2 * v.DistanceMemory; echo < v.Novelty && v.DistanceMemory < .1 {
		v.Novelty = echo // a near copy of a memory is not new, whatever the judge says
	}
	v.Composite = hypnagogia.Composite(v.Novelty, v.Relevance, v.Coherence)
	return v
}

// Why the observer cannot measure whether a thought is consistent with itself.
const (
	blindWords = "the built-in embedder sees words, not meaning"
	blindSpace = "too few memories have vectors yet to calibrate this space"
	blindShort = "it is too short to have parts"
)

// measureThoughts embeds thoughts and their parts in one call, and looks up their neighbours.
func (o onsetRun) measureThoughts(ctx context.Context, r activities.StepRequest, c core.Call,
	fragments []*dream.Fragment,
) ([]judgedThought, activities.CallOutcome, error) {
	if len(fragments) == 0 {
		return nil, activities.CallOutcome{}, nil
	}
	w, base, parts, moments, err := o.ears(ctx, r, fragments)
	if err != nil {
		return nil, activities.CallOutcome{}, err
	}
	var texts []string
	for i, f := range fragments {
		texts = append(append(texts, f.Content), parts[i]...)
	}
	got, done, err := o.Embed(ctx, c, c.Step+"/embed", texts)
	if err != nil || done.End != activities.EndDone {
		return nil, done, err
	}
	all := make([]judgedThought, len(fragments))
	at := 0
	for i, f := range fragments {
		h := judgedThought{f: f, vector: memory.Vector{Item: f.ID, Space: got.Space, V: got.V[at]}, ear: base[i]}
		if neighbours := got.V[at+1 : at+1+len(parts[i])]; len(neighbours) > 1 {
			meaning := hypnagogia.MeaningOf(cosines(neighbours), w.Space.Mean)
			h.ear.Meaning = &meaning
		}
		at += 1 + len(parts[i])
		if w.Fire > 0 {
			h.ear.Marker = moments.Match(f.Content, w.Fire)
		}
		named := len(f.Sources) > 0
		h.near, f.Sources, err = o.Near(ctx, h.vector, f.Sources)
		if err != nil {
			return nil, activities.CallOutcome{}, err
		}
		f.Guessed = !named && len(f.Sources) > 0
		all[i] = h
	}
	return all, activities.CallOutcome{}, nil
}

// ears prepares the observer's measurements of each thought, and the parts of it whose meaning is compared.
func (o onsetRun) ears(ctx context.Context, r activities.StepRequest, fragments []*dream.Fragment) (
	w core.Watching, base []hypnagogia.Evidence, parts [][]string, moments hypnagogia.Moments, err error,
) {
	base, parts = make([]hypnagogia.Evidence, len(fragments)), make([][]string, len(fragments))
	if o.Spec.Observer == nil {
		return w, base, parts, moments, nil
	}
	w, moments, err = o.watch(ctx)
	if err != nil {
		return w, nil, nil, moments, err
	}
	language, err := o.language(ctx, r)
	if err != nil {
		return w, nil, nil, moments, err
	}
	words, err := core.WordOrder(ctx, o.Run)
	if err != nil {
		return w, nil, nil, moments, err
	}
	lines, behind, err := o.remember(ctx, r.Source)
	if err != nil {
		return w, nil, nil, moments, err
	}
	texts, err := core.MemoryTexts(ctx, o.Run, r.Source, core.Remembered{Lines: lines, Behind: behind})
	if err != nil {
		return w, nil, nil, moments, err
	}
	embedder, err := o.Catalog.Lookup(o.Spec.Models[dream.Embedder])
	if err != nil {
		return w, nil, nil, moments, err
	}
	for i, f := range fragments {
		base[i] = hypnagogia.Evidence{
			Language: language,
			Space:    w.Space,
			Bias:     w.Bias.Factor,
			Order:    words,
			Memory:   texts,
		}
		switch {
		case embedder.Lexical:
			base[i].Blind = blindWords
		case !w.Space.Calibrated():
			base[i].Blind = blindSpace
		default:
			parts[i] = hypnagogia.Neighbours(f.Content)
			if len(parts[i]) == 0 {
				base[i].Blind = blindShort
			}
		}
	}
	return w, base, parts, moments, nil
}

// cosines are the similarities of consecutive vectors.
func cosines(vectors [][]float32) []float64 {
	out := make([]float64, 0, len(vectors)-1)
	for i := 1; i < len(vectors); i++ {
		out = append(out, hypnagogia.Cosine(vectors[i-1], vectors[i]))
	}
	return out
}
