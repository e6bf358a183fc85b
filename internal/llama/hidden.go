package llama

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/ebitengine/purego"
	yl "github.com/hybridgroup/yzma/pkg/llama"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/steering"
)

// output is llama.cpp's name of a layer's output: "l_out-7".
const output = "l_out-"

// eye is called by llama.cpp for every value of a computation. There is one for the process, since such callbacks are
// never freed.
var eye struct {
	once sync.Once
	code uintptr
	busy sync.Mutex // held by the current reading
	now  atomic.Pointer[look]
}

// look is one reading that records the layers' outputs.
type look struct {
	node   nodes
	width  int
	rows   int // tokens read
	from   int // first of the tokens that count
	states steering.States
	fault  error
}

// Reader returns what the layers of a model output while it reads.
type Reader struct {
	engine *Engine
	ctx    yl.Context
	memory yl.Memory
}

// Reader makes a context for reading. Only one may be open at a time in a process: a second waits.
func (e *Engine) Reader() (*Reader, error) {
	leave, err := e.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	eye.once.Do(func() { eye.code = purego.NewCallback(see) })
	eye.busy.Lock()
	p := e.params()
	window := uint32(min(e.shape.Context, longestRead))
	p.NCtx = window
	p.NBatch = window
	p.NUbatch = window
	p.CbEval = eye.code
	logTail.clear()
	r := &Reader{engine: e}
	r.ctx, err = yl.InitFromModel(e.model, p)
	if err == nil {
		r.memory, err = yl.GetMemory(r.ctx)
	}
	if err != nil {
		eye.busy.Unlock()
		return nil, fmt.Errorf("make a context that looks into %s: %s", e.options.Model, reason(err))
	}
	return r, nil
}

// longestRead is how many tokens are read with the layers recorded.
const longestRead = 512

// Close frees the context.
func (r *Reader) Close() error {
	defer eye.busy.Unlock()
	leave, err := r.engine.enter()
	if err != nil {
		return err
	}
	defer leave()
	return yl.Free(r.ctx)
}

// Read returns what layers 1 to the last but one output while the model read the answer that it would have given to
// the messages: the mean over the answer's tokens.
func (r *Reader) Read(ctx context.Context, messages []inference.Message, answer string) (steering.States, error) {
	e := r.engine
	leave, err := e.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	all, same, err := e.answered(messages, answer)
	if err != nil {
		return nil, err
	}
	if same == len(all) || len(all) > int(yl.NBatch(r.ctx)) {
		return nil,
			fmt.Errorf(
				"the text has %d tokens behind its prompt and %d in all; it must have at least one and in all at most %d",
				len(all)-same, len(all), yl.NBatch(r.ctx))
	}
	l := &look{
		node:   e.node,
		width:  e.shape.Width,
		rows:   len(all),
		from:   same,
		states: steering.States{},
	}
	_ = yl.MemoryClear(r.memory, true)
	eye.now.Store(l)
	defer eye.now.Store(nil)
	logTail.clear()
	if code, err := yl.Decode(r.ctx, yl.BatchGetOne(all)); err != nil || code != 0 {
		return nil, fmt.Errorf("llama.cpp could not read %d tokens (%d): %s", len(all), code, logTail.last())
	}
	yl.Synchronize(r.ctx)
	delete(l.states, 0) // no vector can be added there
	switch {
	case l.fault != nil:
		return nil, l.fault
	case len(l.states) == 0:
		return nil,
			fmt.Errorf("llama.cpp shows no layers of the architecture %s; a vector for it must be made elsewhere",
				e.shape.Architecture)
	}
	return l.states, nil
}

// see returns first whether it wants a value (ask), and then takes it. 1 continues.
func see(tensor uintptr, ask uintptr, _ uintptr) uintptr {
	l := eye.now.Load()
	if l == nil {
		return 1 - ask&1
	}
	number, ok := strings.CutPrefix(l.node.name(tensor), output)
	if !ok {
		return 1 - ask&1
	}
	layer, err := strconv.Atoi(number)
	if err != nil {
		return 1 - ask&1
	}
	if ask&1 == 0 {
		l.take(layer, tensor)
	}
	return 1
}

// take keeps the mean of a layer's output. The last layer is computed for the last token only, and left out.
func (l *look) take(layer int, tensor uintptr) {
	want := uint64(l.rows) * uint64(l.width) * 4
	if got := l.node.bytes(tensor); got != want {
		if got != uint64(l.width)*4 {
			l.fault = fmt.Errorf("layer %d puts out %d bytes where %d tokens of %d numbers are %d", layer, got,
				l.rows, l.width, want)
		}
		return
	}
	raw := make([]float32, l.rows*l.width)
	l.node.read(tensor, &raw[0], 0, want)
	mean := make([]float32, l.width)
	for row := l.from; row < l.rows; row++ {
		for i, x := range raw[row*l.width : (row+1)*l.width] {
			mean[i] += x / float32(l.rows-l.from)
		}
	}
	l.states[layer] = mean
}
