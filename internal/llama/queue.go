package llama

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// sit waits for a free context, behind at most as many requests as may wait.
func (e *Engine) sit(ctx context.Context) (*llamaContext, error) {
	select {
	case <-e.closing:
		return nil, closed()
	default:
	}
	select {
	case e.places <- struct{}{}:
	default:
		return nil, &inference.Failure{Kind: inference.RateLimited, Message: fmt.Sprintf(
			"%d requests wait for the model already; ask later, or let more wait", e.options.Queue)}
	}
	select {
	case d := <-e.desks:
		return d, nil
	case <-ctx.Done():
		<-e.places
		return nil, cut(ctx, 0)
	case <-e.closing:
		<-e.places
		return nil, closed()
	}
}

func closed() error {
	return &inference.Failure{Kind: inference.Unavailable, Message: "the model is closed"}
}

// rise returns a context.
func (e *Engine) rise(d *llamaContext) {
	e.desks <- d
	<-e.places
}

// watch stops the context's computation when ctx ends, the engine closes, or nothing happens for too long. The
// returned function must be called at the end.
func (d *llamaContext) watch(ctx context.Context, idle time.Duration, closing <-chan struct{}) (release func()) {
	d.stop.Store(false)
	d.idle.Store(false)
	over, ended := make(chan struct{}), make(chan struct{})
	var silence <-chan time.Time
	if idle > 0 {
		d.timer = time.NewTimer(idle)
		d.silence, silence = idle, d.timer.C
	}
	go func() {
		defer close(ended)
		select {
		case <-over:
			return
		case <-ctx.Done():
		case <-closing:
		case <-silence:
			d.idle.Store(true)
		}
		d.stop.Store(true)
	}()
	return func() {
		close(over)
		<-ended
		if d.timer != nil {
			d.timer.Stop()
			d.timer = nil
		}
	}
}

// sign says that the model is working.
func (d *llamaContext) sign() {
	if d.timer != nil {
		d.timer.Reset(d.silence)
	}
}

// vectorNames lists the vectors, for a message.
func (e *Engine) vectorNames() string {
	if len(e.vectors) == 0 {
		return "none was given"
	}
	return "there are " + strings.Join(slices.Sorted(maps.Keys(e.vectors)), ", ")
}

// Vectors are the names of the control vectors that a request may ask for.
func (e *Engine) Vectors() []string { return slices.Sorted(maps.Keys(e.vectors)) }
