package deploy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/config"
	"github.com/seed-56a03226/oneiros/internal/forgetting"
	"github.com/seed-56a03226/oneiros/internal/importer"
	"github.com/seed-56a03226/oneiros/internal/importer/formats"
	"github.com/seed-56a03226/oneiros/internal/localmodel"
	"github.com/seed-56a03226/oneiros/internal/sample"
)

var lookPath = exec.LookPath

// Demo builds a separate deployment in its own folder, with sample diaries and the built-in model only. Of the
// configuration only the knobs of dreams apply.
func (d *Process) Demo(ctx context.Context, dir string, tell func(string, ...any)) (*Deployment, Engine, error) {
	c, err := d.config()
	if err != nil {
		return nil, nil, err
	}
	if dir == "" {
		dir = filepath.Join(c.DataDir, "demo")
	}
	plain, err := sampleConfig(dir, c)
	if err != nil {
		return nil, nil, err
	}
	h, err := build(ctx, plain, plain.StorePath())
	if err != nil {
		return nil, nil, err
	}
	tell(
		"This is the demo: the built-in model, for trying things out, over a sample life. No key, no account, no cost.")
	tell("It lives in %s.", dir)
	night, err := h.importSamples(ctx)
	if err != nil {
		return nil, nil, errors.Join(err, h.store.Close())
	}
	h.Dir, h.AsOf = dir, night
	e, err := d.ForOneDream(ctx, h, tell)
	if err != nil {
		return nil, nil, errors.Join(err, h.store.Close())
	}
	return h, e, nil
}

// plainConfig is the default configuration of a deployment of its own in a folder.
func plainConfig(dir string) (config.Config, error) {
	return config.Load(config.Options{Dir: dir, Env: []string{"ONEIROS_DATA_DIR=" + dir}, BuiltIn: localmodel.Specs()})
}

// sampleConfig is a configuration for a sample life. Of another one only the knobs of dreams, the log and the worker
// apply.
func sampleConfig(dir string, c config.Config) (config.Config, error) {
	plain, err := plainConfig(dir)
	plain.Dream, plain.Log, plain.Worker = c.Dream, c.Log, c.Worker
	plain.Temporal.Child = "auto"
	return plain, err
}

// importSamples imports the sample diaries, once, and returns the evening after their last event.
func (h *Deployment) importSamples(ctx context.Context) (time.Time, error) {
	var last time.Time
	for _, agentState := range sample.Diaries() {
		a := agentState.Agent
		if _, err := h.store.Agent(ctx, a.ID); errors.Is(err, memory.ErrNotFound) {
			if err := h.store.PutAgent(ctx, a); err != nil {
				return last, err
			}
		}
		file := importer.File{
			Name: a.Handle + ".jsonl", Size: int64(len(agentState.Memories)),
			Open: func() (io.ReadCloser, error) {
				return io.NopCloser(bytes.NewReader(agentState.Memories)), nil
			},
		}
		options := h.importOptions(a)
		options.Format, options.Strict = formats.JSONL, true
		report, err := importer.Import(ctx, h.store, a, []importer.File{file}, options)
		if err != nil {
			return last, fmt.Errorf("the sample life of %s: %w", a.Handle, err)
		}
		if report.Last.After(last) {
			last = report.Last
		}
	}
	return last.Truncate(24 * time.Hour).Add(46 * time.Hour), nil // 22:00 of the next day
}

// importOptions are the options of imports into the memory of an agent: knowledge fades as it does in dreams.
func (h *Deployment) importOptions(a dream.Agent) importer.Options {
	k := h.config.Dream
	return importer.Options{
		HalfLife:  k.HalfLife,
		FadeBelow: k.FadeBelow,
		Due: func(at time.Time, strength float64) time.Time {
			return forgetting.Due(at, strength, k.HalfLife, 0, k.FadeBelow)
		},
		Embed: Embed(h.embed).For(a, ""),
	}
}
