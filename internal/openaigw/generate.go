package openaigw

import (
	"context"
	"net/http"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/exchange"
)

// Generate streams one answer. Beyond the port: a provider that continues after MaxTokens pieces (of a reasoning
// model: MaxTokens + Reasoning pieces of both sorts) is cut off there with Finish Length; IdleToken also bounds the
// wait for the first token; and the output is never counted below the pieces that were seen, whatever usage the
// provider reports.
func (g *Gateway) Generate(ctx context.Context, r inference.Request,
	token func(piece string) bool,
) (inference.Answer, error) {
	spec, err := g.PricedModel(r.Model)
	if err != nil {
		return inference.Answer{}, err
	}
	path, write := "/chat/completions", g.write
	if g.responses {
		path, write = "/responses", g.writeResponse
	}
	w, err := write(spec, r)
	if err != nil {
		return inference.Answer{}, err
	}
	if ctx.Err() != nil {
		return inference.Answer{Finish: inference.Cut}, exchange.Interrupted(ctx)
	}
	opened := g.Open(ctx, spec, r, token)
	defer opened.Close()
	var l generation = &answerReader{Answer: opened, client: g.Client}
	if g.responses {
		l = &responseReader{Answer: opened, client: g.Client, most: w.most}
	}
	res, err := g.Send(opened.Context(), inference.RelayRequest{
		Method: http.MethodPost, Path: path, Body: w.body, Key: r.Key,
		Header: map[string][]string{"Content-Type": {"application/json"}, "Accept": {"text/event-stream"}},
	})
	if err == nil {
		err = opened.Read(res.Body, l)
		_ = res.Body.Close() // everything relevant has been read
	} else {
		g.Remedy(err, spec, w.fields, g.lineAgainst)
	}
	return l.conclude(w, err)
}

// generation is one that is being read on the wire of its provider.
type generation interface {
	exchange.Wire
	conclude(w written, err error) (inference.Answer, error)
}

// conclude makes the answer from what was read.
func (l *answerReader) conclude(w written, err error) (inference.Answer, error) {
	l.Effective, l.Steered = w.sampling.String(), w.steered
	l.LogProb = l.sure.mean()
	l.Tokens, l.UsageFrom = l.tokens(w.bytes)
	return l.Conclude(err)
}

// finishOf converts a finish reason. A content filter also ends an answer; what it let through is the answer.
func finishOf(reason string) inference.Finish {
	if strings.EqualFold(reason, "length") || strings.EqualFold(reason, "max_tokens") {
		return inference.Length
	}
	return inference.Stopped
}
