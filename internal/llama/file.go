package llama

import (
	"fmt"
	"os"

	"github.com/seed-56a03226/oneiros/internal/steering"
)

// inspect reads the head of a model's file before llama.cpp does: its errors say what is wrong where llama.cpp only
// fails.
func inspect(path string) (steering.File, error) {
	var head steering.File
	if path == "" {
		return head, fmt.Errorf("no model is named; it must be a file in GGUF form")
	}
	f, err := os.Open(path)
	if err != nil {
		return head, fmt.Errorf("open the model: %w", err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return head, fmt.Errorf("open the model: %w", err)
	}
	if !info.Mode().IsRegular() {
		return head, fmt.Errorf("model %s is no file; name the .gguf file itself", path)
	}
	head, err = steering.ReadFile(f, info.Size())
	if err != nil {
		return head, fmt.Errorf("model %s cannot be used: %w; fetch the file again, in GGUF form and whole", path, err)
	}
	kind := head.Text["general.architecture"]
	switch {
	case kind == "":
		return head, fmt.Errorf("model %s names no architecture; it must be a language model in GGUF form", path)
	case kind == "controlvector":
		return head,
			fmt.Errorf("model %s is a control vector; give it as a vector, and a language model as the model", path)
	case len(head.Tensors) == 0:
		return head, fmt.Errorf("model %s holds no weights, only words; it must be a language model in GGUF form", path)
	}
	return head, nil
}

// Vector reads a control vector from a file.
func Vector(path string) (steering.Vector, error) {
	f, err := os.Open(path)
	if err != nil {
		return steering.Vector{}, fmt.Errorf("open the vector: %w", err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("it is no file")
	}
	if err != nil {
		return steering.Vector{}, fmt.Errorf("vector %s: %w", path, err)
	}
	v, err := steering.Decode(f, info.Size())
	if err != nil {
		return v, fmt.Errorf("vector %s cannot be used: %w; `oneiros steering train` makes one", path, err)
	}
	return v, nil
}
