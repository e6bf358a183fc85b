package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/prediction"
)

// watching is what the observer of a dream uses beside the texts: the calibration of its embedder's space, its bias
// by outcomes, and the markers it may fire. It is frozen when the first thought is judged.
type watching struct {
	Judge   string                 `json:"judge"`
	Space   hypnagogia.Calibration `json:"space"`
	Bias    hypnagogia.Bias        `json:"bias"`
	Markers []string               `json:"markers,omitempty"` // ids
}

// observerNote is the note that freezes it.
const observerNote = "observer"

// calibrating is how many of the newest episodes calibrate a space: 2,016 pairs, in about 3 ms at 384 dimensions.
const calibrating = 64

// watch reads what the observer of a dream uses.
func (p Ports) watch(ctx context.Context, spec Spec, s Stretch) (watching, []hypnagogia.MarkerVector, error) {
	var existing *watching
	var held []hypnagogia.MarkerVector
	p.cache.read(ctx, s.Dream, func(v *cachedRun) { existing, held = v.watch, v.markers })
	if existing != nil {
		return *existing, held, nil
	}
	body, err := p.Memory.Note(ctx, s.Agent, s.Dream, observerNote)
	if errors.Is(err, memory.ErrNotFound) {
		body, err = p.beginWatch(ctx, spec, s)
	}
	if err != nil {
		return watching{}, nil, err
	}
	var w watching
	if err := json.Unmarshal(body, &w); err != nil {
		return w, nil, fmt.Errorf("read what the observer of %s goes by: %w", s.Dream, err)
	}
	items, err := p.Memory.Get(ctx, s.Agent, w.Markers...)
	if err != nil {
		return w, nil, fmt.Errorf("read the markers of %s: %w", s.Agent, err)
	}
	held, err = p.placed(ctx, s.Agent, memory.As[*dream.Marker](items))
	if err != nil {
		return w, nil, err
	}
	p.cache.put(ctx, s.Dream, func(v *cachedRun) { v.watch, v.markers = &w, held })
	return w, held, nil
}

// beginWatch computes what the observer uses, freezes it, and raises the alarms that outcomes call for.
func (p Ports) beginWatch(ctx context.Context, spec Spec, s Stretch) ([]byte, error) {
	w, err := p.look(ctx, spec)
	if err != nil {
		return nil, err
	}
	if len(w.Bias.Alarms) > 0 {
		e := event.New(fmt.Sprintf("observer/%s/%d", w.Judge, w.Bias.Blocks), s.Agent, s.Dream, p.now(s),
			event.ObserverDrifted{
				Judge:     w.Judge,
				Outcomes:  w.Bias.Outcomes,
				Factor:    w.Bias.Factor,
				Requested: w.Bias.Requested,
				Drift:     w.Bias.Drift,
				Validated: w.Bias.Validated,
				Alarms:    w.Bias.Alarms,
			})
		if err := p.write(ctx, s, memory.Write{Events: []event.Event{e}}); err != nil {
			return nil, err
		}
	}
	body, err := json.Marshal(w)
	if err != nil {
		return nil, fmt.Errorf("note what the observer of %s goes by: %w", s.Dream, err)
	}
	return p.Memory.PutNote(ctx, s.Agent, s.fence(), observerNote, body)
}

func (p Ports) look(ctx context.Context, spec Spec) (watching, error) {
	model, err := p.Catalog.Lookup(spec.Models[dream.Observer])
	if err != nil {
		return watching{}, err
	}
	w := watching{Judge: hypnagogia.Measured}
	if model.Judges {
		w.Judge = model.Name
	}
	w.Bias, err = ObserverBias(ctx, p.Memory, spec, w.Judge)
	if err != nil {
		return w, err
	}
	w.Space, err = p.calibration(ctx, spec)
	if err != nil {
		return w, err
	}
	items, err := p.Memory.Find(ctx,
		memory.Query{
			Agent: spec.Agent, Kinds: []dream.Kind{dream.KindMarker}, Sort: memory.Oldest,
			Until: spec.AsOf.Add(1),
		})
	if err != nil {
		return w, fmt.Errorf("find the markers of %s: %w", spec.Agent, err)
	}
	w.Markers = idsOf(items)
	return w, nil
}

