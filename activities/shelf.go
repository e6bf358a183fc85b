package activities

import (
	"context"
	"slices"
	"sync"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/prompt"
)

// shelved is how many dreams a process keeps at hand: more than it dreams at once, at about 300 KiB each.
const shelved = 64

// runCache keeps at hand what never changes while a dream lasts, so that each of its deeds does not read it again. It
// may forget at any time.
type runCache struct {
	mu     sync.Mutex
	dreams map[string]*cachedRun
	order  []string // oldest first
}

// cachedRun is what is known of one dream; nil parts have not been read yet. Nothing in it may be changed.
type cachedRun struct {
	forgets  int64 // the agent's forgettings when the volume was begun
	spec     *Spec
	self     *prompt.Self
	theme    string
	rules    *[]prompt.Line
	episodes []*dream.Episode
	chosen   []dream.Item          // what an onset chooses from
	met      map[string]dream.Item // the same, by id
	shown    map[int]*remembered
	watch    *watching
	markers  []hypnagogia.Placed // of watch; read when it was
	tongues  map[int]hypnagogia.Tongue
}

// remembered is a gathering as the lines of a prompt, with the item behind each line.
type remembered struct {
	lines  []prompt.Line
	behind []string
}

// those are items that the volume has at hand; nil unless it has all of them.
func (v *cachedRun) those(ids []string) []dream.Item {
	items := make([]dream.Item, len(ids))
	for i, id := range ids {
		items[i] = v.met[id]
		if items[i] == nil {
			return nil
		}
	}
	return items
}

func newRunCache() *runCache { return &runCache{dreams: map[string]*cachedRun{}} }

// read looks at a dream's volume. The function must not keep it. An activity that reads as of another forgetting than
// the volume finds nothing at hand.
func (s *runCache) read(ctx context.Context, dreamID string, look func(v *cachedRun)) {
	if s == nil {
		look(&cachedRun{})
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.volume(dreamID)
	if r := readingOf(ctx); r.Known && r.Forgettings != v.forgets {
		v = emptyVolume()
	}
	look(v)
}

func emptyVolume() *cachedRun {
	return &cachedRun{shown: map[int]*remembered{}, tongues: map[int]hypnagogia.Tongue{}}
}

// volume is what is known of a dream. The caller holds the lock.
func (s *runCache) volume(dreamID string) *cachedRun {
	v, ok := s.dreams[dreamID]
	if !ok {
		v = emptyVolume()
		s.dreams[dreamID] = v
		s.order = append(s.order, dreamID)
		if len(s.order) > shelved {
			delete(s.dreams, s.order[0])
			s.order = s.order[1:]
		}
	}
	return v
}

// put writes into a dream's volume, unless that is of another forgetting than what the activity read.
func (s *runCache) put(ctx context.Context, dreamID string, write func(v *cachedRun)) {
	if s != nil {
		s.read(ctx, dreamID, write)
	}
}

// fresh drops a dream's volume when something of the agent was forgotten since it was begun.
func (s *runCache) fresh(dreamID string, forgets int64) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.volume(dreamID)
	if v.spec == nil {
		v.forgets = max(v.forgets, forgets)
	}
	if v.forgets < forgets { // an activity that began to read before is not heeded
		*v = *emptyVolume()
		v.forgets = forgets
	}
}

// drop forgets a dream that has ended.
func (s *runCache) drop(dreamID string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.dreams, dreamID)
	s.order = slices.DeleteFunc(s.order, func(id string) bool { return id == dreamID })
}

// Shelve makes ports whose deeds keep at hand what never changes while a dream lasts.
func Shelve(p Ports) Ports {
	p.cache = newRunCache()
	p.Memory = readingStore{p.Memory}
	return p
}
