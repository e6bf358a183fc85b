package sqlitestore

import "sync"

// shelf holds the matrices of the agents searched lately, up to a limit of bytes.
type shelf struct {
	mu     sync.Mutex
	limit  int64
	turns  int64
	agents map[string]*matrix
}

// of gives the agent's matrix, an empty one when it is new.
func (s *shelf) of(agent string) *matrix {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.agents == nil {
		s.agents = map[string]*matrix{}
	}
	m := s.agents[agent]
	if m == nil {
		m = &matrix{life: life{tide: -1, scrubs: -1}}
		s.agents[agent] = m
	}
	s.turns++
	m.turn = s.turns
	return m
}

// weigh drops the matrices searched longest ago until the rest fits, but never the newest.
func (s *shelf) weigh() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		var total int64
		var oldest string
		for agent, m := range s.agents {
			total += m.bytes.Load()
			if o := s.agents[oldest]; o == nil || m.turn < o.turn {
				oldest = agent
			}
		}
		if total <= s.limit || len(s.agents) < 2 {
			return
		}
		delete(s.agents, oldest)
	}
}
