package steering

import (
	"bufio"
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

const magic = "GGUF"

// errCut says that a file is truncated.
var errCut = errors.New("the file is truncated")

// File is the header of a GGUF file.
type File struct {
	Text    map[string]string // metadata of type string
	Tensors []Tensor
	Data    int64 // offset of the tensors' data
}

// ReadFile reads the header of a GGUF file of size bytes and checks that every tensor lies within it.
func ReadFile(r io.ReaderAt, size int64) (File, error) {
	s := &source{r: bufio.NewReaderSize(io.NewSectionReader(r, 0, size), 1<<16), left: size, step: alignment}
	f := s.file()
	for _, t := range f.Tensors {
		n, found := t.Size()
		if t.Offset < 0 || t.Offset > size-f.Data || found && n > size-f.Data-t.Offset {
			s.fail("%w: tensor %s has %d bytes behind byte %d of its data, the file has %d in all", errCut, t.Name, n,
				t.Offset, size)
		}
	}
	return f, s.err
}

// source reads little-endian values and counts the bytes. After its first error it reads zeros.
type source struct {
	r    *bufio.Reader
	at   int64
	left int64
	step int64 // alignment of the tensors' data
	err  error
}

func (s *source) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf(format, args...)
	}
}

// take counts n bytes that are about to be read; false when there are fewer.
func (s *source) take(n int64) bool {
	if n < 0 || n > s.left {
		s.fail("%w, at byte %d", errCut, s.at)
	}
	if s.err == nil {
		s.at, s.left = s.at+n, s.left-n
	}
	return s.err == nil
}

// read reads a value of fixed size, which into points to, or a slice.
func (s *source) read(into any) {
	if s.take(int64(binary.Size(into))) {
		s.check(binary.Read(s.r, binary.LittleEndian, into))
	}
}

func (s *source) skip(n int64) {
	if s.take(n) {
		_, err := s.r.Discard(int(n))
		s.check(err)
	}
}

func (s *source) check(err error) {
	if err != nil {
		s.fail("%w, at byte %d: %w", errCut, s.at, err)
	}
}

func (s *source) u32() (n uint32) {
	s.read(&n)
	return n
}

func (s *source) u64() (n uint64) {
	s.read(&n)
	return n
}

// count reads how many of something follow; 0 after an error.
func (s *source) count(what string, most uint64) int {
	n := s.u64()
	if n > most {
		s.fail("it claims %d %s; no such file has more than %d", n, what, most)
	}
	if s.err != nil {
		return 0
	}
	return int(n)
}

func (s *source) textLength() int { return s.count("bytes of one text", longestText) }

func (s *source) text() string {
	n := s.textLength()
	if int64(n) > s.left { // before so much memory is taken
		s.take(int64(n))
		return ""
	}
	b := make([]byte, n)
	s.read(b)
	return string(b)
}

func (s *source) file() File {
	f := File{Text: map[string]string{}}
	var head [4]byte
	s.read(&head)
	if string(head[:]) != magic {
		s.err = errors.New("it is not a GGUF file: it does not begin with the letters GGUF")
	}
	if version := s.u32(); version < 2 || version > 3 {
		s.fail("it is GGUF of version %d; versions 2 and 3 are read", version)
	}
	tensors, keys := s.count("tensors", mostTensors), s.count("keys", mostKeys)
	for i := 0; i < keys && s.err == nil; i++ {
		s.key(&f)
	}
	for i := 0; i < tensors && s.err == nil; i++ {
		f.Tensors = append(f.Tensors, s.tensor())
	}
	f.Data = (s.at + s.step - 1) / s.step * s.step
	return f
}

// widths are the bytes of the numeric metadata types: u8 i8 u16 i16 u32 i32 f32 bool, and u64 i64 f64.
var widths = map[uint32]int64{0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}

const (
	textType  = 8
	arrayType = 9
)

// key reads one entry of the metadata. Only texts and the alignment are needed here.
func (s *source) key(f *File) {
	name, kind := s.text(), s.u32()
	width, numeric := widths[kind]
	switch {
	case kind == textType:
		f.Text[name] = s.text()
	case kind == arrayType:
		s.array(name)
	case name == "general.alignment" && width == 4:
		if n := s.u32(); n > 0 && n <= 1<<20 {
			s.step = int64(n)
		}
	case numeric:
		s.skip(width)
	default:
		s.fail("key %q is of the unknown type %d", name, kind)
	}
}

// array skips an array.
func (s *source) array(name string) {
	kind, n := s.u32(), s.count("entries of an array", 1<<28)
	width, numeric := widths[kind]
	switch {
	case numeric:
		s.skip(int64(n) * width)
	case kind == textType:
		for i := 0; i < n && s.err == nil; i++ {
			s.skip(int64(s.textLength()))
		}
	default:
		s.fail("key %q is an array of the unknown type %d", name, kind)
	}
}

func (s *source) tensor() Tensor {
	t := Tensor{Name: s.text()}
	dims := s.u32()
	if dims > mostDims {
		s.fail("tensor %s has %d dimensions; %d are the most", t.Name, dims, mostDims)
	}
	for i := uint32(0); i < dims && s.err == nil; i++ {
		t.Dims = append(t.Dims, int64(s.u64()))
	}
	t.Type, t.Offset = s.u32(), int64(s.u64())
	return t
}
