// Package packed writes what dreams say over and over in a few bytes: DEFLATE (RFC 1951) with a dictionary of the JSON
// that stores keep of them.
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

// first is the dictionary of form 1: the JSON of one night's items, events and attempts without their words. What has
// been packed with it can be read with it alone, so that it never changes; better words make another form.
//
//go:embed dictionary1.txt
var first []byte

// form is the first byte of what Pack writes.
const form = 1

// longestNear bounds what is used of near, so that both dictionaries fit into DEFLATE's window of 32 KiB.
const longestNear = 16 << 10

// largest bounds what Unpack makes of a few bytes, which anybody with the file may have altered.
const largest = 64 << 20

// ErrForm is returned for bytes that no Pack has written.
var ErrForm = errors.New("not packed, or altered")

// writers are used again, for each has tables of most of a megabyte.
var writers = sync.Pool{New: func() any {
	w, err := flate.NewWriterDict(nil, flate.BestCompression, first)
	if err != nil {
		panic(err) // the level is valid
	}
	return w
}}

// Pack shortens a text. near are texts that the reader has as well, such as an id that stands beside it: what repeats
// them costs next to nothing.
func Pack(plain []byte, near ...string) []byte {
	var out bytes.Buffer
	w, _ := writers.Get().(*flate.Writer)
	defer writers.Put(w)
	w.Reset(&out)
	_, err := w.Write(nearby(near))
	if err == nil {
		err = w.Flush() // what follows begins a block of its own, which the reader's dictionary stands before
	}
	from := out.Len()
	if err == nil {
		_, err = w.Write(plain)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(fmt.Sprintf("pack %d bytes: %v", len(plain), err)) // a buffer takes everything
	}
	return append([]byte{form}, out.Bytes()[from:]...)
}

// readers are used again, for each has a window of 32 KiB.
var readers = sync.Pool{New: func() any { return flate.NewReader(nil) }}

// Unpack gives back what was packed with the same near.
func Unpack(packed []byte, near ...string) ([]byte, error) {
	if len(packed) == 0 || packed[0] != form {
		return nil, ErrForm
	}
	r, _ := readers.Get().(io.ReadCloser)
	defer readers.Put(r)
	dictionary, _ := dictionaries.Get().(*bytes.Buffer)
	defer dictionaries.Put(dictionary)
	dictionary.Reset()
	dictionary.Write(first)
	dictionary.Write(nearby(near)) // what stands last is named in the fewest bits
	if err := r.(flate.Resetter).Reset(bytes.NewReader(packed[1:]), dictionary.Bytes()); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrForm, err)
	}
	out := bytes.NewBuffer(make([]byte, 0, 8*len(packed)))
	n, err := out.ReadFrom(io.LimitReader(r, largest+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrForm, err)
	case n > largest:
		return nil, fmt.Errorf("%w: it is larger than %d bytes", ErrForm, largest)
	}
	return out.Bytes(), nil
}

// nearby is as much of near as the window has room for.
func nearby(near []string) []byte {
	var all []byte
	for _, text := range near {
		all = append(all, text[:min(len(text), longestNear-len(all))]...)
	}
	return all
}

// dictionaries are used again; a reader copies what it is given.
var dictionaries = sync.Pool{New: func() any { return bytes.NewBuffer(make([]byte, 0, len(first)+longestNear)) }}
