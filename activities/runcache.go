package activities

import (
	"context"
	"slices"
	"sync"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/prompt"
)

// cachedDreams is how many dreams are cached: more than a process runs at once, at about 300 KiB each.
const cachedDreams = 64

// runCache caches what does not change during a dream, so that its activities need not read it again. It may drop
// entries at any time.
type runCache struct {
	mu          sync.Mutex
	dreams      map[string]*cachedRun
	oldestFirst []string // ids of the dreams
}

// cachedRun is the cache of one dream; nil parts have not been read yet. Nothing in it may be changed.
type cachedRun struct {
	forgets   int64 // the agent's removal count when the entry was made
	spec      *Spec
	self      *prompt.Self
	theme     string
	rules     *[]prompt.Line
	episodes  []*dream.Episode
	chosen    []dream.Item          // the memories that an onset chooses from
	byID      map[string]dream.Item // the same, by id
	shown     map[int]*remembered
	watch     *watching
	markers   []hypnagogia.MarkerVector // of watch; read when it was
	languages map[int]hypnagogia.Language
}

// remembered is a gathering as the lines of a prompt, with the id of the item behind each line.
type remembered struct {
	lines  []prompt.Line
	behind []string
}

// those are cached items; nil unless all of them are cached.
func (r *cachedRun) those(ids []string) []dream.Item {
	items := make([]dream.Item, len(ids))
	for i, id := range ids {
		items[i] = r.byID[id]
		if items[i] == nil {
			return nil
		}
	}
	return items
}

func newRunCache() *runCache { return &runCache{dreams: map[string]*cachedRun{}} }

// read passes a dream's entry to look, which must not keep it. If the activity reads at another removal count than
// the entry, it sees an empty entry.
func (c *runCache) read(ctx context.Context, dreamID string, look func(r *cachedRun)) {
	if c == nil {
		look(&cachedRun{})
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	run := c.entry(dreamID)
	if r := readingOf(ctx); r.Set && r.Forgettings != run.forgets {
		run = newCachedRun()
	}
	look(run)
}

func newCachedRun() *cachedRun {
	return &cachedRun{shown: map[int]*remembered{}, languages: map[int]hypnagogia.Language{}}
}

// entry is the entry of a dream, made when there is none. The caller holds the lock.
func (c *runCache) entry(dreamID string) *cachedRun {
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

// put writes into a dream's entry, unless the activity reads at another removal count.
func (c *runCache) put(ctx context.Context, dreamID string, write func(v *cachedRun)) {
	if c != nil {
		c.read(ctx, dreamID, write)
	}
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

// drop removes a dream that has ended.
func (c *runCache) drop(dreamID string) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.dreams, dreamID)
	c.oldestFirst = slices.DeleteFunc(c.oldestFirst, func(id string) bool { return id == dreamID })
}

// WithRunCache returns ports with a cache for running dreams.
func WithRunCache(p Ports) Ports {
	p.cache = newRunCache()
	p.Memory = readingStore{p.Memory}
	return p
}
