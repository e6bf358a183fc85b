package anthropicgw

import (
	"context"
	"net/http"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/exchange"
	"github.com/seed-56a03226/oneiros/internal/wire/messages"
)

// usualMost is the maximum of tokens of an answer where neither the request nor the spend guard names one, as for a
// model that costs nothing.
const usualMost = 8192

// chat says a chat completion's request as Messages, and its answer as a chat completion.
func (g *Gateway) chat(ctx context.Context, r inference.RelayRequest) (*inference.RelayResponse, error) {
	spec, err := g.PricedModel(r.Model)
	if err != nil {
		return nil, err
	}
	most := int64(usualMost)
	if spec.Context > 0 {
		most = min(most, int64(spec.Context)/2)
	}
	q, err := messages.ReadChat(r.Body, messages.Model{
		Structured:     spec.JSON == inference.JSONSchema,
		Reasons:        spec.Reasoning,
		MaxTemperature: spec.MaxTemperature,
		MaxTokens:      most,
		Caches:         r.Caches,
	})
	if err != nil {
		return nil, exchange.Untranslatable(err)
	}
	r.Path, r.Body = "/messages", q.Body
	t, res, err := g.pass(ctx, r)
	if err != nil {
		return nil, err
	}
	return g.Translate(t, res, messages.NewChatAnswer(q, g.now().Unix())), nil
}

// speaks reports whether a path is one of Messages.
func speaks(method, path string) bool {
	return method != http.MethodPost || path == "/messages" || strings.HasPrefix(path, "/messages/")
}
