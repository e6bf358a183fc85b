package openaigw

import (
	"github.com/sashabaranov/go-openai"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

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

// tokens is the usage of a generation.
func (l *answerReader) tokens(promptBytes int) (budget.Tokens, inference.UsageFrom) {
	t, ok := reported(l.usage)
	return l.Usage(promptBytes, t, ok)
}
