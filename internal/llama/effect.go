package llama

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/steering"
)

// Trial says how the effect of a vector is measured: every question, with every seed, at every strength.
type Trial struct {
	Vector   string
	From, To int
	Alphas   []float64 // strength 0 is always measured first
	Prompts  []string
	Seeds    []int64
	Tokens   int // of an answer, at most
	Sampling inference.Sampling
	Embed    func(ctx context.Context, texts []string) ([][]float32, error)
	Progress func(done, all int)
}

// Effect answers the questions at each strength and measures the answers, one row a strength.
func (e *Engine) Effect(ctx context.Context, t Trial) ([]steering.Row, error) {
	alphas := []float64{0}
	for _, alpha := range t.Alphas {
		if alpha != 0 {
			alphas = append(alphas, alpha)
		}
	}
	all := len(alphas) * len(t.Prompts) * len(t.Seeds)
	done := 0
	var rows []steering.Row
	var straight [][]float32
	for _, alpha := range alphas {
		row := steering.Row{Alpha: alpha}
		var texts []string
		for _, prompt := range t.Prompts {
			for _, seed := range t.Seeds {
				text, err := e.tried(ctx, t, &row, alpha, prompt, seed)
				if err != nil {
					return rows, fmt.Errorf("at alpha %g, %q, seed %d: %w", alpha, prompt, seed, err)
				}
				texts = append(texts, text)
				done++
				if t.Progress != nil {
					t.Progress(done, all)
				}
			}
		}
		vectors, err := t.Embed(ctx, texts)
		if err != nil {
			return rows, fmt.Errorf("embed %d answers: %w", len(texts), err)
		}
		if straight == nil {
			straight = vectors
		}
		rows = append(rows, t.measured(row, texts, vectors, straight))
	}
	return rows, nil
}

// tried makes one answer and adds its figures to the row.
func (e *Engine) tried(ctx context.Context, t Trial, row *steering.Row, alpha float64, prompt string,
	seed int64,
) (string, error) {
	ask := AnswerRequest{
		Messages: []inference.Message{{Role: "user", Content: prompt}}, Sampling: t.Sampling,
		MaxTokens: t.Tokens,
	}
	ask.Sampling.Seed = &seed
	if alpha != 0 {
		ask.Steering = &inference.Steering{Vector: t.Vector, From: t.From, To: t.To, Alpha: alpha}
	}
	generation, err := e.Answer(ctx, ask, nil)
	if err != nil {
		return "", err
	}
	text := strings.TrimSpace(generation.Text)
	row.Answers++
	if text == "" { // it ended at once; there is nothing to measure but its words
		return "", nil
	}
	plain, err := e.Score(ctx, ask.Messages, generation.Text)
	if err != nil {
		return "", err
	}
	row.Plain += plain
	row.LogProb += *generation.LogProb
	row.Surface += hypnagogia.Surface(text)
	return text, nil
}

// measured turns the sums into means, and adds what all answers together show.
func (t Trial) measured(row steering.Row, texts []string, vectors, straight [][]float32) steering.Row {
	n := 0
	for i, text := range texts {
		if text == "" {
			continue
		}
		n++
		if row.Example == "" {
			row.Example = text
		}
		row.Words += float64(steering.Words(text))
		row.Moved += steering.CosineDistance(vectors[i], straight[i])
	}
	row.Distinct, row.Pairs = steering.Distinct(texts, 1), steering.Distinct(texts, 2)
	per := len(t.Seeds)
	for i := 0; i+per <= len(texts); i += per {
		row.Distance += steering.Distance(vectors[i:i+per]) / float64(len(t.Prompts))
	}
	for _, sum := range []*float64{&row.Words, &row.Moved, &row.Surface, &row.LogProb, &row.Plain} {
		*sum /= float64(max(n, 1))
	}
	return row
}
