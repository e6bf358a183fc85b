package openaigw

import (
	"encoding/json"
	"math"
)

// sureness sums up how likely the model called the visible tokens.
type sureness struct {
	sum    float64
	tokens int
}

// hear takes the log-probabilities that came beside a visible piece. What cannot be one is passed over.
func (s *sureness) hear(raw json.RawMessage) {
	if len(raw) == 0 {
		return
	}
	var result struct {
		Content []struct {
			LogProb *float64 `json:"logprob"`
		} `json:"content"`
	}
	if json.Unmarshal(raw, &result) != nil {
		return
	}
	for _, token := range result.Content {
		if token.LogProb == nil || math.IsNaN(*token.LogProb) || *token.LogProb > 0 {
			continue
		}
		s.sum += max(*token.LogProb, leastLogProb)
		s.tokens++
	}
}

// leastLogProb is as unlikely as a token counts: vLLM says -9999 of one that was cut off, which would drown all others.
const leastLogProb = -20

// mean is nil when nothing was told.
func (s *sureness) mean() *float64 {
	if s.tokens == 0 {
		return nil
	}
	m := s.sum / float64(s.tokens)
	return &m
}
