package openaigw

import (
	"context"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// Relay passes a body on, as exchange.Client.Relay does, and reads the usage of its answer.
func (g *Gateway) Relay(ctx context.Context, r inference.RelayRequest) (*inference.RelayResponse, error) {
	res, err := g.Client.Relay(ctx, r)
	if err != nil {
		return nil, err
	}
	body := g.Client.Read(ctx, res, len(r.Body), readerOf(r.Path))
	return &inference.RelayResponse{Status: res.StatusCode, Header: res.Header, Body: body, Seen: body.Seen}, nil
}
