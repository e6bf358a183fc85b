package observing

import (
	"context"
	"fmt"
	"slices"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

// Memory is an agent's memory in the space of an embedder.
type Memory struct {
	episodes []*dream.Episode
	vectors  map[string][]float32
	evidence hypnagogia.Evidence
	lexical  bool
	embed    func(texts ...string) ([][]float32, error)
}

// calibrating is how many of the newest episodes calibrate a space, as in a dream.
const calibrating = 64

// Place embeds a memory.
func Place(ctx context.Context, m inference.Model, name string, lexical bool, episodes []*dream.Episode) (*Memory,
	error,
) {
	p := &Memory{episodes: episodes, vectors: map[string][]float32{}, lexical: lexical}
	p.embed = func(texts ...string) ([][]float32, error) {
		var all [][]float32
		for one := range slices.Chunk(texts, 32) {
			v, err := m.Embed(ctx, name, one, "")
			if err != nil {
				return nil, fmt.Errorf("embed with %s: %w", name, err)
			}
			all = append(all, v.V...)
		}
		return all, nil
	}
	texts, all := make([]string, len(episodes)), make([][]string, len(episodes))
	var words []string
	for i, e := range episodes {
		texts[i], all[i] = e.Text(), hypnagogia.PartsOf(e)
		words = append(words, all[i]...)
	}
	vectors, err := p.embed(texts...)
	if err != nil {
		return nil, err
	}
	for i, e := range episodes {
		p.vectors[e.ID] = vectors[i]
	}
	p.evidence = hypnagogia.Evidence{
		Language: hypnagogia.LanguageOf(texts),
		Space:    hypnagogia.Calibrate(vectors[max(0, len(vectors)-calibrating):]),
		Order:    hypnagogia.OrderOf(words),
		Memory:   hypnagogia.MemoryTextsOf(all),
	}
	return p, nil
}

// Score is what the observer measures of a text, as in a dream, and what it measured before it saw the order of words
// and what is copied.
type Score struct {
	Now, Before dream.Verdict
}

// Of measures texts.
func (p *Memory) Of(texts []Labelled) ([]Score, error) {
	scores := make([]Score, len(texts))
	for i, l := range texts {
		parts := hypnagogia.Neighbours(l.Text)
		if p.lexical {
			parts = nil
		}
		vectors, err := p.embed(append([]string{l.Text}, parts...)...)
		if err != nil {
			return nil, err
		}
		near := p.near(vectors[0])
		e := p.evidence
		if len(vectors) > 2 {
			var cosines []float64
			for j := 2; j < len(vectors); j++ {
				cosines = append(cosines, hypnagogia.Cosine(vectors[j-1], vectors[j]))
			}
			m := hypnagogia.MeaningOf(cosines, e.Space.Mean)
			e.Meaning = &m
		}
		before := e
		before.Order, before.Memory = hypnagogia.WordOrder{}, hypnagogia.MemoryTexts{}
		scores[i] = Score{
			Now:    hypnagogia.Weigh(l.Text, near, nil, e),
			Before: hypnagogia.Weigh(l.Text, near, nil, before),
		}
		if l.Scenario {
			scores[i].Before = hypnagogia.Judge(l.Text, near)
		}
	}
	return scores, nil
}

// near compares a text with the memory: its nearest, and the mean of the three nearest.
func (p *Memory) near(v []float32) hypnagogia.Near {
	var cosines []float64
	for _, e := range p.episodes {
		cosines = append(cosines, hypnagogia.Cosine(v, p.vectors[e.ID]))
	}
	slices.Sort(cosines)
	slices.Reverse(cosines)
	sum := 0.0
	for _, c := range cosines[:3] {
		sum += c
	}
	return hypnagogia.Near{PlaybookEmpty: true, Memory: cosines[0], Source: max(0, sum/3)}
}

// Worth is the score of a scenario with such a verdict.
func Worth(v dream.Verdict) float64 {
	return hypnagogia.ScenarioWorth(dream.Worth{
		Novelty: v.Novelty, Plausible: v.Coherence, Relevance: v.Relevance,
	})
}
