package openaigw

import (
	"context"
	"net/http"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/exchange"
	"github.com/seed-56a03226/oneiros/internal/wire/responses"
)

// Relay passes a body on, as exchange.Client.Relay does, and reads the usage of its answer. Where the provider speaks
// Responses alone, a chat completion is translated both ways; what Responses cannot say is a failure (BadRequest) that
// names it.
func (g *Gateway) Relay(ctx context.Context, r inference.RelayRequest) (*inference.RelayResponse, error) {
	if g.responses && r.Method == http.MethodPost && r.Path == "/chat/completions" {
		return g.translate(ctx, r)
	}
	res, err := g.Client.Relay(ctx, r)
	if err != nil {
		return nil, err
	}
	body := g.Client.Read(ctx, res, len(r.Body), readerOf(r.Path))
	return &inference.RelayResponse{Status: res.StatusCode, Header: res.Header, Body: body, Seen: body.Seen}, nil
}

// translate says a chat completion's request as one for a response, and the response as a chat completion.
func (g *Gateway) translate(ctx context.Context, r inference.RelayRequest) (*inference.RelayResponse, error) {
	spec, err := g.PricedModel(r.Model)
	if err != nil {
		return nil, err
	}
	q, err := responses.ReadChat(r.Body, responses.Model{Provider: g.Name(), Reasons: spec.Reasoning})
	if err != nil {
		return nil, exchange.Untranslatable(err)
	}
	r.Path, r.Body = "/responses", q.Body
	res, err := g.Client.Relay(ctx, r)
	if err != nil {
		return nil, err
	}
	body := g.Client.Read(ctx, res, len(r.Body), readerOf(r.Path))
	return g.Translate(body, res, responses.NewChatAnswer(q, g.now().Unix())), nil
}
