package localmodel

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/seed-56a03226/oneiros/internal/embedder/minilm"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

// WithMiniLM is the built-in model with the embedder builtin/minilm, whose files lie in dir. They are read when the
// first text is placed. The error says what is missing now.
func WithMiniLM(dir string) (*Model, error) {
	read := sync.OnceValues(func() (*minilm.Model, error) { return readMiniLM(dir) })
	_, err := minilmFiles(dir)
	return &Model{minilm: read}, err
}

// weightsNames are what the weights may be called: by their publisher, and in the npm package of half precision.
var weightsNames = []string{"model.safetensors", "model.fp16.safetensors"}

// minilmFiles finds the model's files in its folder: config.json, tokenizer.json and the weights.
func minilmFiles(dir string) ([]string, error) {
	var found []string
	for _, names := range [][]string{{"config.json"}, {"tokenizer.json"}, weightsNames} {
		path, err := firstOf(dir, names)
		if err != nil {
			return nil, fmt.Errorf("embedder.minilm_dir %s: %w", dir, err)
		}
		found = append(found, path)
	}
	return found, nil
}

func firstOf(dir string, names []string) (string, error) {
	for _, name := range names {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		switch {
		case err == nil && info.Mode().IsRegular():
			return path, nil
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return "", err
		}
	}
	return "",
		fmt.Errorf(
			"the file %s is missing; the folder must hold config.json, tokenizer.json and model.safetensors or model.fp16.safetensors",
			names[0])
}

func readMiniLM(dir string) (*minilm.Model, error) {
	paths, err := minilmFiles(dir)
	if err != nil {
		return nil, err
	}
	var contents [3][]byte
	for i, path := range paths {
		contents[i], err = os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("embedder.minilm_dir: %w", err)
		}
	}
	model, err := minilm.Load(minilm.Files{Config: contents[0], Tokenizer: contents[1], Weights: contents[2]})
	if err != nil {
		return nil, fmt.Errorf("embedder.minilm_dir %s: %w", dir, err)
	}
	if near := fits(model); near < .999 {
		return nil,
			fmt.Errorf(
				"embedder.minilm_dir %s: the files are of another model than all-MiniLM-L6-v2 (a known sentence lies at %.3f of its place); "+
					"serve another model over the OpenAI wire and configure it as a provider", dir, near)
	}
	return model, nil
}

// probe is a sentence, and the first numbers of its vector by all-MiniLM-L6-v2. Vectors of another model must never be
// taken for its.
const probe = "A lighthouse keeper counts the ships that pass at night."

var probed = []float32{
	0.0342, 0.0402, -0.0396, 0.1054, -0.0456, -0.0126, 0.0538, -0.0386, -0.0273, -0.0398, 0.0037, -0.0599,
	-0.0152, 0.0350, -0.0584, 0.0072, -0.0122, -0.0345, 0.0592, -0.0288, 0.0305, -0.0070, -0.0083, -0.0110,
}

// fits is how alike a model's numbers of the probe and the known ones are: their cosine, over the numbers that are
// known.
func fits(m *minilm.Model) float64 {
	v, _ := m.Embed(probe)
	if len(v) < len(probed) {
		return 0
	}
	return hypnagogia.Cosine(v, probed)
}
