package llama

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"

	yl "github.com/hybridgroup/yzma/pkg/llama"

	"github.com/seed-56a03226/oneiros/internal/steering"
)

// Bounds of an engine.
const (
	mostThreads   = 64
	mostParallel  = 16
	usualContext  = 4096 // tokens, where the model was trained on as many
	usualQueue    = 64   // a dream asks for a handful at once, a fleet for some dozens
	mostThreadsOf = 4    // llama.cpp's threads spin: one more than there are free cores makes it ten times slower
)

// Options describe a model to run.
type Options struct {
	Model   string            // the GGUF file
	Lib     string            // folder of llama.cpp's shared libraries
	Vectors map[string]string // control vectors by name: GGUF files
	// tokens of prompt and answer together; 0: 4096, or what the model was trained on when that is less
	Context  int
	Threads  int    // 0: one less than there are cores, at least 1 and at most 4
	Parallel int    // answers made at once, each with a context of its own; 0: 1
	Queue    int    // requests that may wait; 0: 64
	Template string // a chat template that llama.cpp knows by name, such as "chatml"; empty: the model's own
}

// Engine is one model in memory. It is safe for concurrent use.
type Engine struct {
	options Options
	node    nodes
	model   yl.Model
	vocab   yl.Vocab
	shape   Shape
	words   [][]byte // the text of each token; nil for those that have none
	ends    []bool   // tokens that end an answer
	marks   *strings.Replacer
	scribe  scribe
	vectors map[string]steering.Vector

	least int // tokens before an answer may end by itself; the tests of the port need answers that go on

	all    []*llamaContext
	desks  chan *llamaContext // that are free
	places chan struct{}      // taken by requests that run or wait

	use     sync.RWMutex // read-locked by users of the model, locked by Close
	closing chan struct{}
	close   sync.Once
}

// Shape describes a model.
type Shape struct {
	Name         string `json:"name"` // the maker's name of it
	Architecture string `json:"architecture"`
	About        string `json:"about"` // size and quantisation, as llama.cpp states them
	Layers       int    `json:"layers"`
	Width        int    `json:"width"`   // numbers of one hidden state
	Words        int    `json:"words"`   // of its vocabulary
	Trained      int    `json:"trained"` // tokens of context it was trained on
	Context      int    `json:"context"` // tokens of context it has here
}

// Open loads a model. A missing part is an error of one sentence that names the file.
func Open(o Options) (*Engine, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	head, err := inspect(o.Model)
	if err != nil {
		return nil, err
	}
	vectors := map[string]steering.Vector{}
	for name, path := range o.Vectors {
		vectors[name], err = Vector(path)
		if err != nil {
			return nil, err
		}
	}
	node, err := load(o.Lib)
	if err != nil {
		return nil, err
	}
	e := &Engine{options: o, node: node, vectors: vectors, closing: make(chan struct{})}
	logTail.clear()
	e.model, err = yl.ModelLoadFromFile(o.Model, yl.ModelDefaultParams())
	if err != nil {
		return nil, fmt.Errorf("llama.cpp cannot load the model %s: %s", o.Model, reason(err))
	}
	if err := e.look(head); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// Check returns what Open would find missing, without loading anything: the files exist, are complete, and are of the
// right kind.
func Check(o Options) error {
	if err := o.validate(); err != nil {
		return err
	}
	if _, err := inspect(o.Model); err != nil {
		return err
	}
	for _, path := range o.Vectors {
		if _, err := Vector(path); err != nil {
			return err
		}
	}
	if o.Lib == "" {
		return unnamed()
	}
	return present(o.Lib)
}

func (o *Options) validate() error {
	whole := func(name string, v *int, usual, most int) error {
		if *v < 0 || *v > most {
			return fmt.Errorf("%s is %d; it must lie between 1 and %d, or be 0 for %d", name, *v, most, usual)
		}
		if *v == 0 {
			*v = usual
		}
		return nil
	}
	if o.Context < 0 || o.Context > 0 && o.Context < 128 {
		return fmt.Errorf("context is %d; it must be at least 128 tokens, or 0 for what the model takes", o.Context)
	}
	return errors.Join(
		whole("threads", &o.Threads, max(1, min(runtime.NumCPU()-1, mostThreadsOf)), mostThreads),
		whole("parallel", &o.Parallel, 1, mostParallel),
		whole("queue", &o.Queue, usualQueue, 1<<16),
	)
}

// reason prefers llama.cpp's own message over the bare failure.
func reason(err error) string {
	if last := logTail.last(); last != "" {
		return last
	}
	return err.Error()
}

// look reads the description of the model and makes its contexts.
func (e *Engine) look(head steering.File) error {
	e.vocab = yl.ModelGetVocab(e.model)
	e.shape = Shape{
		Name: head.Text["general.name"], Architecture: head.Text["general.architecture"], About: yl.ModelDesc(e.model),
		Layers: int(yl.ModelNLayer(e.model)), Width: int(yl.ModelNEmbd(e.model)), Words: int(yl.VocabNTokens(e.vocab)),
		Trained: int(yl.ModelNCtxTrain(e.model)),
	}
	if e.shape.Words <= 0 || e.shape.Layers <= 0 || !yl.ModelHasDecoder(e.model) || yl.ModelHasEncoder(e.model) {
		return fmt.Errorf(
			"model %s (%s) is no model that goes on with a text; take one that does, such as a llama or a qwen",
			e.options.Model, e.shape.Architecture)
	}
	e.shape.Context = e.options.Context
	if e.shape.Context == 0 {
		e.shape.Context = usualContext
	}
	if e.shape.Trained > 0 {
		e.shape.Context = min(e.shape.Context, e.shape.Trained)
	}
	for name, v := range e.vectors {
		if err := e.fits(name, v); err != nil {
			return err
		}
	}
	e.readWords()
	if err := e.chooseTemplate(); err != nil {
		return err
	}
	e.desks = make(chan *llamaContext, e.options.Parallel)
	e.places = make(chan struct{}, e.options.Parallel+e.options.Queue)
	for range e.options.Parallel {
		d, err := e.newContext()
		if err != nil {
			return err
		}
		e.all = append(e.all, d)
		e.desks <- d
	}
	return nil
}

// fits says why a vector cannot be added to this model.
func (e *Engine) fits(name string, v steering.Vector) error {
	if v.Dim() != e.shape.Width {
		return fmt.Errorf(
			"vector %s is %d wide and the model %s is %d wide; a vector fits only the model it was learned on", name,
			v.Dim(), e.options.Model, e.shape.Width)
	}
	if first, _ := v.Span(); first >= e.shape.Layers {
		return fmt.Errorf("vector %s begins at layer %d and the model has layers 0 to %d", name, first,
			e.shape.Layers-1)
	}
	return nil
}

// Shape returns the description of the model.
func (e *Engine) Shape() Shape { return e.shape }

// enter keeps the model from being freed until leave is called.
func (e *Engine) enter() (leave func(), err error) {
	if !e.use.TryRLock() { // only Close holds it otherwise
		return nil, closed()
	}
	return e.use.RUnlock, nil
}

// Close ends running answers at their next token, and frees the memory. It may be called twice.
func (e *Engine) Close() error {
	e.close.Do(func() {
		close(e.closing)
		e.use.Lock() // never unlocked: the model must not be used after this
		for _, d := range e.all {
			d.free()
		}
		if e.model != 0 {
			_ = yl.ModelFree(e.model)
		}
	})
	return nil
}
