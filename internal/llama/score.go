package llama

import (
	"context"
	"errors"
	"fmt"

	yl "github.com/hybridgroup/yzma/pkg/llama"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// Score is how likely the model finds an answer to the messages: the mean natural logarithm over the answer's tokens,
// unsteered.
func (e *Engine) Score(ctx context.Context, messages []inference.Message, answer string) (float64, error) {
	leave, err := e.enter()
	if err != nil {
		return 0, err
	}
	defer leave()
	all, same, err := e.answered(messages, answer)
	if err != nil {
		return 0, bad("%v", err)
	}
	if same == 0 || same == len(all) || len(all) > e.shape.Context {
		return 0,
			bad("an answer of %d tokens behind %d cannot be scored; the context holds %d", len(all)-same, same,
				e.shape.Context)
	}
	d, err := e.sit(ctx)
	if err != nil {
		return 0, err
	}
	defer e.rise(d)
	defer d.watch(ctx, 0, e.closing)()
	if err := d.steer(nil); err != nil {
		return 0, err
	}
	sum, err := d.score(all, same)
	if ctx.Err() != nil {
		return 0, cut(ctx, 0)
	}
	return sum / float64(len(all)-same), err
}

// score sums the logarithms of the tokens from one on.
func (d *llamaContext) score(all []yl.Token, from int) (float64, error) {
	d.forget()
	defer d.forget()
	batch := yl.BatchInit(chunk, 0, 1)
	if batch.Token == nil {
		return 0, errors.New("llama.cpp gives no memory for a batch")
	}
	defer func() { _ = yl.BatchFree(batch) }()
	var sum float64
	for at := 0; at < len(all)-1; at += chunk {
		end := min(at+chunk, len(all)-1)
		_ = batch.Clear()
		for i := at; i < end; i++ {
			if err := batch.Add(all[i], yl.Pos(i), []yl.SeqId{0}, i >= from-1 || i == end-1); err != nil {
				return 0, fmt.Errorf("fill a batch: %w", err)
			}
		}
		if err := d.decoded(batch); err != nil {
			return 0, err
		}
		for i := max(at, from-1); i < end; i++ {
			raw, err := yl.GetLogitsIth(d.ctx, int32(i-at), d.engine.shape.Words)
			if err != nil || len(raw) == 0 {
				return 0, fmt.Errorf("llama.cpp gives no odds for token %d: %s", i+1, logTail.last())
			}
			sum += logs(raw)[all[i+1]]
		}
	}
	return sum, nil
}
