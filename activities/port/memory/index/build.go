package index

import (
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/seed-56a03226/oneiros/internal/recall/words"
)

// How many entries are read into words at once, and how many such batches may wait for each reader.
const (
	batchSize = 256
	waiting   = 2
)

// build brings entries into an index: while the store reads, others read the words of texts, and one puts them in the
// order in which they came. A few entries, as after a commit, are put at once.
type build struct {
	index   *Index
	entries []Entry
	readers int
	texts   chan *batch // to be read
	ordered chan *batch // the same, in the order in which they came
	done    chan struct{}
	mu      sync.Mutex // of the index's terms, which searches cannot read meanwhile
}

// termsOf are the terms of a text by their numbers, with repetitions.
type termsOf struct {
	language words.Language
	numbers  []uint32
}

// reader reads the terms of texts. It is for one goroutine.
type reader struct{ words *words.Reader[uint32] }

func (b *build) reader() *reader { return &reader{words: words.NewReader(b.number)} }

func (r *reader) of(e Entry) termsOf {
	if !e.Live {
		return termsOf{}
	}
	numbers, language := r.words.Of(e.Text)
	slices.Sort(numbers)
	return termsOf{language: language, numbers: numbers}
}

// number is that of a term in the index, a new one when it has none.
func (b *build) number(term string) uint32 {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.index.terms[term]
	if n == 0 {
		n = uint32(len(b.index.terms) + 1)
		b.index.terms[strings.Clone(term)] = n
	}
	return n
}

// batch is some entries with their words, which are there when read is closed.
type batch struct {
	entries []Entry
	texts   []termsOf
	read    chan struct{}
}

func newBuild(x *Index) *build { return &build{index: x, readers: runtime.GOMAXPROCS(0)} }

// put takes an entry, whose vector is copied.
func (b *build) put(e Entry) {
	e.Vector = slices.Clone(e.Vector)
	b.entries = append(b.entries, e)
	if len(b.entries) < batchSize {
		return
	}
	if b.done == nil {
		b.begin()
	}
	full := &batch{entries: b.entries, read: make(chan struct{})}
	b.entries = make([]Entry, 0, batchSize)
	b.ordered <- full
	b.texts <- full
}

func (b *build) begin() {
	b.texts, b.ordered = make(chan *batch, waiting*b.readers), make(chan *batch, waiting*b.readers)
	b.done = make(chan struct{})
	for range b.readers {
		go func() {
			r := b.reader()
			for some := range b.texts {
				some.texts = make([]termsOf, len(some.entries))
				for i, e := range some.entries {
					some.texts[i] = r.of(e)
				}
				close(some.read)
			}
		}()
	}
	go func() {
		defer close(b.done)
		for some := range b.ordered {
			<-some.read
			for i, e := range some.entries {
				b.index.put(e, some.texts[i])
			}
		}
	}()
}

// end waits until everything is in the index.
func (b *build) end() {
	if b.done != nil {
		close(b.texts)
		close(b.ordered)
		<-b.done
	}
	r := b.reader()
	for _, e := range b.entries {
		b.index.put(e, r.of(e))
	}
}
