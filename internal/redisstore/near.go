package redisstore

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/memory/nearest"
)

var nearScript = script("memory", "near")

// vectorsAtOnce is about how many vectors one step reads.
const vectorsAtOnce = 1000

// checkVector refuses what no cosine can be taken of.
func checkVector(v memory.Vector) error {
	if v.Space == "" {
		return fmt.Errorf("vector of %s: its space is empty; a space names embedder, version and dimension", v.Item)
	}
	if len(v.V) == 0 {
		return fmt.Errorf("vector of %s: it has no numbers", v.Item)
	}
	for i, x := range v.V {
		if f := float64(x); math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("vector of %s: number %d is %v; it must be finite", v.Item, i, x)
		}
	}
	return nil
}

func packVector(v []float32) []byte {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// Near compares v with every live vector of the agent, which this process holds and refreshes by the tide.
func (s *Store) Near(ctx context.Context, agent, space string, v []float32, k int, kinds ...dream.Kind) ([]memory.Hit, error) {
	hits, err := s.nearest(ctx, agent, memory.Vector{Item: "what is sought", Space: space, V: v}, k, kinds)
	if err != nil {
		return nil, fmt.Errorf("nearest memories of %s: %w", agent, err)
	}
	return hits, nil
}

func (s *Store) nearest(ctx context.Context, agent string, sought memory.Vector, k int, kinds []dream.Kind) ([]memory.Hit, error) {
	if err := checkVector(sought); err != nil {
		return nil, err
	}
	h := s.mind.shelf.of(agent)
	defer s.mind.shelf.weigh(s.set.vectors)
	for {
		space, err := s.bring(ctx, h, agent, sought)
		if err != nil || space == "" || k <= 0 {
			return nil, err
		}
		if hits, same := h.search(sought, k, kinds); same {
			return hits, nil
		}
	}
}

// mark is as of when vectors were read.
type mark struct {
	space  string
	scrubs string
	tide   int64
}

// tidal is what near.lua answers.
type tidal struct {
	mark
	dim, all int
	more     bool
	said     []any // ids and vectors
}

func (s *Store) tidal(ctx context.Context, agent string, since mark, most int) (tidal, error) {
	said, err := s.of(ctx, nearScript, agent, struct{}{}, since.tide, since.space, since.scrubs, most)
	if err != nil {
		return tidal{}, err
	}
	if len(said) < 7 {
		return tidal{}, fmt.Errorf("the server answered vectors in %d parts; there are 7 at least", len(said))
	}
	t := tidal{mark: mark{space: text(said, 0), scrubs: text(said, 3)}, all: int(whole(said, 4)), more: whole(said, 6) == 1, said: said[7:]}
	if t.dim, err = strconv.Atoi(text(said, 1)); err != nil {
		return tidal{}, fmt.Errorf("numbers of a vector: %w", err)
	}
	if t.tide, err = strconv.ParseInt(text(said, 5), 10, 64); err != nil {
		return tidal{}, fmt.Errorf("the tide: %w", err)
	}
	return t, nil
}

// bring reads what the held vectors lack, and answers the agent's space; empty when it has none.
func (s *Store) bring(ctx context.Context, h *hold, agent string, sought memory.Vector) (string, error) {
	h.mu.RLock()
	since := h.mark
	h.mu.RUnlock()
	t, err := s.tidal(ctx, agent, since, 0)
	if err != nil {
		return "", err
	}
	if t.space == "" {
		return "", nil
	}
	if t.space != sought.Space || t.dim != len(sought.V) {
		return "", fmt.Errorf("sought in %s with %d numbers, the agent's vectors are in %s with %d: %w",
			sought.Space, len(sought.V), t.space, t.dim, memory.ErrSpace)
	}
	if !t.more && t.space == since.space && t.scrubs == since.scrubs {
		return t.space, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for more := true; more; more = t.more {
		if t, err = s.tidal(ctx, agent, h.mark, vectorsAtOnce); err == nil {
			err = h.take(t)
		}
		if err != nil {
			return "", err
		}
	}
	return sought.Space, nil
}

// take adds a page of vectors. Erasure and a change of space start again. Each page is as of one moment, and what changed
// after it was read comes in a later one, so that after the last page everything is as of that page.
func (h *hold) take(t tidal) error {
	if h.matrix == nil || h.space != t.space || h.scrubs != t.scrubs {
		h.matrix = nearest.New(t.dim)
		h.mark = mark{space: t.space, scrubs: t.scrubs, tide: -1}
	}
	h.matrix.Reserve(t.all)
	v := make([]float32, t.dim)
	for i := 0; i+1 < len(t.said); i += 2 {
		id, kept := text(t.said, i), text(t.said, i+1)
		flag, numbers, ok := strings.Cut(kept, "\n")
		if !ok || flag == "" || !unpackVector(numbers, v) {
			h.matrix, h.mark = nil, mark{}
			return fmt.Errorf("vector of %s has %d bytes; space %s has %d numbers", id, len(numbers), t.space, t.dim)
		}
		h.matrix.Put(id, dream.Kind(flag[1:]), flag[0] == '1', v)
	}
	h.tide = max(h.tide, t.tide)
	h.bytes.Store(h.matrix.Bytes())
	return nil
}

// unpackVector reads a packed vector into out; false when the lengths differ.
func unpackVector(b string, out []float32) bool {
	if len(b) != 4*len(out) {
		return false
	}
	for i := range out {
		four := b[4*i : 4*i+4]
		out[i] = math.Float32frombits(uint32(four[0]) | uint32(four[1])<<8 | uint32(four[2])<<16 | uint32(four[3])<<24)
	}
	return true
}
