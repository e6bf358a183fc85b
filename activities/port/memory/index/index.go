// Package index keeps an agent's live items in memory, grouped by owner, and finds exactly what is nearest in words and
// in meaning. Both stores feed it.
package index

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/recall/words"
)

// Version is a state of an agent's memory. Another space or another count of erasures makes an index start again; a
// higher VectorRevision brings what has changed since.
type Version struct {
	Erasures       int64
	Space          string // of the vectors; empty when there are none
	Numbers        int    // in each vector
	VectorRevision int64  // rises with every change of an item
	Source         string // what the store read from; those of another source may be lower. Empty when it never changes
}

// same says whether an index of one version can be brought to the other.
func (v Version) same(o Version) bool {
	return v.Source == o.Source && v.Erasures == o.Erasures && v.Space == o.Space && v.Numbers == o.Numbers
}

// Entry is an item as a store feeds it. An item that is not live leaves the index.
type Entry struct {
	ID     string
	Kind   dream.Kind
	Owner  string
	Live   bool
	Dreamt bool
	At     time.Time
	Text   string    // its words are indexed
	Vector []float32 // nil: it has none in the space; else of the version's length. It is copied.
}

// Index is the live items of one agent. Many may search at once.
type Index struct {
	mu      sync.RWMutex
	version Version
	groups  map[string]*group
	at      map[string]address
	terms   map[string]uint32 // the number of each term; 0 is none
	spoken  [words.Languages]int
	bytes   atomic.Int64
	used    int64 // when it was last asked for; kept by the cache
}

// address says where an item stands.
type address struct {
	group *group
	owner string
	row   int
}

// New makes an empty index.
func New() *Index {
	x := &Index{}
	x.clear(Version{Erasures: -1})
	return x
}

func (x *Index) clear(v Version) {
	x.version = v
	x.version.VectorRevision = -1
	x.groups, x.at = map[string]*group{}, map[string]address{}
	x.terms, x.spoken = map[string]uint32{}, [words.Languages]int{}
	x.bytes.Store(0)
}

// Current says whether the index has seen a version, or a later one.
func (x *Index) Current(v Version) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.current(v)
}

func (x *Index) current(v Version) bool {
	erased := x.version.Source == v.Source && x.version.Erasures > v.Erasures
	return erased || x.version.same(v) && x.version.VectorRevision >= v.VectorRevision
}

// CatchUp brings the index to a version. read puts every entry that changed after the vector revision since, -1 for all
// of them, and answers the revision up to which it read. Where it fails the index is empty again.
func (x *Index) CatchUp(v Version, read func(since int64, put func(Entry)) (int64, error)) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.current(v) {
		return nil
	}
	if !x.version.same(v) {
		x.clear(v)
	}
	b := newBuild(x)
	vectorRevision, err := read(x.version.VectorRevision, b.put)
	b.end()
	if err != nil {
		x.clear(Version{Erasures: -1})
		return err
	}
	x.version.VectorRevision = vectorRevision
	total := int64(termBytes * len(x.terms))
	for _, g := range x.groups {
		total += g.bytes()
	}
	x.bytes.Store(total)
	return nil
}

// Len counts the items.
func (x *Index) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.at)
}

// Bytes is about what the index takes.
func (x *Index) Bytes() int64 { return x.bytes.Load() }

func (x *Index) put(e Entry, t termsOf) {
	at, found := x.at[e.ID]
	if found && (!e.Live || at.owner != e.Owner) {
		x.remove(e.ID, at)
		found = false
	}
	if !e.Live {
		return
	}
	if found {
		x.spoken[at.group.erase(at.row)]--
	} else {
		at = x.take(e)
	}
	at.group.set(at.row, kindNumber(e.Kind), e.Dreamt, e.Vector)
	at.group.times[at.row] = e.At.Unix()
	at.group.write(at.row, t.language, t.numbers)
	x.spoken[t.language]++
}

// take gives an entry a row in its owner's group.
func (x *Index) take(e Entry) address {
	g := x.groups[e.Owner]
	if g == nil {
		g = &group{postings: map[uint32]*[]posting{}, stride: x.version.Numbers}
		x.groups[e.Owner] = g
	}
	at := address{group: g, owner: e.Owner, row: g.take(e.ID)}
	x.at[e.ID] = at
	return at
}

func (x *Index) remove(id string, at address) {
	x.spoken[at.group.erase(at.row)]--
	at.group.drop(at.row)
	delete(x.at, id)
	if at.group.empty() {
		delete(x.groups, at.owner)
	}
}

func kindNumber(kind dream.Kind) uint8 { return uint8(max(0, slices.Index(dream.Kinds, kind))) }
