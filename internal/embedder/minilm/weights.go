package minilm

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Shape is what differs between encoders of this architecture. It is read from config.json.
type Shape struct {
	Layers       int     `json:"num_hidden_layers"`
	Heads        int     `json:"num_attention_heads"`
	Width        int     `json:"hidden_size"`
	Intermediate int     `json:"intermediate_size"`
	Positions    int     `json:"max_position_embeddings"`
	Vocabulary   int     `json:"vocab_size"`
	Epsilon      float64 `json:"layer_norm_eps"`
	Activation   string  `json:"hidden_act"`
	Kind         string  `json:"model_type"`
}

// most bounds what a shape may say, so that a broken file cannot ask for all memory: BERT large has 24 layers of 1,024.
const most = 1 << 16

func readShape(config []byte) (Shape, error) {
	var s Shape
	if err := json.Unmarshal(config, &s); err != nil {
		return s, fmt.Errorf("config.json: %w", err)
	}
	for _, f := range []struct {
		name  string
		value int
	}{
		{"num_hidden_layers", s.Layers},
		{"num_attention_heads", s.Heads},
		{"hidden_size", s.Width},
		{"intermediate_size", s.Intermediate},
		{"max_position_embeddings", s.Positions},
		{"vocab_size", s.Vocabulary},
	} {
		if f.value <= 0 || f.value > most {
			return s, fmt.Errorf("config.json: %s is %d; it must lie between 1 and %d", f.name, f.value, most)
		}
	}
	switch {
	case s.Kind != "bert":
		return s, fmt.Errorf("config.json: model_type is %q; it must be \"bert\"", s.Kind)
	case s.Activation != "gelu":
		return s, fmt.Errorf("config.json: hidden_act is %q; it must be \"gelu\"", s.Activation)
	case s.Width%s.Heads != 0:
		return s, fmt.Errorf("config.json: hidden_size %d is no multiple of num_attention_heads %d", s.Width, s.Heads)
	case s.Epsilon < 0 || s.Epsilon > 1:
		return s, fmt.Errorf("config.json: layer_norm_eps is %v; it must lie between 0 and 1", s.Epsilon)
	}
	return s, nil
}

// tensors reads a safetensors file: a length, a JSON header by name, then the numbers. It keeps its first error, and
// finds nothing after it.
type tensors struct {
	header map[string]tensor
	data   []byte
	err    error
}

type tensor struct {
	Type  string `json:"dtype"`
	Shape []int  `json:"shape"`
	Place [2]int `json:"data_offsets"`
}

func readTensors(file []byte) (*tensors, error) {
	if len(file) < 8 {
		return nil, fmt.Errorf("safetensors: the file has %d bytes; a header takes 8", len(file))
	}
	n := binary.LittleEndian.Uint64(file)
	if n > uint64(len(file)-8) {
		return nil, fmt.Errorf("safetensors: a header of %d bytes is said to stand in a file of %d", n, len(file))
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(file[8:8+n], &raw); err != nil {
		return nil, fmt.Errorf("safetensors: header: %w", err)
	}
	t := &tensors{header: make(map[string]tensor, len(raw)), data: file[8+n:]}
	for name, each := range raw {
		if name == "__metadata__" {
			continue
		}
		var one tensor
		if err := json.Unmarshal(each, &one); err != nil {
			return nil, fmt.Errorf("safetensors: %s: %w", name, err)
		}
		t.header[name] = one
	}
	return t, nil
}

// find returns the bytes of a tensor of half or single precision with this shape, and how many bytes a number takes.
func (t *tensors) find(name string, shape ...int) (data []byte, width int) {
	one, found := t.header[name]
	width = map[string]int{"F16": 2, "F32": 4}[one.Type]
	size := width
	for _, n := range shape {
		size *= n
	}
	from, to := one.Place[0], one.Place[1]
	switch {
	case t.err != nil:
		return nil, 1
	case !found:
		t.err = fmt.Errorf("safetensors: the tensor %s is missing", name)
	case width == 0:
		t.err = fmt.Errorf("safetensors: %s has the type %q; it must be F16 or F32", name, one.Type)
	case !slices.Equal(one.Shape, shape):
		t.err = fmt.Errorf("safetensors: %s has the shape %v; it must be %v", name, one.Shape, shape)
	case from < 0 || to > len(t.data) || to-from != size:
		t.err = fmt.Errorf("safetensors: %s lies at bytes %d to %d of %d; it needs %d", name, from, to, len(t.data), size)
	default:
		return t.data[from:to], width
	}
	return nil, 1
}

func (t *tensors) floats(name string, shape ...int) []float32 {
	data, width := t.find(name, shape...)
	out := make([]float32, len(data)/width)
	decode(out, data, width)
	return out
}

func decode(out []float32, data []byte, width int) {
	for i := range out {
		if width == 2 {
			out[i] = half(binary.LittleEndian.Uint16(data[2*i:]))
		} else {
			out[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
		}
	}
}

// half reads an IEEE 754 number of half precision.
func half(bits uint16) float32 {
	sign := uint32(bits&0x8000) << 16
	exponent, fraction := uint32(bits>>10)&0x1F, uint32(bits)&0x3FF
	switch exponent {
	case 0: // zero and the numbers below the smallest normal one
		value := float32(fraction) / (1 << 24)
		return math.Float32frombits(math.Float32bits(value) | sign)
	case 0x1F:
		return math.Float32frombits(sign | 0x7F800000 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
}

// readVocabulary reads the pieces of a tokenizer.json in the order of their numbers.
func readVocabulary(tokenizer []byte) ([]string, error) {
	var file struct {
		Normalizer struct {
			Lowercase bool `json:"lowercase"`
		} `json:"normalizer"`
		Model struct {
			Type  string         `json:"type"`
			Vocab map[string]int `json:"vocab"`
		} `json:"model"`
	}
	if err := json.Unmarshal(tokenizer, &file); err != nil {
		return nil, fmt.Errorf("tokenizer.json: %w", err)
	}
	if file.Model.Type != "WordPiece" && file.Model.Type != "" {
		return nil, fmt.Errorf("tokenizer.json: the model is %q; it must be WordPiece", file.Model.Type)
	}
	if !file.Normalizer.Lowercase {
		return nil, errors.New("tokenizer.json: the vocabulary is cased; only uncased ones can be read")
	}
	pieces := make([]string, len(file.Model.Vocab))
	for piece, id := range file.Model.Vocab {
		if id < 0 || id >= len(pieces) || pieces[id] != "" {
			return nil,
				fmt.Errorf("tokenizer.json: the piece %q has the number %d among %d, which is taken or outside",
					piece, id, len(pieces))
		}
		pieces[id] = piece
	}
	return pieces, nil
}
