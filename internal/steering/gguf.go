package steering

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Limits for reading a GGUF file: real files have some hundred tensors and some ten thousand vocabulary entries.
const (
	mostKeys    = 1 << 16
	mostTensors = 1 << 20
	longestText = 1 << 24
	mostDims    = 4
	alignment   = 32 // of tensor data, unless general.alignment says otherwise
)

var magic = []byte("GGUF")

// errCut says that a file is truncated.
var errCut = errors.New("the file is truncated")

// File is the header of a GGUF file.
type File struct {
	Version int
	Text    map[string]string // metadata of type string
	Number  map[string]int64  // metadata of the integer types
	Tensors []Tensor
	Data    int64 // offset of the tensors' data
}

// ReadFile reads the header of a GGUF file of size bytes and checks that every tensor lies within it.
func ReadFile(r io.ReaderAt, size int64) (File, error) {
	s := &source{r: bufio.NewReaderSize(io.NewSectionReader(r, 0, size), 1<<16), left: size}
	f, err := s.file()
	if err != nil {
		return f, err
	}
	for _, t := range f.Tensors {
		n, found := t.Size()
		if t.Offset < 0 || t.Offset > size-f.Data || found && n > size-f.Data-t.Offset {
			return f,
				fmt.Errorf("%w: tensor %s has %d bytes behind byte %d of its data, the file has %d in all", errCut,
					t.Name, n, t.Offset, size)
		}
	}
	return f, nil
}

// source reads little-endian values and counts the bytes.
type source struct {
	r    *bufio.Reader
	at   int64
	left int64
}

func (s *source) bytes(n int64) ([]byte, error) {
	if n < 0 || n > s.left {
		return nil, fmt.Errorf("%w, at byte %d", errCut, s.at)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(s.r, b); err != nil {
		return nil, fmt.Errorf("%w, at byte %d: %w", errCut, s.at, err)
	}
	s.at, s.left = s.at+n, s.left-n
	return b, nil
}

func (s *source) u32() (uint32, error) {
	b, err := s.bytes(4)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(b), nil
}

func (s *source) u64() (uint64, error) {
	b, err := s.bytes(8)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b), nil
}

func (s *source) count(what string, most uint64) (int, error) {
	n, err := s.u64()
	if err == nil && n > most {
		err = fmt.Errorf("it claims %d %s; no such file has more than %d", n, what, most)
	}
	return int(n), err
}

func (s *source) text() (string, error) {
	n, err := s.count("bytes of one text", longestText)
	if err != nil {
		return "", err
	}
	b, err := s.bytes(int64(n))
	return string(b), err
}

func (s *source) file() (File, error) {
	f := File{Text: map[string]string{}, Number: map[string]int64{}}
	head, err := s.bytes(4)
	if err != nil || !bytes.Equal(head, magic) {
		return f, errors.New("it is not a GGUF file: it does not begin with the letters GGUF")
	}
	version, err := s.u32()
	if err != nil {
		return f, err
	}
	f.Version = int(version)
	if version < 2 || version > 3 {
		return f, fmt.Errorf("it is GGUF of version %d; versions 2 and 3 are read", version)
	}
	tensors, err := s.count("tensors", mostTensors)
	if err != nil {
		return f, err
	}
	keys, err := s.count("keys", mostKeys)
	if err != nil {
		return f, err
	}
	for range keys {
		if err := s.key(&f); err != nil {
			return f, err
		}
	}
	for range tensors {
		t, err := s.tensor()
		if err != nil {
			return f, err
		}
		f.Tensors = append(f.Tensors, t)
	}
	step := int64(alignment)
	if n := f.Number["general.alignment"]; n > 0 && n <= 1<<20 {
		step = n
	}
	f.Data = (s.at + step - 1) / step * step
	return f, nil
}

// widths are the bytes of the numeric metadata types: u8 i8 u16 i16 u32 i32 f32 bool, and u64 i64 f64.
var widths = map[uint32]int64{0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}

const (
	textType  = 8
	arrayType = 9
)

func (s *source) key(f *File) error {
	name, err := s.text()
	if err != nil {
		return err
	}
	kind, err := s.u32()
	if err != nil {
		return err
	}
	switch kind {
	case textType:
		f.Text[name], err = s.text()
		return err
	case arrayType:
		return s.array(name)
	}
	width, ok := widths[kind]
	if !ok {
		return fmt.Errorf("key %q is of the unknown type %d", name, kind)
	}
	b, err := s.bytes(width)
	if err == nil && kind != 6 && kind != 12 {
		f.Number[name] = whole(b, kind)
	}
	return err
}

func whole(b []byte, kind uint32) int64 {
	switch kind {
	case 1:
		return int64(int8(b[0]))
	case 2:
		return int64(binary.LittleEndian.Uint16(b))
	case 3:
		return int64(int16(binary.LittleEndian.Uint16(b)))
	case 4:
		return int64(binary.LittleEndian.Uint32(b))
	case 5:
		return int64(int32(binary.LittleEndian.Uint32(b)))
	case 10, 11:
		return int64(binary.LittleEndian.Uint64(b))
	}
	return int64(b[0])
}

// array skips an array; arrays are not needed here.
func (s *source) array(name string) error {
	kind, err := s.u32()
	if err != nil {
		return err
	}
	n, err := s.count("entries of an array", 1<<28)
	if err != nil {
		return err
	}
	if width, ok := widths[kind]; ok {
		return s.skip(int64(n) * width)
	}
	if kind != textType {
		return fmt.Errorf("key %q is an array of the unknown type %d", name, kind)
	}
	for range n {
		long, err := s.count("bytes of one text", longestText)
		if err != nil {
			return err
		}
		if err := s.skip(int64(long)); err != nil {
			return err
		}
	}
	return nil
}

func (s *source) skip(n int64) error {
	if n < 0 || n > s.left {
		return fmt.Errorf("%w, at byte %d", errCut, s.at)
	}
	if _, err := s.r.Discard(int(n)); err != nil {
		return fmt.Errorf("%w, at byte %d: %w", errCut, s.at, err)
	}
	s.at, s.left = s.at+n, s.left-n
	return nil
}

func (s *source) tensor() (Tensor, error) {
	var t Tensor
	var err error
	t.Name, err = s.text()
	if err != nil {
		return t, err
	}
	dims, err := s.u32()
	if err != nil {
		return t, err
	}
	if dims > mostDims {
		return t, fmt.Errorf("tensor %s has %d dimensions; %d are the most", t.Name, dims, mostDims)
	}
	for range dims {
		d, err := s.u64()
		if err != nil {
			return t, err
		}
		t.Dims = append(t.Dims, int64(d))
	}
	t.Type, err = s.u32()
	if err != nil {
		return t, err
	}
	offset, err := s.u64()
	t.Offset = int64(offset)
	return t, err
}
