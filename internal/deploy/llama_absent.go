//go:build !llama

package deploy

import (
	"context"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/config"
)

// Linked says whether this program has llama.cpp's bindings.
const Linked = false

// ServeModel hands over to the program that can.
func (d *Process) ServeModel(context.Context, LlamaServer, func(address, about string)) error {
	return d.handOver()
}

// Train hands over to the program that can.
func (d *Process) Train(context.Context, TrainRequest) (TrainResult, error) {
	return TrainResult{}, d.handOver()
}

// TryVector hands over to the program that can.
func (d *Process) TryVector(context.Context, TrialRequest) (TrialResult, error) {
	return TrialResult{}, d.handOver()
}

func inProcess(config.Config, string, config.Provider) (inference.Model, error) {
	return nil, errNoEngine
}