// ObserverBias is what the outcomes of an agent's fragments say about a judge, as far as they were known at the
// spec's time.
func ObserverBias(ctx context.Context, store memory.Store, spec Spec, judge string) (hypnagogia.Bias, error) {
	all, err := Outcomes(ctx, store, spec.Agent)
	if err != nil {
		return hypnagogia.Bias{}, err
	}
	all = slices.DeleteFunc(prediction.KnownAt(all, spec.AsOf),
		func(out prediction.Outcome) bool { return out.Fragment == "" })
	ids := make([]string, len(all))
	for i, out := range all {
		ids[i] = out.Fragment
	}
	items, err := store.Get(ctx, spec.Agent, ids...)
	if err != nil {
		return hypnagogia.Bias{}, fmt.Errorf("read the fragments that came out: %w", err)
	}
	fragments := map[string]*dream.Fragment{}
	for _, f := range memory.As[*dream.Fragment](items) {
		fragments[f.ID] = f
	}
	var watched []hypnagogia.JudgedFragment
	for _, out := range all {
		f := fragments[out.Fragment]
		if f == nil || f.Verdict.Judge != judge {
			continue
		}
		whole := f.Verdict.Composite
		if f.Verdict.Parts != nil {
			whole = f.Verdict.Parts.Whole
		}
		watched = append(watched, hypnagogia.JudgedFragment{Whole: whole, Promoted: promotedOnce(f), Right: out.Right})
	}
	return hypnagogia.BiasOf(watched), nil
}

// promotedOnce says whether lucid capture selected a fragment.
func promotedOnce(f *dream.Fragment) bool {
	switch f.Status {
	case dream.FragmentSelected, dream.FragmentDeveloped, dream.FragmentPromoted:
		return true
	}
	return f.Rating != nil && f.Rating.Rated == promote
}

// calibration measures the embedder's space by the newest episodes that have vectors.
func (p Ports) calibration(ctx context.Context, spec Spec) (hypnagogia.Calibration, error) {
	space, err := p.Memory.Space(ctx, spec.Agent)
	if err != nil || space == "" {
		return hypnagogia.Calibration{}, err
	}
	items, err := p.Memory.Find(ctx,
		memory.Query{
			Agent: spec.Agent, Kinds: []dream.Kind{dream.KindEpisode}, Limit: calibrating,
			Until: spec.AsOf.Add(1),
		})
	if err != nil {
		return hypnagogia.Calibration{}, fmt.Errorf("calibrate the space of %s: %w", spec.Agent, err)
	}
	vectors, err := p.Memory.Vectors(ctx, spec.Agent, space, idsOf(items)...)
	if err != nil {
		return hypnagogia.Calibration{}, fmt.Errorf("calibrate the space of %s: %w", spec.Agent, err)
	}
	places := make([][]float32, len(vectors))
	for i, v := range vectors {
		places[i] = v.V
	}
	return hypnagogia.Calibrate(places), nil
}

// language is the language of the memories that a cycle was shown.
func (o *Onset) language(ctx context.Context, r StepRequest) (hypnagogia.Language, error) {
	var t hypnagogia.Language
	found := false
	o.cache.read(ctx, r.Dream, func(v *cachedRun) { t, found = v.languages[r.Source] })
	if found {
		return t, nil
	}
	lines, _, err := o.remember(ctx, r.Stretch, r.Source)
	if err != nil {
		return t, err
	}
	texts := make([]string, len(lines))
	for i, line := range lines {
		texts[i] = line.Text
	}
	t = hypnagogia.LanguageOf(texts)
	o.cache.put(ctx, r.Dream, func(v *cachedRun) { v.languages[r.Source] = t })
	return t, nil
}
