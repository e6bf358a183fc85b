// Package packed compresses the repetitive JSON and vectors that dreams write: DEFLATE (RFC 1951) with a preset
// dictionary.
package packed

import (
	"bytes"
	"compress/flate"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"sync"
)

// dictionary1 is the dictionary of form 1: the JSON of one dream's items, events and attempts without their words. It
// must never change, because what was packed with it can be read with it only. A better dictionary makes another form.
//
//go:embed dictionary1.txt
var dictionary1 []byte

// form is the first byte of the output of Pack.
const form = 1

// maxNear is how many bytes of near are used, so that both dictionaries fit into DEFLATE's window of 32 KiB.
const maxNear = 16 << 10

// maxUnpacked bounds the output of Unpack, because a small input may have been altered to expand without limit.
const maxUnpacked = 64 << 20

// ErrForm is returned for bytes that Pack has not written.
var ErrForm = errors.New("not packed, or altered")

// writers are pooled, because each has tables of almost a megabyte.
var writers = sync.Pool{New: func() any {
	w, err := flate.NewWriterDict(nil, flate.BestCompression, dictionary1)
	if err != nil {
		panic(err) // the level is valid
	}
	return w
}}

// Pack compresses a text. near are texts that the reader also has, such as the id in the next column: repetitions of
// them take almost no space.
func Pack(plain []byte, near ...string) []byte {
	var out bytes.Buffer
	w, _ := writers.Get().(*flate.Writer)
	defer writers.Put(w)
	w.Reset(&out)
	_, err := w.Write(fitNear(near))
	if err == nil {
		err = w.Flush() // the text begins a new block, so that the reader can use near as its dictionary
	}
	from := out.Len()
	if err == nil {
		_, err = w.Write(plain)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(fmt.Sprintf("pack %d bytes: %v", len(plain), err)) // a buffer never fails
	}
	return append([]byte{form}, out.Bytes()[from:]...)
}

// readers are pooled, because each has a window of 32 KiB.
var readers = sync.Pool{New: func() any { return flate.NewReader(nil) }}

// Unpack returns what was packed with the same near.
func Unpack(packed []byte, near ...string) ([]byte, error) {
	if len(packed) == 0 || packed[0] != form {
		return nil, ErrForm
	}
	r, _ := readers.Get().(io.ReadCloser)
	defer readers.Put(r)
	dictionary, _ := dictionaries.Get().(*bytes.Buffer)
	defer dictionaries.Put(dictionary)
	dictionary.Reset()
	dictionary.Write(dictionary1)
	dictionary.Write(fitNear(near)) // the end of the dictionary is referenced with the fewest bits
	if err := r.(flate.Resetter).Reset(bytes.NewReader(packed[1:]), dictionary.Bytes()); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrForm, err)
	}
	out := bytes.NewBuffer(make([]byte, 0, 8*len(packed)))
	n, err := out.ReadFrom(io.LimitReader(r, maxUnpacked+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrForm, err)
	case n > maxUnpacked:
		return nil, fmt.Errorf("%w: it is larger than %d bytes", ErrForm, maxUnpacked)
	}
	return out.Bytes(), nil
}

// fitNear returns as much of near as the window has room for.
func fitNear(near []string) []byte {
	var all []byte
	for _, text := range near {
		all = append(all, text[:min(len(text), maxNear-len(all))]...)
	}
	return all
}

// dictionaries are pooled, because a reader copies its dictionary.
var dictionaries = sync.Pool{New: func() any { return bytes.NewBuffer(make([]byte, 0, len(dictionary1)+maxNear)) }}
