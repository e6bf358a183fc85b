package onset

import (
	"context"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

// Gathering counts what an onset would be shown.
type Gathering struct {
	Episodes      int       `json:"episodes"`  // the newest and the most salient, each once
	Knowledge     int       `json:"knowledge"` // entries about to fade
	Pieces        int       `json:"pieces"`    // the pieces that they break into
	Shown         int       `json:"shown"`     // the pieces that fit the generator's window
	WithoutVector int       `json:"bare"`      // memories without a vector, which would be embedded first
	Bias          mood.Bias `json:"bias"`
}

// planned is the run of a dream that has not begun: it has no stretch to write for.
func planned(store memory.DreamStore, catalog inference.Catalog, spec activities.Spec) onsetRun {
	return onsetRun{&core.Run{
		Ports:   activities.Ports{Memory: store, Catalog: catalog},
		Stretch: activities.Stretch{Agent: spec.Agent, Dream: spec.Dream},
		Spec:    spec,
	}}
}

// WouldGather is what the onset of a spec would gather now. It writes nothing.
func WouldGather(ctx context.Context, store memory.DreamStore, catalog inference.Catalog, spec activities.Spec,
) (Gathering, error) {
	run := planned(store, catalog, spec)
	affect, err := store.Affect(ctx, spec.Agent)
	if err != nil {
		return Gathering{}, err
	}
	items, err := run.Choose(ctx)
	if err != nil {
		return Gathering{}, err
	}
	var pieces []hypnagogia.Piece
	for _, item := range items {
		pieces = append(pieces, hypnagogia.Decompose(item)...)
	}
	fitting := hypnagogia.Fit(hypnagogia.Rank(pieces, affect.At(spec.AsOf), spec.AsOf), run.window())
	g := Gathering{
		Episodes: len(memory.As[*dream.Episode](items)), Knowledge: len(memory.As[*dream.Semantic](items)),
		Pieces: len(pieces), Shown: len(fitting),
		Bias: affect.At(spec.AsOf).Bias(),
	}
	g.WithoutVector, err = run.withoutVector(ctx)
	return g, err
}

// WouldChooseDepth is how deep the onset of a spec would go now. It writes nothing.
func WouldChooseDepth(ctx context.Context, store memory.DreamStore, spec activities.Spec) (DepthChoice, error) {
	return planned(store, nil, spec).currentDepth(ctx)
}

// WouldMeasure returns memory.ErrSpace when the spec's embedder differs from that of the agent's vectors.
func WouldMeasure(ctx context.Context, store memory.DreamStore, catalog inference.Catalog, spec activities.Spec) error {
	return core.SameSpace(ctx, planned(store, catalog, spec).Run)
}
