package activities

import (
	"context"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/inference"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/mood"
)

// Gathering counts what an onset would be shown.
type Gathering struct {
	Episodes  int       `json:"episodes"`  // the newest and the most salient, each once
	Knowledge int       `json:"knowledge"` // entries about to fade
	Pieces    int       `json:"pieces"`    // the pieces that they break into
	Shown     int       `json:"shown"`     // the pieces that fit the generator's window
	Bare      int       `json:"bare"`      // memories without a vector, which would be embedded first
	Bias      mood.Bias `json:"bias"`
}

// WouldGather is what the onset of a spec would gather now. It writes nothing.
func WouldGather(ctx context.Context, store memory.Store, catalog inference.Catalog, spec Spec) (Gathering, error) {
	onset := &Onset{Ports{Memory: store, Catalog: catalog}}
	affect, err := store.Affect(ctx, spec.Agent)
	if err != nil {
		return Gathering{}, err
	}
	items, err := onset.choose(ctx, spec)
	if err != nil {
		return Gathering{}, err
	}
	var pieces []hypnagogia.Piece
	for _, item := range items {
		pieces = append(pieces, hypnagogia.Decompose(item)...)
	}
	fitting := hypnagogia.Fit(hypnagogia.Rank(pieces, affect.At(spec.AsOf), spec.AsOf), onset.window(spec))
	g := Gathering{
		Episodes: len(memory.As[*dream.Episode](items)), Knowledge: len(memory.As[*dream.Semantic](items)),
		Pieces: len(pieces), Shown: len(fitting),
		Bias: affect.At(spec.AsOf).Bias(),
	}
	g.Bare, err = onset.bare(ctx, spec, fitting)
	return g, err
}

// WouldChooseDepth is how deep the onset of a spec would go now. It writes nothing.
func WouldChooseDepth(ctx context.Context, store memory.Store, spec Spec) (DepthChoice, error) {
	return Ports{Memory: store}.currentDepth(ctx, spec)
}

// WouldMeasure returns memory.ErrSpace when the spec's embedder differs from that of the agent's vectors.
func WouldMeasure(ctx context.Context, store memory.Store, catalog inference.Catalog, spec Spec) error {
	return Ports{Memory: store, Catalog: catalog}.sameSpace(ctx, spec)
}
