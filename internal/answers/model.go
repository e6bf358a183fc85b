package answers

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
)

// Model returns a model that gives the answers of the log, and buys from next what the log does not have. Models are
// priced by catalog. An arm takes one Model and keeps it from its beginning to its end: the Model counts how often each
// request was made, so that the n-th identical request gets the n-th recorded answer.
//
// Errors are those of next, and *inference.Failure: of kind NoMoney, wrapping a *spend.OverCap, where a call does not
// fit under the cap, and of kind BadRequest where the file cannot be read or written. Recorded answers need no price
// and no next. One that was halted when it was recorded ends there again, whether or not its caller halts it.
func (l *Log) Model(next inference.Model, catalog inference.Catalog) inference.Model {
	return &recording{log: l, next: next, catalog: catalog, taken: map[place]bool{}}
}

// recording is the model of one arm.
type recording struct {
	log     *Log
	next    inference.Model
	catalog inference.Catalog

	mu    sync.Mutex
	taken map[place]bool // by requests that are answered, or being answered
}

// take returns the first place of a request that is free.
func (m *recording) take(key hash) place {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := place{key: key}
	for m.taken[p] {
		p.nth++
	}
	m.taken[p] = true
	return p
}

func (m *recording) giveBack(p place) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.taken, p)
}

// Generate gives a recorded answer in the pieces in which it once came, or buys one.
func (m *recording) Generate(ctx context.Context, r inference.Request,
	token func(piece string) bool,
) (inference.Answer, error) {
	spec, err := m.catalog.Lookup(r.Model)
	if err != nil {
		return inference.Answer{}, err
	}
	key, err := hashRequest(spec, r)
	if err != nil {
		return inference.Answer{}, err
	}
	p, answered := m.take(key), false
	defer func() {
		if !answered {
			m.giveBack(p)
		}
	}()
	a, err := m.generate(ctx, spec, r, p, token)
	answered = err == nil
	return a, err
}

func (m *recording) generate(ctx context.Context, spec inference.Spec, r inference.Request, p place,
	token func(string) bool,
) (inference.Answer, error) {
	for {
		if ctx.Err() != nil {
			return inference.Answer{Finish: inference.Cut}, cutError(ctx, r.Model)
		}
		mine, running := m.log.claim(p)
		switch {
		case len(mine) > 0:
			defer m.log.free(p)
			return m.buy(ctx, spec, r, p, token)
		case running == nil:
			return m.replay(ctx, r.Model, p, token)
		}
		await(ctx, running)
	}
}

func cutError(ctx context.Context, model string) error {
	return fmt.Errorf("generate by %s: %w", model, context.Cause(ctx))
}

// await waits for the end of a call of another arm, or of ctx.
func await(ctx context.Context, running <-chan struct{}) {
	select {
	case <-running:
	case <-ctx.Done():
	}
}

// replay streams a recorded answer.
func (m *recording) replay(ctx context.Context, model string, p place,
	token func(string) bool,
) (inference.Answer, error) {
	each, err := m.log.entry(p)
	if err != nil {
		return inference.Answer{}, err
	}
	a, pieces := each.Answer.Answer, each.Answer.pieces()
	for i, piece := range pieces {
		if ctx.Err() != nil {
			return shortened(a, pieces[:i], inference.Cut), cutError(ctx, model)
		}
		more := token == nil || token(piece)
		if !more && (i < len(pieces)-1 || a.Finish != inference.Halted) {
			m.log.countReuse()
			return shortened(a, pieces[:i+1], inference.Halted), nil
		}
	}
	a.Text = strings.Join(pieces, "")
	m.log.countReuse()
	return a, nil
}

// shortened is the beginning of an answer. Its tokens stay those of the whole answer, which were paid.
func shortened(a inference.Answer, pieces []string, finish inference.Finish) inference.Answer {
	a.Text, a.Visible, a.Finish = strings.Join(pieces, ""), len(pieces), finish
	a.UsageFrom, a.LogProb = inference.ByCount, nil
	return a
}

// buy calls the model under a reservation.
func (m *recording) buy(ctx context.Context, spec inference.Spec, r inference.Request, p place,
	token func(string) bool,
) (inference.Answer, error) {
	if _, err := spend.Priced(m.catalog, r.Model); err != nil {
		return inference.Answer{}, err
	}
	amount := spend.GenerationCost(spec, r)
	call, err := m.log.reserve(r.Model, amount)
	if err != nil {
		return inference.Answer{}, err
	}
	if ctx.Err() != nil { // while the reservation was written
		return inference.Answer{Finish: inference.Cut}, errors.Join(cutError(ctx, r.Model), m.log.release(call))
	}
	r.Key = m.log.callKey(call)
	var pieces []string
	a, callErr := m.next.Generate(ctx, r, func(piece string) bool {
		pieces = append(pieces, piece)
		return token == nil || token(piece)
	})
	bill := spend.BillFor(spec, r, amount, a, callErr)
	if callErr != nil {
		ended := &end{Call: call, Cost: bill.Amount, State: bill.State, Why: bill.Finish}
		return a, errors.Join(callErr, m.log.settle(amount, line{End: ended}))
	}
	a.Text = strings.Join(pieces, "")
	if a.LogProb != nil && (math.IsNaN(*a.LogProb) || math.IsInf(*a.LogProb, 0)) {
		a.LogProb = nil // JSON has no such number
	}
	return a, m.log.settle(amount, line{Answer: newAnswer(call, bill.Amount, p, a, pieces)})
}

