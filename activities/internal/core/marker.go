package core

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

// LearnMarkers derives somatic markers from the strong moments among the dream's memories. It makes no paid call:
// episodes without a vector are used by a later dream. Repeating it changes nothing.
func LearnMarkers(ctx context.Context, r *Run) error {
	if r.Spec.Observer == nil || r.Spec.Review.Holds() { // a marker would affect every later dream
		return nil
	}
	space, err := r.Memory.Space(ctx, r.Agent)
	if err != nil || space == "" {
		return err
	}
	items, err := r.Choose(ctx)
	if err != nil {
		return err
	}
	strong := map[string]*dream.Episode{}
	var ids []string
	for _, e := range memory.As[*dream.Episode](items) {
		if _, _, ok := hypnagogia.LearnableAffect(e); ok && e.Taint != dream.FromDream {
			strong[e.ID] = e
			ids = append(ids, e.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	held, err := LiveMarkers(ctx, r)
	if err != nil {
		return err
	}
	vectors, err := r.Memory.Vectors(ctx, r.Agent, space, ids...)
	if err != nil {
		return fmt.Errorf("place the strong moments of %s: %w", r.Spec.Handle, err)
	}
	taught := make([]hypnagogia.EpisodeVector, len(vectors))
	for i, v := range vectors {
		taught[i] = hypnagogia.EpisodeVector{Episode: strong[v.Item], Place: v.V}
	}
	calibration, err := Calibration(ctx, r.Memory, r.Agent, r.Spec.AsOf)
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
			ID:      r.Dream + "/marker/" + hex.EncodeToString(sum[:4]),
			Agent:   r.Agent,
			Kind:    dream.KindMarker,
			At:      r.Spec.AsOf,
			State:   dream.Live,
			Taint:   dream.FromDream,
			Dream:   r.Dream,
			Sources: m.Sources,
		}
		w.Add = append(w.Add, m)
	}
	if len(w.Add)+len(w.Change) == 0 {
		return nil
	}
	return r.Write(ctx, w)
}

// LiveMarkers are the markers of an agent with their positions in the vector space.
func LiveMarkers(ctx context.Context, r *Run) ([]hypnagogia.MarkerVector, error) {
	items, err := r.Memory.Find(ctx,
		memory.Query{Agent: r.Agent, Kinds: []dream.Kind{dream.KindMarker}, Sort: memory.Oldest})
	if err != nil {
		return nil, fmt.Errorf("find the markers of %s: %w", r.Agent, err)
	}
	return placeMarkers(ctx, r, memory.As[*dream.Marker](items))
}

// Moments are the memories that taught markers, with those that the dream chooses from, by their words. The result is
// cached.
func Moments(ctx context.Context, r *Run, markers []*dream.Marker) (moments hypnagogia.Moments, err error) {
	if len(markers) == 0 {
		return moments, nil
	}
	of, found := IdsOf(markers), false
	r.Cached(ctx, func(v *CachedRun) { moments, found = v.Moments, slices.Equal(v.marked, of) })
	if found {
		return moments, nil
	}
	episodes, err := r.Pool(ctx)
	if err != nil {
		return moments, err
	}
	var ids []string
	for _, m := range markers {
		ids = append(ids, firstSources(m)...)
	}
	items, err := r.Get(ctx, ids...)
	if err != nil {
		return moments, fmt.Errorf("read what taught the markers of %s: %w", r.Agent, err)
	}
	parts := map[string][]string{}
	for _, e := range append(memory.As[*dream.Episode](items), episodes...) {
		parts[e.ID] = hypnagogia.PartsOf(e)
	}
	moments = hypnagogia.MomentsOf(markers, parts)
	r.Cached(ctx, func(v *CachedRun) { v.Moments, v.marked = moments, of })
	return moments, nil
}

// placing is how many of a marker's sources count: the first that it was learned from.
const placing = 16

func firstSources(m *dream.Marker) []string { return m.Sources[:min(len(m.Sources), placing)] }

// placeMarkers gives markers their positions: the means of their sources' vectors in the agent's current space.
func placeMarkers(ctx context.Context, r *Run, markers []*dream.Marker) ([]hypnagogia.MarkerVector, error) {
	if len(markers) == 0 {
		return nil, nil
	}
	space, err := r.Memory.Space(ctx, r.Agent)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, m := range markers {
		ids = append(ids, firstSources(m)...)
	}
	vectors, err := r.Memory.Vectors(ctx, r.Agent, space, ids...)
	if err != nil {
		return nil, fmt.Errorf("place the markers of %s: %w", r.Agent, err)
	}
	at := map[string][]float32{}
	for _, v := range vectors {
		at[v.Item] = v.V
	}
	held := make([]hypnagogia.MarkerVector, len(markers))
	for i, m := range markers {
		var places [][]float32
		for _, id := range firstSources(m) {
			if v := at[id]; v != nil {
				places = append(places, v)
			}
		}
		held[i] = hypnagogia.MarkerVector{Marker: m, Place: hypnagogia.MeanVector(places...)}
	}
	return held, nil
}
