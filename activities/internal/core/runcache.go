package core

import (
	"context"
	"slices"
	"sync"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/claims"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/prompt"
)

// cachedDreams is how many dreams are cached: more than a process runs at once, at about 300 KiB each.
const cachedDreams = 64

// runCache caches what does not change during a dream, so that its activities need not read it again. It may drop
// entries at any time.
type runCache struct {
	mu          sync.Mutex
	dreams      map[string]*CachedRun
	oldestFirst []string // ids of the dreams
}

// CachedRun is the cache of one dream; nil parts have not been read yet. Nothing in it may be changed.
type CachedRun struct {
	forgets   int64 // the agent's removal count when the entry was made
	spec      *activities.Spec
	self      *prompt.Self
	theme     string
	rules     *[]prompt.Line
	episodes  []*dream.Episode
	chosen    []dream.Item          // the memories that an onset chooses from
	byID      map[string]dream.Item // the same, by id
	foretold  map[string]string     // the id of the open prediction that says so, by what it says
	open      []*dream.Prediction   // the predictions that were open when they were first read
	flags     map[string][]dream.Flag
	counted   *[]claims.Association
	Shown     map[int]*Remembered
	Watch     *Watching
	Moments   hypnagogia.Moments // of the markers that are marked
	marked    []string           // their ids
	Languages map[int]hypnagogia.Language
	wordOrder *hypnagogia.WordOrder
	texts     map[int]hypnagogia.MemoryTexts

	Evidence *hypnagogia.Evidence     // what the scenarios of REM are measured by
	Prices   map[string]budget.Micros // of the calls of REM
}

// Remembered is a gathering as the lines of a prompt, with the id of the item behind each line.
type Remembered struct {
	Lines  []prompt.Line
	Behind []string
}

// those are cached items; nil unless all of them are cached.
func (r *CachedRun) those(ids []string) []dream.Item {
	items := make([]dream.Item, len(ids))
	for i, id := range ids {
		items[i] = r.byID[id]
		if items[i] == nil {
			return nil
		}
	}
	return items
}

func newRunCache() *runCache { return &runCache{dreams: map[string]*CachedRun{}} }

// Cached passes the cache of the dream to look.
func (r *Run) Cached(ctx context.Context, look func(v *CachedRun)) {
	CacheOf(r.Ports).read(ctx, r.Dream, look)
}

// read passes a dream's entry to look, which must not keep it. If the activity reads at another removal count than
// the entry, or there is no cache, it sees an empty entry.
func (c *runCache) read(ctx context.Context, dreamID string, look func(r *CachedRun)) {
	if c == nil {
		look(newCachedRun())
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	run := c.entry(dreamID)
	if r := seenForgettings(ctx); r.Set && r.Forgettings != run.forgets {
		run = newCachedRun()
	}
	look(run)
}

func newCachedRun() *CachedRun {
	return &CachedRun{
		Shown: map[int]*Remembered{}, Languages: map[int]hypnagogia.Language{},
		texts: map[int]hypnagogia.MemoryTexts{}, flags: map[string][]dream.Flag{},
	}
}

// entry is the entry of a dream, made when there is none. The caller holds the lock.
func (c *runCache) entry(dreamID string) *CachedRun {
	run, ok := c.dreams[dreamID]
	if !ok {
		run = newCachedRun()
		c.dreams[dreamID] = run
		c.oldestFirst = append(c.oldestFirst, dreamID)
		if len(c.oldestFirst) > cachedDreams {
			delete(c.dreams, c.oldestFirst[0])
			c.oldestFirst = c.oldestFirst[1:]
		}
	}
	return run
}

// dropOutdated drops a dream's entry when memories were removed since it was made.
func (c *runCache) dropOutdated(dreamID string, forgets int64) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	run := c.entry(dreamID)
	if run.spec == nil {
		run.forgets = max(run.forgets, forgets)
	}
	if run.forgets < forgets { // an activity that began earlier does not drop a newer entry
		*run = *newCachedRun()
		run.forgets = forgets
	}
}

// Drop removes a dream that has ended.
func (c *runCache) Drop(dreamID string) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.dreams, dreamID)
	c.oldestFirst = slices.DeleteFunc(c.oldestFirst, func(id string) bool { return id == dreamID })
}

// WithRunCache returns ports with a cache for running dreams.
func WithRunCache(p activities.Ports) activities.Ports {
	p.Memory = fencedStore{DreamStore: p.Memory, cache: newRunCache()}
	return p
}

// CacheOf is the cache of ports; nil: every read goes to the store.
func CacheOf(p activities.Ports) *runCache {
	s, _ := p.Memory.(fencedStore)
	return s.cache
}
