//go:build llama

package deploy

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/config"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/llama"
	"github.com/seed-56a03226/oneiros/internal/llama/serve"
)

// Linked says whether this program has llama.cpp's bindings.
const Linked = true

func engineOptions(m LlamaModel) llama.Options {
	return llama.Options{
		Model:    m.Model,
		Lib:      m.Lib,
		Vectors:  m.Vectors,
		Context:  m.Context,
		Threads:  m.Threads,
		Parallel: m.Parallel,
		Queue:    m.Queue,
		Template: m.Template,
	}
}

// openLlama loads a model. A missing file is reported as wrong usage.
func openLlama(m LlamaModel) (*llama.Engine, error) {
	e, err := llama.Open(engineOptions(m))
	return e, exit.AsUsage(err)
}

func modelSummary(e *llama.Engine) string {
	shape := e.Shape()
	return fmt.Sprintf("%s, %d layers of %d", shape.About, shape.Layers, shape.Width)
}

// ServeModel serves a model until ctx ends. It calls ready with the address and a description of the model.
func (d *Process) ServeModel(ctx context.Context, s LlamaServer, ready func(address, about string)) (err error) {
	e, err := openLlama(s.LlamaModel)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	server, err := serve.New(serve.Options{
		Engine: e, Name: s.Name, Key: s.Key, Steer: inference.Steers{From: s.From, To: s.To, Alpha: s.Alpha},
	})
	if err != nil {
		return exit.AsUsage(err)
	}
	l, err := server.Listen(s.Listen)
	if err != nil {
		return exit.AsUsage(err)
	}
	ready(l.Addr().String(), modelSummary(e))
	return server.Serve(ctx, l)
}

// Train learns a steering vector from pairs of texts.
func (d *Process) Train(ctx context.Context, l TrainRequest) (result TrainResult, err error) {
	e, err := openLlama(l.LlamaModel)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	if l.From == 0 {
		l.From, l.To = 1, e.Shape().Layers-2
	}
	result.About = modelSummary(e)
	result.Vector, result.Layers, err = e.Learn(ctx, l.Pairs, l.From, l.To,
		func(done int) { l.Progress(done, len(l.Pairs)) })
	return result, err
}

// TryVector measures a steering vector. Distances are taken with an embedder of the catalogue, which may cost money.
func (d *Process) TryVector(ctx context.Context, t TrialRequest) (result TrialResult, err error) {
	c, err := d.config()
	if err != nil {
		return result, err
	}
	spec, err := c.Lookup(t.Embedder)
	if err != nil {
		return result, exit.AsUsage(err)
	}
	models, _ := providers(c)
	embedder := inference.Switchboard{Catalog: c, Providers: models}
	const name = "checked"
	t.Vectors = map[string]string{name: t.Vector}
	e, err := openLlama(t.LlamaModel)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	steers := inference.Steers{Vector: name, Depth: e.Shape().Layers, From: t.From, To: t.To}
	span := steers.Ask(inference.SteerLayer, inference.SteerAlpha)
	trial := llama.Trial{
		Vector:   name,
		From:     span.From,
		To:       span.To,
		Alphas:   t.Alphas,
		Prompts:  t.Prompts,
		Tokens:   t.Tokens,
		Progress: t.Progress,
		Sampling: inference.Sampling{Temperature: &t.Temperature, MinP: &t.MinP},
		Embed: func(ctx context.Context, texts []string) ([][]float32, error) {
			v, err := embedder.Embed(ctx, spec.Name, texts, "")
			return v.V, err
		},
	}
	for seed := range t.Seeds {
		trial.Seeds = append(trial.Seeds, int64(seed+1))
	}
	result = TrialResult{About: modelSummary(e), Embedder: spec.Name, From: span.From, To: span.To}
	result.Rows, err = e.Effect(ctx, trial)
	return result, err
}

// lazy is a provider in this process that loads its model at the first call, since most commands make none.
type lazy struct {
	name    string
	options llama.Options
	catalog inference.Catalog

	once  sync.Once
	model *llama.Provider
	fail  error
}

func (l *lazy) open() (*llama.Provider, error) {
	l.once.Do(func() {
		var e *llama.Engine
		e, l.fail = llama.Open(l.options)
		if l.fail == nil {
			l.model = &llama.Provider{Name: l.name, Engine: e, Catalog: l.catalog}
			return
		}
		l.fail = &inference.Failure{Kind: inference.BadRequest, Message: l.fail.Error(), Err: l.fail}
	})
	return l.model, l.fail
}

func (l *lazy) Generate(ctx context.Context, r inference.Request, token func(string) bool) (inference.Answer, error) {
	p, err := l.open()
	if err != nil {
		return inference.Answer{}, err
	}
	return p.Generate(ctx, r, token)
}

func (l *lazy) Embed(ctx context.Context, model string, texts []string, key string) (inference.Vectors, error) {
	p, err := l.open()
	if err != nil {
		return inference.Vectors{}, err
	}
	return p.Embed(ctx, model, texts, key)
}

// inProcess makes a provider whose model this process runs. Its files are checked now and loaded later.
func inProcess(c config.Config, name string, p config.Provider) (inference.Model, error) {
	home := c.Home(p.Engine)
	o := llama.Options{
		Model:    home.Model,
		Lib:      home.Lib,
		Vectors:  home.Vectors,
		Threads:  home.Threads,
		Parallel: home.Parallel,
	}
	for _, m := range p.Models {
		if m.Context != nil {
			o.Context = max(o.Context, *m.Context)
		}
	}
	if err := llama.Check(o); err != nil {
		return nil, err
	}
	return &lazy{name: name, options: o, catalog: c}, nil
}
