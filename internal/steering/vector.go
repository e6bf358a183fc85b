// Package steering reads, writes, learns and measures steering vectors, which make a model's answers more creative.
package steering

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Vector is a unit direction for each of some layers of a model.
type Vector struct {
	Model  string            // the architecture it was learned on, such as "llama"; informational
	Layers map[int][]float32 // by layer, from 1: layer N is added to the output of the model's layer N, counted from 0
}

// Dim is the width of its directions; 0 when there are none.
func (v Vector) Dim() int {
	for _, d := range v.Layers {
		return len(d)
	}
	return 0
}

// Span is its first and its last layer; zeros when there are none.
func (v Vector) Span() (first, last int) {
	layers := slices.Sorted(maps.Keys(v.Layers))
	if len(layers) == 0 {
		return 0, 0
	}
	return layers[0], layers[len(layers)-1]
}

// Validate returns why llama.cpp would refuse the vector.
func (v Vector) Validate() error {
	if len(v.Layers) == 0 {
		return errors.New("it has no direction")
	}
	dim := v.Dim()
	for layer, d := range v.Layers {
		if layer < 1 {
			return fmt.Errorf("it has a direction of layer %d; the first layer that can be steered is 1", layer)
		}
		if len(d) != dim || dim == 0 {
			return fmt.Errorf("its direction of layer %d has %d numbers where others have %d", layer, len(d), dim)
		}
		for _, x := range d {
			if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
				return fmt.Errorf("its direction of layer %d holds %v", layer, x)
			}
		}
	}
	return nil
}

// Encode writes the GGUF file that llama.cpp and repeng read: one F32 tensor direction.N per layer.
func (v Vector) Encode() ([]byte, error) {
	if err := v.Validate(); err != nil {
		return nil, fmt.Errorf("write the vector: %w", err)
	}
	layers := slices.Sorted(maps.Keys(v.Layers))
	var out bytes.Buffer
	put := func(values ...any) {
		for _, x := range values {
			if s, ok := x.(string); ok {
				_ = binary.Write(&out, binary.LittleEndian, uint64(len(s)))
				out.WriteString(s)
				continue
			}
			_ = binary.Write(&out, binary.LittleEndian, x)
		}
	}
	out.WriteString(magic)
	put(uint32(3), uint64(len(layers)), uint64(3))
	put("general.architecture", uint32(textType), "controlvector")
	put("controlvector.model_hint", uint32(textType), v.Model)
	put("controlvector.layer_count", uint32(5), int32(len(layers)))
	size := uint64((v.Dim()*4 + alignment - 1) / alignment * alignment)
	for i, layer := range layers {
		put("direction."+strconv.Itoa(layer), uint32(1), uint64(v.Dim()), uint32(0), uint64(i)*size)
	}
	pad := func() { out.Write(make([]byte, (alignment-out.Len()%alignment)%alignment)) }
	pad()
	for _, layer := range layers {
		put(v.Layers[layer])
		pad()
	}
	return out.Bytes(), nil
}

// Decode reads a control vector in the layout of llama.cpp and repeng.
func Decode(r io.ReaderAt, size int64) (Vector, error) {
	f, err := ReadFile(r, size)
	if err != nil {
		return Vector{}, err
	}
	v := Vector{Model: f.Text["controlvector.model_hint"], Layers: map[int][]float32{}}
	for _, t := range f.Tensors {
		number, ok := strings.CutPrefix(t.Name, "direction.")
		if !ok {
			return v,
				fmt.Errorf(
					"it holds the tensor %q; a control vector holds only direction.N; a model is not a control vector",
					t.Name)
		}
		layer, err := strconv.Atoi(number)
		if err != nil || layer < 1 {
			return v, fmt.Errorf("its tensor %q names no layer from 1 up", t.Name)
		}
		if t.Type != 0 || len(t.Dims) != 1 || t.Dims[0] <= 0 {
			return v,
				fmt.Errorf("its tensor %s is of type %d with dimensions %v; it must be one row of F32", t.Name,
					t.Type, t.Dims)
		}
		if v.Layers[layer] != nil {
			return v, fmt.Errorf("it holds %s twice", t.Name)
		}
		d := make([]float32, t.Dims[0])
		if err := binary.Read(io.NewSectionReader(r, f.Data+t.Offset, 4*t.Dims[0]), binary.LittleEndian,
			d); err != nil {
			return v, fmt.Errorf("read %s: %w", t.Name, err)
		}
		v.Layers[layer] = d
	}
	return v, v.Validate()
}

// Flat is the buffer that llama.cpp takes: alpha times each direction from the first to the last layer of the span,
// for layers 1 to depth-1 in order, with zeros where there is no direction.
func (v Vector) Flat(depth, from, to int, alpha float64) []float32 {
	dim := v.Dim()
	flat := make([]float32, dim*max(0, depth-1))
	for layer, d := range v.Layers {
		if layer < from || layer > to || layer >= depth {
			continue
		}
		for i, x := range d {
			flat[(layer-1)*dim+i] = float32(alpha) * x
		}
	}
	return flat
}
