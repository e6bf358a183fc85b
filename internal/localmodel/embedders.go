package localmodel

import (
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/embedder/static"
	"github.com/seed-56a03226/oneiros/internal/inference"
)

// embedder is one of the built-in embedders.
type embedder struct {
	name        string
	space       string
	dimensions  int
	calibration inference.Calibration
	embed       func(text string) (vector []float32, tokens int)
}

// embedders are the built-in ones. The calibrations were measured by inference.Calibrate; a test compares.
var embedders = []embedder{
	{
		name:        Static,
		space:       static.Space,
		dimensions:  256,
		calibration: inference.Calibration{Unrelated: .20, Related: .46, Novel: .72, Same: .97},
		embed:       func(text string) ([]float32, int) { return static.Default().Vector(text) },
	},
	{
		name:        Lexical,
		space:       EmbedSpace,
		dimensions:  dims,
		calibration: inference.Calibration{Unrelated: .15, Related: .43, Novel: .71, Same: .99},
		embed:       func(text string) ([]float32, int) { return Vector(text), len(strings.Fields(text)) },
	},
}

func embedderOf(model string) (embedder, *inference.Failure) {
	var names []string
	for _, e := range embedders {
		if e.name == model {
			return e, nil
		}
		names = append(names, e.name)
	}
	return embedder{}, &inference.Failure{
		Kind:    inference.Unknown,
		Message: fmt.Sprintf("%q is no built-in embedder; there are %s", model, strings.Join(names, " and ")),
	}
}
