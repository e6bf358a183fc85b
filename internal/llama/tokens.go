package llama

import (
	"context"
	"errors"

	yl "github.com/hybridgroup/yzma/pkg/llama"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// speak generates the tokens of an answer.
func (d *llamaContext) speak(ctx context.Context, j job, v *voice, raw []float32) (inference.Finish, int, error) {
	e := d.engine
	var at walk
	if j.form != nil {
		at = walkOf(j.form)
	}
	made := 0
	for {
		if ctx.Err() != nil || d.stop.Load() {
			return inference.Cut, made, errStopped
		}
		log := logs(raw)
		token := j.taste.choose(log, func(token int) bool { return e.allowed(j, at, token, made) })
		if token < 0 {
			return inference.Cut, made, errors.New("the model has no token that goes on with the schema")
		}
		made++
		if e.ends[token] {
			v.end()
			return ended(ctx, v, inference.Stopped, made)
		}
		if text := e.words[token]; len(text) > 0 {
			v.token(e.token(log, token, j.Top))
			if j.form != nil {
				at, _ = at.after(text)
			}
		}
		switch {
		case v.halted || v.stopped:
			return ended(ctx, v, inference.Stopped, made)
		case j.form != nil && len(at.stack) == 0:
			v.end()
			return ended(ctx, v, inference.Stopped, made)
		case made >= j.room:
			v.end()
			if j.form != nil && at.complete() {
				return ended(ctx, v, inference.Stopped, made)
			}
			return ended(ctx, v, inference.Length, made)
		}
		d.sign()
		var err error
		raw, err = d.next(yl.Token(token))
		if err != nil {
			return inference.Cut, made, err
		}
	}
}

// ended is how an answer ended, unless its caller had enough of it or disconnected before its end.
func ended(ctx context.Context, v *voice, f inference.Finish, made int) (inference.Finish, int, error) {
	switch {
	case v.halted:
		return inference.Halted, made, nil
	case ctx.Err() != nil:
		return inference.Cut, made, errStopped
	}
	return f, made, nil
}

// allowed says whether a token may follow those that were generated.
func (e *Engine) allowed(j job, at walk, token, made int) bool {
	end := e.ends[token]
	if j.form == nil {
		return end && made >= e.least || len(e.words[token]) > 0
	}
	if end {
		return at.complete()
	}
	if len(e.words[token]) == 0 {
		return false
	}
	next, ok := at.after(e.words[token])
	return ok && next.need() < j.room-made
}

// token is a token with the figures to report.
func (e *Engine) token(log []float64, token, top int) Token {
	t := Token{Text: string(e.words[token]), LogProb: log[token]}
	for _, c := range likeliest(log, top) {
		t.Top = append(t.Top, Token{Text: string(e.words[c.token]), LogProb: c.log})
	}
	return t
}
