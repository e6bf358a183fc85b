package anthropicgw

import (
	"context"
	"net/http"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/exchange"
)

// Relay passes a body of Messages on unchanged, and its answer back. A chat completion is translated both ways; what
// Messages cannot say is a failure (BadRequest) that names it. Any other wire is refused.
func (g *Gateway) Relay(ctx context.Context, r inference.RelayRequest) (*inference.RelayResponse, error) {
	path, _, _ := strings.Cut(r.Path, "?")
	if r.Method == http.MethodPost && path == "/chat/completions" {
		return g.chat(ctx, r)
	}
	if !speaks(r.Method, path) {
		return nil, exchange.BadRequest(
			"provider %q speaks Anthropic's Messages, which has no %s; choose a model of another provider for it",
			g.Name(), path)
	}
	t, res, err := g.pass(ctx, r)
	if err != nil {
		return nil, err
	}
	return &inference.RelayResponse{Status: res.StatusCode, Header: res.Header, Body: t, Seen: t.Seen}, nil
}

// pass passes a body on, and reads the usage of its answer.
func (g *Gateway) pass(ctx context.Context, r inference.RelayRequest) (*exchange.Relayed, *http.Response, error) {
	res, err := g.Client.Relay(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	return g.Client.Read(ctx, res, len(r.Body), &exchange.MessagesReader{}), res, nil
}
