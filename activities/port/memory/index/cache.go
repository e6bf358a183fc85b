package index

import "sync"

// Cache holds the indexes of the agents searched lately, up to a limit of bytes.
type Cache struct {
	mu     sync.Mutex
	uses   int64
	agents map[string]*Index
}

// Of gives the agent's index, an empty one when it is new.
func (c *Cache) Of(agent string) *Index {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.agents == nil {
		c.agents = map[string]*Index{}
	}
	x := c.agents[agent]
	if x == nil {
		x = New()
		c.agents[agent] = x
	}
	c.uses++
	x.used = c.uses
	return x
}

// Drop lets go of an agent's index.
func (c *Cache) Drop(agent string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.agents, agent)
}

// Trim drops the indexes used longest ago until the rest takes at most limit bytes, but never the newest.
func (c *Cache) Trim(limit int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		var total int64
		var oldest string
		for agent, x := range c.agents {
			total += x.Bytes()
			if o := c.agents[oldest]; o == nil || x.used < o.used {
				oldest = agent
			}
		}
		if total <= limit || len(c.agents) < 2 {
			return
		}
		delete(c.agents, oldest)
	}
}

// Agents counts the indexes held.
func (c *Cache) Agents() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.agents)
}

// Holds says whether the cache holds the agent's index.
func (c *Cache) Holds(agent string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.agents[agent] != nil
}
