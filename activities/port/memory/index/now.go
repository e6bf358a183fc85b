package index

import (
	"fmt"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// NearNow brings the index up to date by catchUp, which answers the version that it has read, and then does Near. It
// begins again when the agent was moved to another space, or lost its last vector, in between. ErrSpace.
func (x *Index) NearNow(q memory.Near, catchUp func() (Version, error)) ([]memory.Hit, error) {
	for {
		v, err := catchUp()
		if err != nil || v.Space == "" || q.Limit <= 0 {
			return nil, err
		}
		if err := v.holds(q.Space, q.V); err != nil {
			return nil, err
		}
		if hits, same := x.Near(q); same {
			return hits, nil
		}
	}
}

// SearchNow is NearNow for Search. Where nothing has a vector, words alone are compared. ErrSpace.
func (x *Index) SearchNow(q memory.Search, catchUp func() (Version, error)) (memory.Found, error) {
	for {
		v, err := catchUp()
		if err != nil {
			return memory.Found{}, err
		}
		if v.Space == "" {
			q.Space, q.V = "", nil
		}
		if q.V != nil {
			if err := v.holds(q.Space, q.V); err != nil {
				return memory.Found{}, err
			}
		}
		if found, same := x.Search(q); same {
			return found, nil
		}
	}
}

// holds says whether a vector of a space can be compared with those of the version. ErrSpace when it cannot.
func (v Version) holds(space string, vector []float32) error {
	if v.Space != space || v.Numbers != len(vector) {
		return fmt.Errorf("sought in %s with %d numbers, the agent's vectors are in %s with %d: %w",
			space, len(vector), v.Space, v.Numbers, memory.ErrSpace)
	}
	return nil
}
