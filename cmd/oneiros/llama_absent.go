//go:build !llama

package main

import (
	"context"

	"github.com/seed-56a03226/oneiros/config"
	"github.com/seed-56a03226/oneiros/internal/console"
	"github.com/seed-56a03226/oneiros/internal/inference"
)

// linked says whether this program has llama.cpp's bindings.
const linked = false

func (d *app) llama() console.LlamaCommand {
	return console.LlamaCommand{
		Getenv: d.getenv,
		Serve:  func(context.Context, console.LlamaServer, func(string, string)) error { return d.handOver() },
		Learn: func(context.Context, console.TrainRequest) (console.TrainResult, error) {
			return console.TrainResult{}, d.handOver()
		},
		Effect: func(context.Context, console.TrialRequest) (console.TrialResult, error) {
			return console.TrialResult{}, d.handOver()
		},
	}
}

func inProcess(config.Config, string, config.Provider) (inference.Model, error) {
	return nil, errNoEngine
}
