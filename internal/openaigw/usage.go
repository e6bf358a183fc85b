package openaigw

import (
	"github.com/sashabaranov/go-openai"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// bytesPerToken is a rule of thumb for English; it is used for estimates, never for reservations.
const bytesPerToken = 4

// counted is the usage from what was sent and seen, when the provider reports none.
func counted(promptBytes, pieces int) budget.Tokens {
	return budget.Tokens{In: int64(promptBytes+bytesPerToken-1) / bytesPerToken, Out: int64(pieces)}
}

// reported reads the provider's usage; false when it cannot be true.
func reported(u *openai.Usage) (budget.Tokens, bool) {
	if u == nil || u.PromptTokens <= 0 || u.CompletionTokens < 0 {
		return budget.Tokens{}, false
	}
	t := budget.Tokens{In: int64(u.PromptTokens), Out: int64(u.CompletionTokens)}
	if d := u.PromptTokensDetails; d != nil {
		t.Cached = min(max(0, int64(d.CachedTokens)), t.In)
	}
	if d := u.CompletionTokensDetails; d != nil {
		t.Reasoning = min(max(0, int64(d.ReasoningTokens)), t.Out)
	}
	return t, true
}

// tokens is the usage of a generation: the provider's when the answer was read to its end, but never below the pieces
// counted here.
func (l *answerReader) tokens(promptBytes int) (budget.Tokens, inference.UsageFrom) {
	pieces := l.answer.Visible + l.hidden
	count := counted(promptBytes, pieces)
	count.Reasoning = int64(l.hidden)
	t, ok := reported(l.usage)
	if !ok || !l.finished {
		return count, inference.ByCount
	}
	t.Out = max(t.Out, int64(pieces))
	return t, inference.ByProvider
}
