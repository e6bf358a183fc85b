package openaigw

import (
	"regexp"

	"github.com/seed-56a03226/oneiros/internal/exchange"
)

const responseFormat = "response_format"

// lineAgainst is the setting of a model that keeps a field from being sent; empty when there is none.
func (g *Gateway) lineAgainst(field, message string) string {
	switch field {
	case g.profile.Temperature:
		return exchange.NoTemperature(message)
	case g.profile.MinP:
		return "min_p: false"
	case g.profile.TopP:
		return "top_p: false"
	case g.profile.Seed:
		return "seed: false"
	case g.profile.Stop:
		return "stop: false"
	case g.profile.LogProbs, include:
		return "log_probs: false"
	case responseFormat, textFormat:
		return "json: prompt"
	}
	// A limit is also named when it is only too high, which no setting of the model corrects.
	most, mostThinking := g.profile.MaxTokens, g.profile.MaxThinking
	switch {
	case field == most && field != mostThinking && exchange.Mentions(message, mostThinking):
		return "reasoning: true"
	case field == mostThinking && field != most && unknownField.MatchString(message):
		return "reasoning: false"
	}
	return ""
}

var unknownField = regexp.MustCompile(
	`(?i)unsupported|unknown|unrecogni[sz]ed|not permitted|not supported|extra (?:fields?|inputs?)`)
