package redisstore

import (
	"sync"
	"sync/atomic"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/memory/nearest"
)

// vectorMemory is how many bytes of vectors a process keeps by default: some 700,000 vectors of 384 numbers.
const vectorMemory = 1 << 30

// hold is one agent's vectors in this process.
type hold struct {
	mu sync.RWMutex
	mark
	matrix *nearest.Matrix
	bytes  atomic.Int64
	turn   int64 // when it was last searched; kept by the shelf
}

// search answers if what is held still is of the space: somebody may have moved the agent since it was brought.
func (h *hold) search(sought memory.Vector, k int, kinds []dream.Kind) ([]memory.Hit, bool) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if h.matrix == nil || h.space != sought.Space || h.matrix.Numbers() != len(sought.V) {
		return nil, false
	}
	return h.matrix.Search(sought.V, k, kinds), true
}

// shelf holds the vectors of the agents searched lately, up to a limit of bytes.
type shelf struct {
	mu     sync.Mutex
	turns  int64
	agents map[string]*hold
}

// of gives the agent's vectors, none when it is new.
func (s *shelf) of(agent string) *hold {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.agents == nil {
		s.agents = map[string]*hold{}
	}
	h := s.agents[agent]
	if h == nil {
		h = &hold{}
		s.agents[agent] = h
	}
	s.turns++
	h.turn = s.turns
	return h
}

// weigh drops the vectors searched longest ago until the rest fits, but never the newest.
func (s *shelf) weigh(limit int64) {
	if limit == 0 {
		limit = vectorMemory
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		var total int64
		var oldest string
		for agent, h := range s.agents {
			total += h.bytes.Load()
			if o := s.agents[oldest]; o == nil || h.turn < o.turn {
				oldest = agent
			}
		}
		if total <= limit || len(s.agents) < 2 {
			return
		}
		delete(s.agents, oldest)
	}
}
