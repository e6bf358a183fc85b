package openaigw

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// Generate streams one answer. Beyond the port: a provider that continues after MaxTokens pieces (of a reasoning
// model: MaxTokens + Reasoning pieces of both sorts) is cut off there with Finish Length; IdleToken also bounds the
// wait for the first token; and the output is never counted below the pieces that were seen, whatever usage the
// provider reports.
func (g *Gateway) Generate(ctx context.Context, r inference.Request,
	token func(piece string) bool,
) (inference.Answer, error) {
	spec, err := g.pricedModel(r.Model)
	if err != nil {
		return inference.Answer{}, err
	}
	w, err := g.write(spec, r)
	if err != nil {
		return inference.Answer{}, err
	}
	if err := ctx.Err(); err != nil {
		return inference.Answer{Finish: inference.Cut}, &interrupted{context.Cause(ctx)}
	}
	l := g.openAnswer(ctx, spec, r, token)
	defer l.close()
	res, err := g.send(l.exchange, inference.RelayRequest{
		Method: http.MethodPost, Path: "/chat/completions", Body: w.body, Key: r.Key,
		Header: map[string][]string{"Content-Type": {"application/json"}, "Accept": {"text/event-stream"}},
	}, false)
	if err == nil {
		err = l.read(res.Body)
		_ = res.Body.Close() // everything relevant has been read
	} else {
		g.remedy(err, spec, w)
	}
	return l.conclude(w, err)
}

// conclude makes the answer from what was read.
func (l *answerReader) conclude(w written, err error) (inference.Answer, error) {
	a := l.answer
	a.Text = l.text.String()
	a.Effective, a.Steered = w.sampling.String(), w.steered
	a.LogProb = l.sure.mean()
	a.Tokens, a.UsageFrom = l.tokens(w.bytes)
	var cut *interrupted
	switch {
	case l.halted:
		a.Finish = inference.Halted
	case l.finished || l.full:
		if a.Finish == "" {
			a.Finish = inference.Length
		}
	case errors.As(err, &cut):
		a.Finish = inference.Cut
		return a, err
	default:
		return a, err
	}
	return a, nil
}

// finishOf converts a finish reason. A content filter also ends an answer; what it let through is the answer.
func finishOf(reason string) inference.Finish {
	if strings.EqualFold(reason, "length") || strings.EqualFold(reason, "max_tokens") {
		return inference.Length
	}
	return inference.Stopped
}