// Embed gives the recorded vectors, and buys those of texts that no call has embedded yet. A recorded text counts as
// many tokens as its share of the call that embedded it, in proportion to its bytes.
func (m *recording) Embed(ctx context.Context, model string, texts []string, _ string) (inference.Vectors, error) {
	spec, err := m.catalog.Lookup(model)
	if err != nil {
		return inference.Vectors{}, err
	}
	if len(texts) == 0 {
		return inference.Vectors{}, &inference.Failure{Kind: inference.BadRequest, Message: "there is no text to embed"}
	}
	spec.Name = model
	places := make([]place, len(texts))
	for i, text := range texts {
		places[i].key, err = hashText(spec, model, text)
		if err != nil {
			return inference.Vectors{}, err
		}
	}
	for bought := false; ; {
		if ctx.Err() != nil {
			return inference.Vectors{}, fmt.Errorf("embed %d texts: %w", len(texts), context.Cause(ctx))
		}
		mine, running := m.log.claim(places...)
		switch {
		case len(mine) > 0:
			bought = true
			err := m.buyVectors(ctx, spec, pick(texts, mine), pick(places, mine))
			if err != nil {
				return inference.Vectors{}, err
			}
		case running != nil:
			await(ctx, running)
		default:
			if !bought {
				m.log.countReuse()
			}
			return m.vectors(model, places)
		}
	}
}

func pick[T any](all []T, at []int) []T {
	some := make([]T, len(at))
	for i, index := range at {
		some[i] = all[index]
	}
	return some
}

// buyVectors embeds claimed texts, which are all different, under a reservation.
func (m *recording) buyVectors(ctx context.Context, spec inference.Spec, texts []string, places []place) error {
	defer m.log.free(places...)
	if _, err := spend.Priced(m.catalog, spec.Name); err != nil {
		return err
	}
	request := spend.EmbeddingRequest(spec.Name, texts)
	amount := spend.EmbeddingCost(spec, request)
	call, err := m.log.reserve(spec.Name, amount)
	if err != nil {
		return err
	}
	if ctx.Err() != nil { // while the reservation was written
		return errors.Join(fmt.Errorf("embed %d texts: %w", len(texts), context.Cause(ctx)), m.log.release(call))
	}
	v, callErr := m.next.Embed(ctx, spec.Name, texts, m.log.callKey(call))
	if callErr == nil {
		callErr = complete(v, len(texts))
	}
	paid := inference.Answer{Finish: inference.Stopped, Tokens: v.Tokens, UsageFrom: v.UsageFrom}
	bill := spend.BillFor(spec, request, amount, paid, callErr)
	ended := &end{Call: call, Cost: bill.Amount, State: bill.State, Why: bill.Finish}
	if callErr != nil {
		return errors.Join(callErr, m.log.settle(amount, line{End: ended}))
	}
	lines := make([]line, 0, len(texts)+1)
	for i, share := range shares(v.Tokens.In, texts) {
		lines = append(lines, line{Vector: &vector{
			Call:      call,
			Key:       places[i].key,
			Space:     v.Space,
			Tokens:    share,
			UsageFrom: v.UsageFrom,
			Numbers:   packNumbers(v.V[i]),
		}})
	}
	return m.log.settle(amount, append(lines, line{End: ended})...)
}

// complete refuses vectors that are not one for each text.
func complete(v inference.Vectors, texts int) error {
	whole := len(v.V) == texts
	for _, each := range v.V {
		whole = whole && len(each) > 0
	}
	if whole {
		return nil
	}
	return &inference.Failure{
		Kind: inference.Malformed, Billed: true,
		Message: fmt.Sprintf("%d vectors came for %d texts, or an empty one among them", len(v.V), texts),
	}
}

// shares divides the tokens of a call among its texts by their bytes, each share rounded up.
func shares(tokens int64, texts []string) []int64 {
	total := 0
	for _, text := range texts {
		total += len(text)
	}
	out := make([]int64, len(texts))
	for i, text := range texts {
		if total > 0 {
			out[i] = int64(math.Ceil(float64(max(tokens, 0)) * float64(len(text)) / float64(total)))
		}
	}
	return out
}

// vectors reads recorded vectors.
func (m *recording) vectors(model string, places []place) (inference.Vectors, error) {
	out := inference.Vectors{V: make([][]float32, len(places))}
	for i, p := range places {
		found, err := m.log.entry(p)
		if err != nil {
			return inference.Vectors{}, err
		}
		each := found.Vector
		if i == 0 {
			out.Space, out.UsageFrom = each.Space, each.UsageFrom
		}
		if each.Space != out.Space {
			return inference.Vectors{}, &inference.Failure{
				Kind: inference.BadRequest,
				Message: fmt.Sprintf(
					"%s embedded some recorded texts in the space %s and others in %s, which cannot be compared",
					model, out.Space, each.Space),
				Remedy: anew,
			}
		}
		if each.UsageFrom != out.UsageFrom {
			out.UsageFrom = inference.ByCount
		}
		out.V[i] = unpackNumbers(each.Numbers)
		out.Tokens.In += each.Tokens
	}
	return out, nil
}

const anew = "the embedder has changed; begin with a new file of recorded answers"
