package openaigw

import (
	"encoding/json"
	"math"
)

// logProbMean averages the log-probabilities of the visible tokens.
type logProbMean struct {
	sum    float64
	tokens int
}

// add adds the log-probabilities that came with a visible piece. Invalid ones are skipped.
func (s *logProbMean) add(raw json.RawMessage) {
	if len(raw) == 0 {
		return
	}
	var result struct {
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(raw, &result) == nil {
		s.addTokens(result.Content)
	}
}

// addTokens adds a list of tokens with their log-probabilities.
func (s *logProbMean) addTokens(raw json.RawMessage) {
	var tokens []struct {
		LogProb *float64 `json:"logprob"`
	}
	if len(raw) == 0 || json.Unmarshal(raw, &tokens) != nil {
		return
	}
	for _, token := range tokens {
		if token.LogProb == nil || math.IsNaN(*token.LogProb) || *token.LogProb > 0 {
			continue
		}
		s.sum += max(*token.LogProb, leastLogProb)
		s.tokens++
	}
}

// leastLogProb is the lowest value that counts: vLLM reports -9999 for a token that was cut off, which would dominate
// the mean.
const leastLogProb = -20

// mean is nil when none were reported.
func (s *logProbMean) mean() *float64 {
	if s.tokens == 0 {
		return nil
	}
	m := s.sum / float64(s.tokens)
	return &m
}
