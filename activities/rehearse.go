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
	Episodes  int       `json:"episodes"`  // chosen: the newest and the salient, each once
	Knowledge int       `json:"knowledge"` // chosen: entries about to fade
	Pieces    int       `json:"pieces"`    // that they break into
	Shown     int       `json:"shown"`     // of these that fit the generator's window
	Bare      int       `json:"bare"`      // memories without a place, which would be placed first
	Bias      mood.Bias `json:"bias"`
}

// WouldGather tells what an order's onset would gather now. It writes nothing.
func WouldGather(ctx context.Context, store memory.Store, catalog inference.Catalog, o Spec) (Gathering, error) {
	onset := &Onset{Ports{Memory: store, Catalog: catalog}}
	affect, err := store.Affect(ctx, o.Agent)
	if err != nil {
		return Gathering{}, err
	}
	items, err := onset.choose(ctx, o)
	if err != nil {
		return Gathering{}, err
	}
	var pieces []hypnagogia.Piece
	for _, item := range items {
		pieces = append(pieces, hypnagogia.Decompose(item)...)
	}
	fitting := hypnagogia.Fit(hypnagogia.Rank(pieces, affect.At(o.AsOf), o.AsOf), onset.window(o))
	g := Gathering{
		Episodes: len(memory.As[*dream.Episode](items)), Knowledge: len(memory.As[*dream.Semantic](items)),
		Pieces: len(pieces), Shown: len(fitting),
		Bias: affect.At(o.AsOf).Bias(),
	}
	g.Bare, err = onset.bare(ctx, o, fitting)
	return g, err
}

// WouldFathom tells how deep an order's onset would go now. It writes nothing.
func WouldFathom(ctx context.Context, store memory.Store, o Spec) (Fathomed, error) {
	return Ports{Memory: store}.sound(ctx, o)
}

// WouldMeasure is memory.ErrSpace when the order's embedder is not the one that the agent's vectors come from.
func WouldMeasure(ctx context.Context, store memory.Store, catalog inference.Catalog, o Spec) error {
	return Ports{Memory: store, Catalog: catalog}.sameSpace(ctx, o)
}
