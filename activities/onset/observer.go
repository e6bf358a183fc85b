package onset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/prediction"
	"github.com/seed-56a03226/oneiros/internal/review"
)

// observerNote is the note that freezes it.
const observerNote = "observer"

// watch reads what the observer of a dream uses.
func (o onsetRun) watch(ctx context.Context) (core.Watching, hypnagogia.Moments, error) {
	var existing *core.Watching
	var moments hypnagogia.Moments
	o.Cached(ctx, func(v *core.CachedRun) { existing, moments = v.Watch, v.Moments })
	if existing != nil {
		return *existing, moments, nil
	}
	body, err := o.Note(ctx, observerNote)
	if errors.Is(err, memory.ErrNotFound) {
		body, err = o.beginWatch(ctx)
	}
	if err != nil {
		return core.Watching{}, moments, err
	}
	var w core.Watching
	if err := json.Unmarshal(body, &w); err != nil {
		return w, moments, fmt.Errorf("read what the observer of %s goes by: %w", o.Dream, err)
	}
	items, err := o.Get(ctx, w.Markers...)
	if err != nil {
		return w, moments, fmt.Errorf("read the markers of %s: %w", o.Agent, err)
	}
	moments, err = core.Moments(ctx, o.Run, memory.As[*dream.Marker](items))
	if err != nil {
		return w, moments, err
	}
	o.Cached(ctx, func(v *core.CachedRun) { v.Watch = &w })
	return w, moments, nil
}

// beginWatch computes what the observer uses, freezes it, and raises the alarms that outcomes call for.
func (o onsetRun) beginWatch(ctx context.Context) ([]byte, error) {
	w, err := o.look(ctx)
	if err != nil {
		return nil, err
	}
	if len(w.Bias.Alarms) > 0 {
		e := event.New(fmt.Sprintf("observer/%s/%d", w.Judge, w.Bias.Blocks), o.Agent, o.Dream, o.Now(),
			event.ObserverDrifted{
				Judge:     w.Judge,
				Outcomes:  w.Bias.Outcomes,
				Factor:    w.Bias.Factor,
				Requested: w.Bias.Requested,
				Drift:     w.Bias.Drift,
				Validated: w.Bias.Validated,
				Alarms:    w.Bias.Alarms,
			})
		if err := o.Write(ctx, memory.Write{Events: []event.Event{e}}); err != nil {
			return nil, err
		}
	}
	body, err := json.Marshal(w)
	if err != nil {
		return nil, fmt.Errorf("note what the observer of %s goes by: %w", o.Dream, err)
	}
	return o.PutNote(ctx, observerNote, body)
}

func (o onsetRun) look(ctx context.Context) (core.Watching, error) {
	model, err := o.Catalog.Lookup(o.Spec.Models[dream.Observer])
	if err != nil {
		return core.Watching{}, err
	}
	w := core.Watching{Judge: hypnagogia.Measured}
	if model.Judges {
		w.Judge = model.Name
	}
	w.Bias, err = ObserverBias(ctx, o.Memory, o.Spec, w.Judge)
	if err != nil {
		return w, err
	}
	newest, err := core.Newest(ctx, o.Memory, o.Agent, o.Spec.AsOf)
	if err != nil {
		return w, err
	}
	w.Space = core.CalibrationOf(newest)
	items, err := o.Memory.Find(ctx,
		memory.Query{
			Agent: o.Agent, Kinds: []dream.Kind{dream.KindMarker}, Sort: memory.Oldest,
			Until: o.Spec.AsOf.Add(1),
		})
	if err != nil {
		return w, fmt.Errorf("find the markers of %s: %w", o.Agent, err)
	}
	w.Markers = core.IdsOf(items)
	moments, err := core.Moments(ctx, o.Run, memory.As[*dream.Marker](items))
	episodes := make([]*dream.Episode, len(newest))
	for i, e := range newest {
		episodes[i] = e.Episode
	}
	w.Fire, _ = moments.FireFrom(episodes)
	return w, err
}

// ObserverBias is what the outcomes of an agent's fragments say about a judge, as far as they were known at the
// spec's time.
func ObserverBias(ctx context.Context, store memory.DreamStore, spec activities.Spec,
	judge string,
) (hypnagogia.Bias, error) {
	all, err := review.Outcomes(ctx, store, spec.Agent)
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
	return f.Rating != nil && f.Rating.Rated == core.Promote
}

// language is the language of the memories that a cycle was shown.
func (o onsetRun) language(ctx context.Context, r activities.StepRequest) (hypnagogia.Language, error) {
	var t hypnagogia.Language
	found := false
	o.Cached(ctx, func(v *core.CachedRun) { t, found = v.Languages[r.Source] })
	if found {
		return t, nil
	}
	lines, _, err := o.remember(ctx, r.Source)
	if err != nil {
		return t, err
	}
	texts := make([]string, len(lines))
	for i, line := range lines {
		texts[i] = line.Text
	}
	t = hypnagogia.LanguageOf(texts)
	o.Cached(ctx, func(v *core.CachedRun) { v.Languages[r.Source] = t })
	return t, nil
}
