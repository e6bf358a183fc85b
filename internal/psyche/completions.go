package psyche

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strconv"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/jsonscan"
)

// Completions passes a body on to the provider's /completions, which goes on from a text, as editors ask for it. The
// agent only pays: nothing is recalled or remembered, and it is woken only where Options.CompletionsWake says so.
func (s *Service) Completions(ctx context.Context, t Turn) (*Reply, error) {
	if s.o.Completions == "" {
		return nil, Refuse(http.StatusNotFound, "completions_off", "",
			"This server completes no texts. Name a model whose provider has /completions in the setting serve.completions, or use /v1/chat/completions.")
	}
	ctx = asks(ctx, &t.Caller)
	agent, err := s.reach(ctx, t.Caller, t.Agent, access.Client)
	if err != nil {
		return nil, err
	}
	spec, err := s.Guard.Catalog.Lookup(s.o.Completions)
	if err != nil {
		return nil, relayFault(ctx, err)
	}
	c, err := t.Body.completion(&limits{
		spec:     spec,
		free:     costsNothing(&spec),
		allowed:  s.allowed,
		thinking: int64(s.o.Thinking),
	})
	if err != nil {
		return nil, err
	}
	left, err := s.tokensLeft(&t.Caller.Key)
	if err != nil {
		return nil, err
	}
	u := &turn{service: s, Turn: t, agent: agent, spec: spec}
	report := TurnReport{Agent: agent.Handle, AgentID: agent.ID, Model: spec.Name, Tokens: left}
	if s.o.CompletionsWake {
		lease, woken, err := s.leases.connect(ctx, agent.ID, u.client())
		if err != nil {
			return nil, err
		}
		u.lease = lease
		report.Epoch, report.Woke, report.Degraded = woken.Epoch, woken.Raised, woken.Degraded
	}
	res, err := s.relay(ctx, &t.Caller, s.charge(&agent, &t.Caller), inference.RelayRequest{
		Method: http.MethodPost,
		Path:   t.Path,
		Header: providerHeader(t.Header),
		Body:   spliced(t.Body.raw, append(c.changes, t.Body.model(spec.Wire))),
		Model:  spec.Name,
	}, c.worst)
	if err != nil {
		u.end()
		return nil, relayFault(ctx, err)
	}
	body := &closing{ReadCloser: res.Body, close: func() {
		s.settled(res.Body)
		u.end()
	}}
	reply := &Reply{Status: res.Status, Header: clientHeader(res.Header), Body: body, Report: report}
	if res.Status/100 == 2 {
		stream := EventStream(res.Header)
		answer := readOf(res.Body, chatForm, stream)
		body.ReadCloser, reply.Failed = answer, answer.failed
		if stream && c.hidden {
			body.ReadCloser = &sieved{ReadCloser: answer}
		}
	}
	return reply, nil
}

// end lets go of the turn's lease, if it has one.
func (t *turn) end() {
	if t.lease != nil {
		t.service.leases.release(t.lease)
	}
}

// sieved is a stream without the usage that its client did not ask for.
type sieved struct {
	io.ReadCloser
	sieve sieve
	err   error // of the stream's end
}

func (s *sieved) Read(p []byte) (int, error) {
	for s.sieve.empty() {
		if s.err != nil {
			return 0, s.err
		}
		var n int
		n, s.err = s.ReadCloser.Read(p)
		s.sieve.push(p[:n], s.err != nil)
	}
	return s.sieve.take(p), nil
}

// completion is the most that the completion of a text can cost, with the changes of its body that bound it.
type completion struct {
	worst   spend.Worst
	changes []splice
	hidden  bool // the client did not ask for the usage that the provider is asked for
}

// usualCompletion is how many tokens OpenAI's API writes when a request names no maximum.
const usualCompletion = 16

// completion bounds a body. Free calls are passed on as they came.
func (b *Body) completion(l *limits) (completion, error) {
	var c completion
	if b.given("prompt") == nil {
		return c, invalidRequest("missing_field", "prompt",
			"The body has no prompt. It must be a text, or a list of texts.")
	}
	if l.free {
		return c, b.types(l)
	}
	prompts, text, err := b.prompts()
	if err != nil {
		return c, err
	}
	d, err := b.costBound(l)
	if err != nil {
		return c, err
	}
	most := d.answer
	if b.given("max_tokens") == nil {
		c.changes = append(c.changes, b.set("max_tokens", strconv.AppendInt(nil, usualCompletion, 10)))
		most = max(most, plus(usualCompletion, d.thinks))
	}
	if window := l.window(); window > 0 {
		most = min(most, window)
	}
	c.worst = spend.Worst{
		In:    plus(d.in, times(prompts, perMessage)),
		Out:   times(prompts, times(d.choices, plus(most, d.beside))),
		Text:  text,
		Times: d.times,
	}
	if usage := b.counted(); usage != nil {
		c.hidden = true
		c.changes = append(c.changes, *usage)
	}
	return c, nil
}

// prompts counts the texts to complete, each of which is answered, and the bytes of them that are certainly text. A
// prompt is a text, a list of token numbers, or a list of those.
func (b *Body) prompts() (n, text int64, err error) {
	v := b.given("prompt")
	if v[0] == '"' {
		return 1, int64(len(jsonscan.Unquoted(v))), nil
	}
	wrong := invalidRequest(badValue, "prompt",
		"prompt must be a text, a list of texts, a list of token numbers, or a list of such lists, for a paid model.")
	if v[0] != '[' {
		return 0, 0, wrong
	}
	s := &jsonscan.Scanner{Body: v}
	var bad error
	err = s.Array(func() error {
		each, err := s.Value()
		if err != nil {
			return err
		}
		switch item := each.Of(v); {
		case item[0] == '"':
			n++
			text += int64(len(jsonscan.Unquoted(item)))
		case item[0] == '[' && !bytes.ContainsAny(item[1:], "[{\""):
			n++
		case item[0] < '0' || item[0] > '9': // no token's number
			bad = wrong
		}
		return nil
	})
	if err == nil {
		err = bad
	}
	return max(1, n), text, err
}
