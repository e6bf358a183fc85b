package llama

import (
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// The environment that names a real model and llama.cpp's libraries for the tests that need them.
const (
	modelEnv = "ONEIROS_LLAMA_MODEL"
	libEnv   = "ONEIROS_LLAMA_LIB"
)

// real skips a test on a machine that names no model.
func real(t *testing.T) Options {
	t.Helper()
	o := Options{Model: os.Getenv(modelEnv), Lib: os.Getenv(libEnv), Threads: 1, Queue: 256}
	if o.Model == "" || o.Lib == "" {
		t.Skipf("set %s to a GGUF file and %s to the folder of llama.cpp's libraries to run this (docs/steering.md)",
			modelEnv, libEnv)
	}
	return o
}

var shared struct {
	sync.Once
	engine *Engine
	err    error
}

// engine is one model for all tests that do not change it: loading takes a second and a third of a gigabyte.
func engine(t *testing.T) *Engine {
	t.Helper()
	o := real(t)
	shared.Do(func() { shared.engine, shared.err = Open(o) })
	require.NoError(t, shared.err)
	return shared.engine
}

func ptr[T any](v T) *T { return &v }

// spec is the catalogue's entry of the shared engine.
func spec() inference.Spec {
	return inference.Spec{
		Name:           "here/small",
		Provider:       "here",
		Wire:           "small",
		Price:          &budget.Price{},
		Context:        usualContext,
		MaxTemperature: MaxTemperature,
		MinP:           true,
		TopP:           true,
		Seed:           true,
		Stop:           true,
		JSON:           inference.JSONSchema,
		LogProbs:       true,
	}
}

func user(text string) []inference.Message { return []inference.Message{{Role: "user", Content: text}} }
