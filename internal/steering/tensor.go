package steering

import "math"

// Tensor is one array of a GGUF file. Offset counts from the file's Data.
type Tensor struct {
	Name   string
	Dims   []int64
	Type   uint32 // 0 is F32
	Offset int64
}

// Size is the bytes of a tensor, or MaxInt64 when they exceed any file; false for an unknown type.
func (t Tensor) Size() (int64, bool) {
	shape, ok := shapes[t.Type]
	if !ok {
		return 0, false
	}
	n := int64(1)
	for _, d := range t.Dims {
		if d < 0 || d > 0 && n > math.MaxInt64/mostBytes/d {
			return math.MaxInt64, true
		}
		n *= d
	}
	return n / shape.block * shape.bytes, true
}

// mostBytes is more than the bytes of any block.
const mostBytes = 256

// shapes are elements and bytes of one block by GGUF type (ggml's type table).
var shapes = map[uint32]struct{ block, bytes int64 }{
	0: {1, 4}, 1: {1, 2}, 2: {32, 18}, 3: {32, 20}, 6: {32, 22}, 7: {32, 24}, 8: {32, 34}, 10: {256, 84},
	11: {256, 110},
	12: {256, 144}, 13: {256, 176}, 14: {256, 210}, 16: {256, 66}, 17: {256, 74}, 18: {256, 98}, 19: {256, 50},
	20: {32, 18},
	21: {256, 110}, 22: {256, 82}, 23: {256, 136}, 24: {1, 1}, 25: {1, 2}, 26: {1, 4}, 27: {1, 8}, 28: {1, 8},
	29: {256, 56}, 30: {1, 2},
}
