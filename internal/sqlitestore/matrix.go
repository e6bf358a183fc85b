package sqlitestore

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/seed-56a03226/oneiros/internal/dream"
)

// matrix is one agent's vectors in memory, a unit row each, padded with zeros to a multiple of eight numbers.
type matrix struct {
	mu     sync.RWMutex
	life   life // as of which the rows are
	stride int
	rows   []float32
	ids    []string
	kinds  []uint8 // place in dream.Kinds
	live   []bool
	at     map[string]int
	bytes  atomic.Int64
	turn   int64 // when it was last searched; kept by the shelf
}

// catchUp reads what the file has that the matrix lacks. Erasure and a change of space start it again.
func (m *matrix) catchUp(d deal, agent string, l life) error {
	m.mu.RLock()
	current := m.life.scrubs > l.scrubs || m.fits(l) && m.life.tide >= l.tide
	m.mu.RUnlock()
	if current {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.life.scrubs > l.scrubs {
		return nil
	}
	if !m.fits(l) {
		m.clear(l)
		if err := m.reserve(d, agent, l); err != nil {
			return err
		}
	}
	if m.life.tide >= l.tide {
		return nil
	}
	v := make([]float32, l.dim)
	err := d.each("SELECT id, kind, live, v FROM vectors WHERE agent = ? AND tide > ? AND space = ?", []any{agent, m.life.tide, l.space},
		func(scan func(...any) error) error {
			var id, kind string
			var live bool
			var packed []byte
			if err := scan(&id, &kind, &live, &packed); err != nil {
				return err
			}
			if !unpackVector(packed, v) {
				return fmt.Errorf("vector of %s has %d bytes; space %s has %d numbers", id, len(packed), l.space, l.dim)
			}
			m.put(id, kind, live, v)
			return nil
		})
	if err != nil {
		m.clear(life{})
		return err
	}
	m.life = l
	m.bytes.Store(int64(4*cap(m.rows) + 96*len(m.ids))) // a row, its id, its place in the map
	return nil
}

func (m *matrix) fits(l life) bool {
	return m.life.scrubs == l.scrubs && m.life.space == l.space && m.life.dim == l.dim
}

func (m *matrix) clear(l life) {
	m.stride = int(l.dim+7) / 8 * 8
	m.rows, m.ids, m.kinds, m.live, m.at = nil, nil, nil, nil, map[string]int{}
	m.bytes.Store(0)
	m.life = life{scrubs: l.scrubs, space: l.space, dim: l.dim, tide: -1}
}

// reserve makes room for all rows at once.
func (m *matrix) reserve(d deal, agent string, l life) error {
	var n int
	if _, err := d.one("SELECT count(*) FROM vectors INDEXED BY sqlite_autoindex_vectors_1 WHERE agent = ? AND space = ?", []any{agent, l.space}, &n); err != nil {
		return err
	}
	m.rows = make([]float32, 0, (n+n/16)*m.stride)
	m.ids, m.kinds, m.live = make([]string, 0, n), make([]uint8, 0, n), make([]bool, 0, n)
	m.at = make(map[string]int, n)
	return nil
}

func (m *matrix) put(id, kind string, live bool, v []float32) {
	i, known := m.at[id]
	if !known {
		i = len(m.ids)
		m.at[id] = i
		m.ids = append(m.ids, id)
		m.kinds = append(m.kinds, uint8(max(0, slices.Index(dream.Kinds, dream.Kind(kind)))))
		m.live = append(m.live, live)
		m.rows = append(m.rows, make([]float32, m.stride)...)
	}
	m.live[i] = live
	row := m.rows[i*m.stride : (i+1)*m.stride]
	copy(row, v)
	normalise(row)
}

// normalise makes v a unit vector; a vector of zeros stays one, and its cosine with anything is 0.
func normalise(v []float32) {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 {
		return
	}
	scale := 1 / math.Sqrt(sum)
	for i, x := range v {
		v[i] = float32(float64(x) * scale)
	}
}

// dot multiplies two vectors of equal length, a multiple of eight. Four sums in eight steps are as fast as two loads a
// product allow; eight sums are slower.
func dot(a, b []float32) float32 {
	var s0, s1, s2, s3 float32
	b = b[:len(a)]
	for i := 0; i+8 <= len(a); i += 8 {
		x, y := (*[8]float32)(a[i:]), (*[8]float32)(b[i:])
		s0 += x[0] * y[0]
		s1 += x[1] * y[1]
		s2 += x[2] * y[2]
		s3 += x[3] * y[3]
		s0 += x[4] * y[4]
		s1 += x[5] * y[5]
		s2 += x[6] * y[6]
		s3 += x[7] * y[7]
	}
	return (s0 + s1) + (s2 + s3)
}
