package spend

import (
	"fmt"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// Overrun is how many tokens beyond its maximum a stream may produce before closing the connection stops it. Every
// streamed call reserves for them. At 5 ms a token it covers 320 ms between closing the connection and the provider's
// stop.
const Overrun = 64

// Priced returns a model's entry of the catalogue. Errors are *inference.Failure: the model is unknown, or has no
// price.
func Priced(catalog inference.Catalog, model string) (inference.Spec, error) {
	spec, err := catalog.Lookup(model)
	if err != nil {
		return spec, err
	}
	if spec.Price == nil {
		return spec, &inference.Failure{Kind: inference.Unpriced, Message: fmt.Sprintf(
			"model %q has no price; state one under providers.%s.models (in and out, dollars per million tokens; "+
				"0 for a local model)", model, spec.Provider)}
	}
	return spec, nil
}

// EmbeddingRequest is a request whose prompt is the texts to embed. EmbeddingCost and BillFor count it.
func EmbeddingRequest(model string, texts []string) inference.Request {
	r := inference.Request{Model: model}
	for _, text := range texts {
		r.Messages = append(r.Messages, inference.Message{Content: text})
	}
	return r
}

// GenerationCost is the most that a generation can cost: its prompt, its longest answer, Overrun, and the reasoning of
// a model that reasons. The model must be Priced.
func GenerationCost(spec inference.Spec, r inference.Request) budget.Micros {
	return worstCost(spec, r, mostWritten(r))
}

// EmbeddingCost is the most that an EmbeddingRequest can cost. The model must be Priced.
func EmbeddingCost(spec inference.Spec, r inference.Request) budget.Micros {
	return worstCost(spec, r, 0)
}

// mostWritten is the most tokens that a stream writes, reasoning aside.
func mostWritten(r inference.Request) int64 { return int64(r.MaxTokens) + Overrun }

// worstCost is the cost of the prompt of r and of out answer tokens on top of the reasoning tokens.
func worstCost(spec inference.Spec, r inference.Request, out int64) budget.Micros {
	if spec.Reasoning {
		out += int64(r.Reasoning)
	}
	return spec.Price.Worst(inference.CountPrompt(spec, r), out)
}

// BillFor decides what an ended attempt with a reservation counts for
// (docs/decisions/0001-money-is-reserved-called-settled.md): the cost of the provider's final usage when that is
// plausible; the larger of the reservation and the reported cost when the call was cut or failed, or the usage is
// missing or implausible; nothing only when the provider certainly charged nothing.
func BillFor(spec inference.Spec, r inference.Request, reserved budget.Micros, a inference.Answer, err error) Bill {
	b := Bill{State: Settled, Amount: reserved, Tokens: a.Tokens, Finish: string(a.Finish)}
	reported := spec.Price.Cost(a.Tokens)
	failure, failed := inference.AsFailure(err)
	switch {
	case failed && !failure.Billed:
		b.State, b.Amount, b.Finish = Refused, 0, string(failure.Kind)
	case failed:
		b.State, b.Amount, b.Finish = Lost, max(reserved, reported), string(failure.Kind)
	case err != nil:
		b.State, b.Amount = Partial, max(reserved, reported)
	case a.UsageFrom != inference.ByProvider || !plausible(spec, r, a):
		b.State, b.Amount = Partial, max(reserved, reported)
	default:
		b.Amount = reported
	}
	return b
}

// plausible rejects a usage that is certainly too low: fewer tokens than pieces received, or more than six bytes of
// prompt per token, which no tokenizer reaches on the text of a prompt.
func plausible(spec inference.Spec, r inference.Request, a inference.Answer) bool {
	promptBytes := 0
	for _, m := range r.MessagesFor(spec.JSON) {
		promptBytes += len(m.Content)
	}
	return a.Tokens.Out >= int64(a.Visible) && a.Tokens.In*6 >= int64(promptBytes)
}
