package localmodel

import (
	"errors"
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/embedder/minilm"
	"github.com/seed-56a03226/oneiros/internal/embedder/static"
)

// MiniLMSpace names the space of all-MiniLM-L6-v2 as this program computes it.
const MiniLMSpace = "builtin-minilm/1/384"

// embedder is one of the built-in embedders.
type embedder struct {
	name        string
	space       string
	dimensions  int
	lexical     bool
	calibration inference.Calibration
}

// embedders are the built-in ones. The calibrations were measured by inference.Calibrate; a test compares.
var embedders = []embedder{
	{
		name:        Static,
		space:       static.Space,
		dimensions:  256,
		calibration: inference.Calibration{Unrelated: .20, Related: .46, Novel: .72, Same: .97},
	},
	{
		name:        MiniLM,
		space:       MiniLMSpace,
		dimensions:  384,
		calibration: inference.Calibration{Unrelated: .20, Related: .55, Novel: .77, Same: .98},
	},
	{
		name:        Lexical,
		space:       EmbedSpace,
		dimensions:  dims,
		lexical:     true,
		calibration: inference.Calibration{Unrelated: .15, Related: .43, Novel: .71, Same: .99},
	},
}

// errNoMiniLM says what builtin/minilm needs.
var errNoMiniLM = errors.New(
	"builtin/minilm needs the files of all-MiniLM-L6-v2 in a folder: set embedder.minilm_dir (docs/models.md says where to get them)")

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
		Message: fmt.Sprintf("%q is no built-in embedder; there are %s", model, strings.Join(names, ", ")),
	}
}

// vectors returns what places a text by one of the embedders, and counts its tokens.
func (m *Model) vectors(e embedder) (func(text string) (vector []float32, tokens int), error) {
	switch e.name {
	case Static:
		return static.Default().Vector, nil
	case MiniLM:
		encoder, err := m.encoder()
		if err != nil {
			return nil, &inference.Failure{Kind: inference.Unauthorized, Message: err.Error(), Err: err}
		}
		return encoder.Embed, nil
	}
	return func(text string) ([]float32, int) { return Vector(text), len(strings.Fields(text)) }, nil
}

func (m *Model) encoder() (*minilm.Model, error) {
	if m.minilm == nil {
		return nil, errNoMiniLM
	}
	return m.minilm()
}
