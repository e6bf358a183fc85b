package llama

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/steering"
)

// Learn makes a vector of the pairs: the model reads both answers of each, and the mean difference of its layers'
// outputs becomes the direction. tell is called after each pair with how many are done.
func (e *Engine) Learn(ctx context.Context, pairs []steering.Pair, from, to int,
	tell func(done int),
) (v steering.Vector, layers []steering.Layer, err error) {
	last := e.shape.Layers - 2
	if from < 1 || to < from || to > last {
		return v, nil,
			fmt.Errorf("layers %d to %d were asked for; this model has layers 1 to %d that can be learned", from, to,
				last)
	}
	r, err := e.Reader()
	if err != nil {
		return v, nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	var learner steering.Learner
	for i, p := range pairs {
		ask := []inference.Message{{Role: "user", Content: p.Ask}}
		creative, err := r.Read(ctx, ask, p.Creative)
		if err != nil {
			return v, nil, fmt.Errorf("pair %d, creative: %w", i+1, err)
		}
		analytical, err := r.Read(ctx, ask, p.Analytical)
		if err != nil {
			return v, nil, fmt.Errorf("pair %d, analytical: %w", i+1, err)
		}
		if err := learner.Add(creative, analytical); err != nil {
			return v, nil, fmt.Errorf("pair %d: %w", i+1, err)
		}
		if tell != nil {
			tell(i + 1)
		}
	}
	return learner.Vector(e.shape.Architecture, from, to)
}

// Add gives the engine one more vector, under a name. It may not be called while answers are made.
func (e *Engine) Add(name string, v steering.Vector) error {
	if err := e.fits(name, v); err != nil {
		return err
	}
	e.vectors[name] = v
	return nil
}
