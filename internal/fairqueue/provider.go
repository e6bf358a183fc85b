package fairqueue

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

type asking struct{}

// As says for whom the calls of a context are made, unless that was said before. Without it they are a dream's.
func As(ctx context.Context, r Request) context.Context {
	if ctx.Value(asking{}) != nil {
		return ctx
	}
	return context.WithValue(ctx, asking{}, r)
}

// askerOf is for whom a call is made.
func askerOf(ctx context.Context) Request {
	if r, ok := ctx.Value(asking{}).(Request); ok {
		return r
	}
	return Request{Class: Dream}
}

// Limit lets a model's calls pass through a queue. The result passes bodies on when the model does.
func Limit(m inference.Model, q *Queue) inference.Model {
	l := &limited{model: m, queue: q}
	if via, ok := m.(inference.Relay); ok {
		return &limitedRelay{limited: l, relay: via}
	}
	return l
}

// limited is a model of a provider that serves so many calls at once.
type limited struct {
	model inference.Model
	queue *Queue
}

// enter waits for a place. A call that got none was not sent, and costs nothing.
func (l *limited) enter(ctx context.Context) (leave func(), err error) {
	t, err := l.queue.Join(askerOf(ctx))
	if err == nil {
		err = t.Wait(ctx)
		if err == nil {
			return t.Leave, nil
		}
		t.Leave()
	}
	if refused, ok := AsRefused(err); ok {
		return nil, &inference.Failure{
			Kind:       inference.RateLimited,
			RetryAfter: refused.After,
			Message: fmt.Sprintf("%d calls to the provider are under way, which is as many as it is given",
				l.queue.o.Places),
			Err: refused,
		}
	}
	return nil, &inference.Failure{
		Kind:    inference.Unavailable,
		Message: "the call was cut before it was sent",
		Err:     err,
	}
}

// Generate waits for its turn.
func (l *limited) Generate(ctx context.Context, r inference.Request,
	token func(string) bool,
) (inference.Answer, error) {
	leave, err := l.enter(ctx)
	if err != nil {
		return inference.Answer{Finish: inference.Cut}, err
	}
	defer leave()
	return l.model.Generate(ctx, r, token)
}

// Embed waits for its turn.
func (l *limited) Embed(ctx context.Context, model string, texts []string, key string) (inference.Vectors, error) {
	leave, err := l.enter(ctx)
	if err != nil {
		return inference.Vectors{}, err
	}
	defer leave()
	return l.model.Embed(ctx, model, texts, key)
}

// limitedRelay also passes bodies on.
type limitedRelay struct {
	*limited
	relay inference.Relay
}

// Relay waits for its turn, and gives the place back when the response was closed.
func (l *limitedRelay) Relay(ctx context.Context, r inference.RelayRequest) (*inference.RelayResponse, error) {
	leave, err := l.enter(ctx)
	if err != nil {
		return nil, err
	}
	res, err := l.relay.Relay(ctx, r)
	if err != nil {
		leave()
		return nil, err
	}
	res.Body = &leaving{ReadCloser: res.Body, leave: leave}
	return res, nil
}

// leaving is a body whose place is given back when it is closed.
type leaving struct {
	io.ReadCloser
	leave func()
	once  sync.Once
}

func (b *leaving) Close() error {
	err := b.ReadCloser.Close()
	b.once.Do(b.leave)
	return err
}
