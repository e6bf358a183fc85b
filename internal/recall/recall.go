// Package recall finds the memories that answer a question. Chats, tools, the API and the command line all use it.
package recall

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/inference"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/mood"
	"github.com/seed-56a03226/oneiros/internal/recall/rank"
	"github.com/seed-56a03226/oneiros/internal/timeword"
)

// Kinds are the kinds that are searched unless others are asked for.
var Kinds = []dream.Kind{dream.KindEpisode, dream.KindSemantic, dream.KindGist, dream.KindPlaybook}

// DreamtKinds are the kinds of text that dreams make. They are searched on request only.
var DreamtKinds = []dream.Kind{
	dream.KindFragment, dream.KindScenario, dream.KindHypothesis, dream.KindPrediction, dream.KindJournal,
}

// How much meaning counts beside words, of 1: least in a space that tells a rewording from chance no better than a
// third of the way up to a repetition, which is where inference.Calibrate puts a space that sees no rewordings; more in
// a clearer one. Chosen on one LoCoMo dialogue; docs/measurements/memory.md has the others.
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

// pool is how many candidates are read for each memory that is answered, leastPool the fewest in all.
const (
	pool      = 4
	leastPool = 40
)

// Embed places a question in the space of an agent's embedder.
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
	Memories []Memory
	ByWords  error // why words alone were compared; nil: the question was placed
}

// Find answers a question. When its vector cannot be had, words alone are compared.
func Find(ctx context.Context, store memory.Store, q Question) (Answer, error) {
	var a Answer
	s := memory.Search{
		Agent:  q.Agent,
		Text:   q.Text,
		Blend:  Weights(q.Calibration),
		Limit:  max(leastPool, pool*q.Limit),
		Filter: q.Filter,
	}
	if q.Embed != nil {
		s.V, s.Space, a.ByWords = q.Embed(ctx, q.Text)
	}
	if a.ByWords != nil {
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
	hits := rank.Calibration{Near: calibration.Unrelated, Sure: calibration.Related}.Supported(found.Hits)
	span, timed := timeOf(q)
	if timed && len(hits) == 0 { // "What did I do yesterday?" holds no word of what was done
		hits, err = lived(ctx, store, s, span)
		if err != nil {
			return Answer{}, err
		}
	}
	a.Memories, err = ranked(ctx, store, q, hits, found.Newest, span)
	return a, err
}

// timeOf is the span that a question names.
func timeOf(q Question) (timeword.Span, bool) {
	if q.Now.IsZero() {
		return timeword.Span{}, false
	}
	return timeword.Find(q.Text, q.Now)
}

// lived are the episodes of a span, the nearest to the question first.
func lived(ctx context.Context, store memory.Store, s memory.Search, span timeword.Span) ([]rank.Hit, error) {
	s.Kinds, s.Since, s.Until = []dream.Kind{dream.KindEpisode}, span.From, span.Until
	found, err := store.Search(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("look for what happened in the time that the question names: %w", err)
	}
	if len(found.Hits) > 0 {
		return found.Hits, nil
	}
	items, err := store.Find(ctx, memory.Query{ // nothing there has a place, and no word of the question
		Agent:  s.Agent,
		Kinds:  s.Kinds,
		Owners: s.Owners,
		Since:  span.From,
		Until:  span.Until,
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

// ranked reads the items behind hits and puts them in order.
func ranked(ctx context.Context, store memory.Store, q Question, hits []rank.Hit, newest time.Time,
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
		m.At, m.Speaker = dated(item, origins)
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

// derived says whether an item was made from others that say it better.
func derived(item dream.Item) bool {
	h := item.Header()
	return h.Kind == dream.KindSemantic && len(h.Sources) > 0
}

// sources reads the items that derived knowledge names.
func sources(ctx context.Context, store memory.Store, agent string, items []dream.Item) (map[string]dream.Item, error) {
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

// dated is when an item happened and who said it; of derived knowledge, its newest source.
func dated(item dream.Item, origins map[string]dream.Item) (time.Time, string) {
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
