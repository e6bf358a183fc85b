package activities

import (
	"context"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/memory"
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
func (h judgedThought) weigh(spec Spec, answer *dream.Scores) dream.Verdict {
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
func (o *Onset) measureThoughts(ctx context.Context, r StepRequest, c call,
	fragments []*dream.Fragment,
) ([]judgedThought, Done, error) {
	if len(fragments) == 0 {
		return nil, Done{}, nil
	}
	base, parts, held, space, err := o.ears(ctx, r, c.spec, fragments)
	if err != nil {
		return nil, Done{}, err
	}
	var texts []string
	for i, f := range fragments {
		texts = append(append(texts, f.Content), parts[i]...)
	}
	got, done, err := o.embed(ctx, c, c.step+"/embed", texts)
	if err != nil || done.End != EndDone {
		return nil, done, err
	}
	all := make([]judgedThought, len(fragments))
	at := 0
	for i, f := range fragments {
		h := judgedThought{f: f, vector: memory.Vector{Item: f.ID, Space: got.Space, V: got.V[at]}, ear: base[i]}
		if neighbours := got.V[at+1 : at+1+len(parts[i])]; len(neighbours) > 1 {
			meaning := hypnagogia.MeaningOf(cosines(neighbours), space.Mean)
			h.ear.Meaning = &meaning
		}
		at += 1 + len(parts[i])
		h.ear.Marker = hypnagogia.Fires(h.vector.V, held, space)
		h.near, f.Sources, err = o.near(ctx, c.spec, h.vector, f.Sources)
		if err != nil {
			return nil, Done{}, err
		}
		all[i] = h
	}
	return all, Done{}, nil
}

// ears prepares the observer's measurements of each thought, and the parts of it whose meaning is compared.
func (o *Onset) ears(ctx context.Context, r StepRequest, spec Spec, fragments []*dream.Fragment) (
	base []hypnagogia.Evidence, parts [][]string, held []hypnagogia.MarkerVector, space hypnagogia.Calibration,
	err error,
) {
	base, parts = make([]hypnagogia.Evidence, len(fragments)), make([][]string, len(fragments))
	if spec.Observer == nil {
		return base, parts, nil, space, nil
	}
	w, held, err := o.watch(ctx, spec, r.Stretch)
	if err != nil {
		return nil, nil, nil, space, err
	}
	language, err := o.language(ctx, r)
	if err != nil {
		return nil, nil, nil, space, err
	}
	embedder, err := o.Catalog.Lookup(spec.Models[dream.Embedder])
	if err != nil {
		return nil, nil, nil, space, err
	}
	for i, f := range fragments {
		base[i] = hypnagogia.Evidence{Language: language, Space: w.Space, Bias: w.Bias.Factor}
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
	return base, parts, held, w.Space, nil
}

// cosines are the similarities of consecutive vectors.
func cosines(vectors [][]float32) []float64 {
	out := make([]float64, 0, len(vectors)-1)
	for i := 1; i < len(vectors); i++ {
		out = append(out, hypnagogia.Cosine(vectors[i-1], vectors[i]))
	}
	return out
}
