package packed

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
)

var exponentWriters = sync.Pool{New: func() any {
	w, err := flate.NewWriter(nil, flate.HuffmanOnly)
	if err != nil {
		panic(err) // the level is valid
	}
	return w
}}

// PackVector compresses numbers by about an eighth without loss. A vector's numbers have few different exponents, so
// these are stored apart and packed. Sign and fraction are stored as they are.
func PackVector(v []float32) []byte {
	exponents := make([]byte, len(v))
	out := bytes.NewBuffer(make([]byte, 0, 4*len(v)))
	out.WriteByte(form)
	for i, x := range v {
		b := math.Float32bits(x)
		exponents[i] = byte(b >> 23)
		b = b>>31<<23 | b&(1<<23-1)
		out.Write([]byte{byte(b), byte(b >> 8), byte(b >> 16)})
	}
	w, _ := exponentWriters.Get().(*flate.Writer)
	defer exponentWriters.Put(w)
	w.Reset(out)
	_, err := w.Write(exponents)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(fmt.Sprintf("pack %d numbers: %v", len(v), err)) // a buffer never fails
	}
	return out.Bytes()
}

// UnpackVector reads exactly len(out) numbers into out.
func UnpackVector(short []byte, out []float32) error {
	if len(short) < 1+3*len(out) || short[0] != form {
		return ErrForm
	}
	parts, rest := short[1:1+3*len(out)], short[1+3*len(out):]
	r, _ := readers.Get().(io.ReadCloser)
	defer readers.Put(r)
	if err := r.(flate.Resetter).Reset(bytes.NewReader(rest), nil); err != nil {
		return fmt.Errorf("%w: %w", ErrForm, err)
	}
	exponents := make([]byte, len(out))
	if n, err := io.ReadFull(r, exponents); err != nil {
		return fmt.Errorf("%w: %d exponents for %d numbers", ErrForm, n, len(out))
	}
	if n, err := r.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: more than %d exponents", ErrForm, len(out))
	}
	for i := range out {
		b := uint32(parts[3*i]) | uint32(parts[3*i+1])<<8 | uint32(parts[3*i+2])<<16
		out[i] = math.Float32frombits(b>>23<<31 | uint32(exponents[i])<<23 | b&(1<<23-1))
	}
	return nil
}

// PlainVector is a vector that is not packed: float32, little endian.
func PlainVector(v []float32) []byte {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// ReadPlainVector reads exactly len(out) numbers into out.
func ReadPlainVector(plain []byte, out []float32) error {
	if len(plain) != 4*len(out) {
		return fmt.Errorf("it has %d bytes for %d numbers", len(plain), len(out))
	}
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(plain[4*i:]))
	}
	return nil
}
