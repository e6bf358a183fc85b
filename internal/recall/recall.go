// Package recall finds the memories that answer a question. Chats, tools, the API and the command line all use it.
package recall

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/activities/port/rank"
	"github.com/seed-56a03226/oneiros/internal/timeword"
)

// Kinds are the kinds that callers search unless they are asked for others. Find does not apply them: a caller puts
// them into Question.Filter, and a filter without kinds finds every kind.
var Kinds = []dream.Kind{dream.KindEpisode, dream.KindSemantic, dream.KindGist, dream.KindPlaybook}

// DreamtKinds are the kinds of text that dreams make. They are searched on request only.
var DreamtKinds = []dream.Kind{
	dream.KindFragment, dream.KindScenario, dream.KindHypothesis, dream.KindPrediction, dream.KindJournal,
}

// Weight of the vector score; the word score gets the rest. The vectors of an embedder weigh the more, the closer it
// places a rewording to the text itself (Calibration.Closeness of Related). Up to a closeness of blindAt they have the
// weight leastMeaning, because inference.Calibrate gives this closeness to embedders that do not see rewordings at all.
// The values were chosen on one LoCoMo dialogue; docs/measurements/memory.md shows the others.
const (
	leastMeaning = .3
	mostMeaning  = .5
	blindAt      = 1.0 / 3
)

// Weights is how much words and meaning count in an embedder's space, by its calibration.
func Weights(c inference.Calibration) rank.Blend {
	meaning := leastMeaning
	if c.Measured() {
		meaning = max(leastMeaning, min(mostMeaning, leastMeaning+c.Closeness(c.Related)-blindAt))
	}
	return rank.Blend{Words: 1 - meaning, Meaning: meaning}
}

// pool is how many candidates are read for each memory of the answer; leastPool is the least number in all.
const (
	pool      = 4
	leastPool = 40
)

// Embed returns the vector of a question and the space of the agent's embedder.
type Embed func(ctx context.Context, text string) (v []float32, space string, err error)

// Question is what is asked of an agent's memory.
type Question struct {
	Agent  string
	Text   string
	Limit  int
	Filter memory.Filter
	Affect mood.PAD
	Embed  Embed     // nil: words alone are compared
	Now    time.Time // in the agent's zone: what words such as "yesterday" are counted from; zero: they are not heeded

	Calibration inference.Calibration // of the embedder's space
}

// Memory is one memory that was found.
type Memory struct {
	Item    dream.Item
	Score   float64
	Cosine  float64
	At      time.Time // of derived knowledge, that of its newest source
	Speaker string    // likewise; empty when nobody is named
}

// Answer is what was found, best first.
type Answer struct {
	Memories   []Memory
	EmbedError error // why the question has no vector, so that only words were compared; nil: it was embedded
}

// Find answers a question. When its vector cannot be had, words alone are compared.
func Find(ctx context.Context, store memory.DreamStore, q Question) (Answer, error) {
	var a Answer
	s := memory.Search{
		Agent:  q.Agent,
		Text:   q.Text,
		Blend:  Weights(q.Calibration),
		Limit:  max(leastPool, pool*q.Limit),
		Filter: q.Filter,
	}
	if q.Embed != nil {
		s.V, s.Space, a.EmbedError = q.Embed(ctx, q.Text)
	}
	if a.EmbedError != nil {
		s.V, s.Space = nil, ""
	}
	found, err := store.Search(ctx, s)
	if err != nil {
		return Answer{}, err
	}
	calibration := q.Calibration
	if !calibration.Measured() {
		calibration = inference.Cautious
	}
	thresholds := rank.Thresholds{Near: calibration.Unrelated, Sure: calibration.Related}
	hits := thresholds.Supported(found.Hits)
	span, timed := spanOf(q)
	if timed && len(hits) == 0 { // "What did I do yesterday?" holds no word of what was done
		hits, err = episodesIn(ctx, store, s, span)
		if err != nil {
			return Answer{}, err
		}
	}
	a.Memories, err = rankHits(ctx, store, q, hits, found.Newest, span)
	return a, err
}

// spanOf returns the span that a question names, if it names one and its times are heeded.
func spanOf(q Question) (timeword.Span, bool) {
	if q.Now.IsZero() {
		return timeword.Span{}, false
	}
	return timeword.Find(q.Text, q.Now)
}

