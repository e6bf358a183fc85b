package activities

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

// learn derives somatic markers from the strong moments among the dream's memories. It makes no paid call: episodes
// without a vector are used by a later dream. Repeating it changes nothing.
func (p Ports) learn(ctx context.Context, spec Spec, s Stretch) error {
	if spec.Observer == nil || spec.Review.Holds() { // a marker would affect every later dream
		return nil
	}
	space, err := p.Memory.Space(ctx, spec.Agent)
	if err != nil || space == "" {
		return err
	}
	items, err := p.choose(ctx, spec)
	if err != nil {
		return err
	}
	strong := map[string]*dream.Episode{}
	var ids []string
	for _, e := range memory.As[*dream.Episode](items) {
		if _, _, ok := hypnagogia.Lesson(e); ok && e.Taint != dream.FromDream {
			strong[e.ID] = e
			ids = append(ids, e.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	held, err := p.markers(ctx, spec.Agent)
	if err != nil {
		return err
	}
	vectors, err := p.Memory.Vectors(ctx, spec.Agent, space, ids...)
	if err != nil {
		return fmt.Errorf("place the strong moments of %s: %w", spec.Handle, err)
	}
	taught := make([]hypnagogia.EpisodeVector, len(vectors))
	for i, v := range vectors {
		taught[i] = hypnagogia.EpisodeVector{Episode: strong[v.Item], Place: v.V}
	}
	calibration, err := p.calibration(ctx, spec)
	if err != nil {
		return err
	}
	w := memory.Write{}
	for _, m := range hypnagogia.LearnMarkers(held, taught, calibration) {
		if m.ID != "" {
			w.Change = append(w.Change, m)
			continue
		}
		sum := sha256.Sum256([]byte(m.Sources[0]))
		m.Head = dream.Head{
			ID:      spec.Dream + "/marker/" + hex.EncodeToString(sum[:4]),
			Agent:   spec.Agent,
			Kind:    dream.KindMarker,
			At:      spec.AsOf,
			State:   dream.Live,
			Taint:   dream.FromDream,
			Dream:   spec.Dream,
			Sources: m.Sources,
		}
		w.Add = append(w.Add, m)
	}
	if len(w.Add)+len(w.Change) == 0 {
		return nil
	}
	return p.write(ctx, s, w)
}

// markers are the live markers of an agent with their positions in the vector space.
func (p Ports) markers(ctx context.Context, agent string) ([]hypnagogia.MarkerVector, error) {
	items, err := p.Memory.Find(ctx,
		memory.Query{Agent: agent, Kinds: []dream.Kind{dream.KindMarker}, Sort: memory.Oldest})
	if err != nil {
		return nil, fmt.Errorf("find the markers of %s: %w", agent, err)
	}
	return p.placed(ctx, agent, memory.As[*dream.Marker](items))
}

// placing is how many of a marker's sources its position is the mean of: the first that it was learned from.
const placing = 16

// placed gives markers their positions: the means of their sources' vectors in the agent's current space.
func (p Ports) placed(ctx context.Context, agent string, markers []*dream.Marker) ([]hypnagogia.MarkerVector, error) {
	if len(markers) == 0 {
		return nil, nil
	}
	space, err := p.Memory.Space(ctx, agent)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, m := range markers {
		ids = append(ids, m.Sources[:min(len(m.Sources), placing)]...)
	}
	vectors, err := p.Memory.Vectors(ctx, agent, space, ids...)
	if err != nil {
		return nil, fmt.Errorf("place the markers of %s: %w", agent, err)
	}
	at := map[string][]float32{}
	for _, v := range vectors {
		at[v.Item] = v.V
	}
	held := make([]hypnagogia.MarkerVector, len(markers))
	for i, m := range markers {
		var places [][]float32
		for _, id := range m.Sources[:min(len(m.Sources), placing)] {
			if v := at[id]; v != nil {
				places = append(places, v)
			}
		}
		held[i] = hypnagogia.MarkerVector{Marker: m, Place: hypnagogia.MeanVector(places...)}
	}
	return held, nil
}
