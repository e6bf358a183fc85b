package llama

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	yl "github.com/hybridgroup/yzma/pkg/llama"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// chunk is how many tokens of a prompt are read at once. Reading always breaks at multiples of it, so that a prompt
// whose beginning is reused gives the same result, to the last bit, as when all of it is read.
const chunk = 64

// llamaContext is a context of llama.cpp: it makes one answer at a time, and keeps the beginning of the last prompt.
type llamaContext struct {
	engine *Engine
	ctx    yl.Context
	memory yl.Memory
	stop   atomic.Bool // llama.cpp checks it during a computation

	held    []yl.Token // of the last prompt, whole chunks
	bent    string     // the steering they were read under; empty for none
	steered bool       // a vector is set

	idle    atomic.Bool // it was silent for too long
	timer   *time.Timer // of the silence; nil for none
	silence time.Duration
}

var errStopped = errors.New("stopped in the middle of a computation")

func (e *Engine) params() yl.ContextParams {
	p := yl.ContextDefaultParams()
	p.NCtx = uint32(e.shape.Context)
	p.NBatch, p.NUbatch = chunk, chunk
	p.NSeqMax = 1
	p.NThreads, p.NThreadsBatch = int32(e.options.Threads), int32(e.options.Threads)
	p.NoPerf = 1
	return p
}

func (e *Engine) newContext() (*llamaContext, error) {
	logTail.clear()
	ctx, err := yl.InitFromModel(e.model, e.params())
	if err != nil {
		return nil, fmt.Errorf("make a context of %d tokens for %s: %s", e.shape.Context, e.options.Model, reason(err))
	}
	d := &llamaContext{engine: e, ctx: ctx}
	d.memory, err = yl.GetMemory(ctx)
	if err != nil || d.memory == 0 {
		return nil,
			errors.Join(
				fmt.Errorf("model %s has no memory of what it read; take one that goes on with a text",
					e.options.Model), yl.Free(ctx))
	}
	yl.SetAbortCallback(ctx, d.stop.Load)
	return d, nil
}

func (d *llamaContext) free() { _ = yl.Free(d.ctx) }

// steer sets the vector of a request, or clears the one before. Tokens that were read under another vector are
// dropped: their cached keys and values contain it.
func (d *llamaContext) steer(s *inference.Steering) error {
	bent := ""
	if s != nil {
		bent = s.String()
	}
	if bent != d.bent {
		d.forget()
		d.bent = bent
	}
	if s == nil {
		return nil
	}
	e := d.engine
	flat := e.vectors[s.Vector].Flat(e.shape.Layers, s.From, s.To, s.Alpha)
	if n := yl.SetAdapterCvec(d.ctx, flat, int32(e.shape.Width), int32(s.From),
		int32(min(s.To, e.shape.Layers-1))); n != 0 {
		return fmt.Errorf("llama.cpp refuses the vector %s (%d): %s", s.Vector, n, logTail.last())
	}
	d.steered = true
	return nil
}

// straighten removes the vector after a request.
func (d *llamaContext) straighten() {
	if d.steered {
		yl.SetAdapterCvec(d.ctx, nil, int32(d.engine.shape.Width), -1, -1)
		d.steered = false
	}
}

func (d *llamaContext) forget() {
	_ = yl.MemoryClear(d.memory, true)
	d.held = nil
}

// read reads a prompt and returns the model's output after its last token. alive is called after each chunk; false
// stops there.
func (d *llamaContext) read(prompt []yl.Token, alive func() bool) ([]float32, int, error) {
	existing := 0
	for existing < len(d.held) && existing < len(prompt)-1 && d.held[existing] == prompt[existing] {
		existing++
	}
	existing -= existing % chunk
	if ok, err := yl.MemorySeqRm(d.memory, 0, yl.Pos(existing), -1); err != nil || !ok || existing == 0 {
		d.forget()
		existing = 0
	}
	d.held = d.held[:existing]
	for at := existing; at < len(prompt); {
		if !alive() {
			d.forget()
			return nil, existing, errStopped
		}
		end := min(at+chunk, len(prompt))
		if err := d.decode(prompt[at:end]); err != nil {
			d.forget()
			return nil, existing, err
		}
		if end-at == chunk {
			d.held = append(d.held, prompt[at:end]...)
		}
		at = end
	}
	raw, err := d.output()
	return raw, existing, err
}

// next reads one token and returns the model's output after it.
func (d *llamaContext) next(token yl.Token) ([]float32, error) {
	if err := d.decode([]yl.Token{token}); err != nil {
		d.forget()
		return nil, err
	}
	return d.output()
}

func (d *llamaContext) decode(tokens []yl.Token) error { return d.decoded(yl.BatchGetOne(tokens)) }

func (d *llamaContext) decoded(batch yl.Batch) error {
	logTail.clear()
	code, err := yl.Decode(d.ctx, batch)
	switch {
	case err != nil:
		return err
	case code == 0:
		return nil
	case d.stop.Load():
		return errStopped
	}
	return fmt.Errorf("llama.cpp could not go on (%d): %s", code, logTail.last())
}

func (d *llamaContext) output() ([]float32, error) {
	raw, err := yl.GetLogitsIth(d.ctx, -1, d.engine.shape.Words)
	if err != nil || len(raw) == 0 {
		return nil, fmt.Errorf("llama.cpp gives no odds for the next token: %s", logTail.last())
	}
	for _, x := range raw {
		if math.IsNaN(float64(x)) {
			return nil,
				errors.New(
					"the model puts out what is no number; a vector this strong breaks it, or its file is damaged")
		}
	}
	return raw, nil
}