// episodesIn returns the episodes of a span that the caller's filter admits, the nearest to the question first.
func episodesIn(ctx context.Context, store memory.DreamStore, s memory.Search, span timeword.Span) ([]rank.Hit, error) {
	if len(s.Kinds) > 0 && !slices.Contains(s.Kinds, dream.KindEpisode) {
		return nil, nil
	}
	s.Kinds = []dream.Kind{dream.KindEpisode}
	if s.Since.Before(span.From) {
		s.Since = span.From
	}
	if s.Until.IsZero() || s.Until.After(span.Until) {
		s.Until = span.Until
	}
	if !s.Since.Before(s.Until) {
		return nil, nil
	}
	found, err := store.Search(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("look for what happened in the time that the question names: %w", err)
	}
	if len(found.Hits) > 0 {
		return found.Hits, nil
	}
	// The search found nothing: no episode of that time has a vector or shares a word with the question.
	items, err := store.Find(ctx, memory.Query{
		Agent:  s.Agent,
		Kinds:  s.Kinds,
		Owners: s.Owners,
		Since:  s.Since,
		Until:  s.Until,
		Sort:   memory.MostSalient,
		Limit:  s.Limit,
	})
	if err != nil {
		return nil, fmt.Errorf("read what happened in the time that the question names: %w", err)
	}
	var hits []rank.Hit
	for _, item := range items {
		if h := item.Header(); !h.Dreamt() && !slices.Contains(s.Except, h.ID) {
			hits = append(hits, rank.Hit{Item: h.ID})
		}
	}
	return hits, nil
}

// rankHits reads the items behind hits and puts them in order.
func rankHits(ctx context.Context, store memory.DreamStore, q Question, hits []rank.Hit, newest time.Time,
	span timeword.Span,
) ([]Memory, error) {
	ids := make([]string, len(hits))
	for i, h := range hits {
		ids[i] = h.Item
	}
	items, err := store.Get(ctx, q.Agent, ids...)
	if err != nil {
		return nil, fmt.Errorf("read what was found: %w", err)
	}
	byID := map[string]dream.Item{}
	for _, item := range items {
		if item.Header().State == dream.Live {
			byID[item.Header().ID] = item
		}
	}
	origins, err := sources(ctx, store, q.Agent, items)
	if err != nil {
		return nil, err
	}
	candidates := make([]rank.Candidate, 0, len(hits))
	found := map[string]Memory{}
	for _, h := range hits {
		item := byID[h.Item]
		if item == nil {
			continue
		}
		m := Memory{Item: item, Cosine: h.Cosine}
		m.At, m.Speaker = timeAndSpeaker(item, origins)
		found[h.Item] = m
		marks := item.Marks()
		c := rank.Candidate{
			Hit:    h,
			At:     m.At,
			Weight: max(marks.Salience, marks.Score),
			Mood:   q.Affect.Cosine(toneOf(item)),
			Timely: span.Holds(m.At),
		}
		if derived(item) {
			c.Sources = item.Header().Sources
		}
		if e, ok := item.(*dream.Episode); ok && e.Session != "" {
			c.Talk = marks.Owner + "\x00" + e.Session // two owners may name a session alike
		}
		candidates = append(candidates, c)
	}
	var out []Memory
	for _, c := range rank.Best(candidates, newest, q.Limit) {
		m := found[c.Item]
		m.Score = c.Score
		out = append(out, m)
	}
	return out, nil
}

// derived reports whether an item is knowledge that was derived from other items, which it names as its sources.
func derived(item dream.Item) bool {
	h := item.Header()
	return h.Kind == dream.KindSemantic && len(h.Sources) > 0
}

// sources reads the items that derived knowledge names.
func sources(ctx context.Context, store memory.DreamStore, agent string,
	items []dream.Item,
) (map[string]dream.Item, error) {
	var ids []string
	for _, item := range items {
		if derived(item) {
			ids = append(ids, item.Header().Sources...)
		}
	}
	out := map[string]dream.Item{}
	if len(ids) == 0 {
		return out, nil
	}
	found, err := store.Get(ctx, agent, ids...)
	if err != nil {
		return nil, fmt.Errorf("read the sources of what was found: %w", err)
	}
	for _, item := range found {
		out[item.Header().ID] = item
	}
	return out, nil
}

// timeAndSpeaker returns when an item happened and who said it; of derived knowledge, those of its newest source.
func timeAndSpeaker(item dream.Item, origins map[string]dream.Item) (time.Time, string) {
	if !derived(item) {
		return item.Header().At, speakerOf(item)
	}
	var newest dream.Item
	for _, id := range item.Header().Sources {
		if o := origins[id]; o != nil && (newest == nil || o.Header().At.After(newest.Header().At)) {
			newest = o
		}
	}
	if newest == nil {
		return item.Header().At, ""
	}
	return newest.Header().At, speakerOf(newest)
}

func speakerOf(item dream.Item) string {
	if e, ok := item.(*dream.Episode); ok {
		return e.Speaker
	}
	return ""
}

func toneOf(item dream.Item) mood.PAD {
	switch i := item.(type) {
	case *dream.Episode:
		return i.Affect
	case *dream.Semantic:
		return i.Affect
	}
	return mood.PAD{}
}
