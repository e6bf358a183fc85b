package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"github.com/seed-56a03226/oneiros/config"
	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/console"
	"github.com/seed-56a03226/oneiros/internal/localmodel"
)

// app holds what the process was told, read once, when the first command needs it.
type app struct {
	env    []string
	args   []string // of the process; none where it must not become another program
	flags  *pflag.FlagSet
	houses sync.Map // *console.House to *house
	once   sync.Once
	told   config.Config
	fault  error
}

func newApp(env []string) *app { return &app{env: env, flags: config.Flags()} }

func (d *app) getenv(name string) string {
	for _, line := range d.env {
		if value, ok := strings.CutPrefix(line, name+"="); ok {
			return value
		}
	}
	return ""
}

// config reads the configuration; its faults are faults of use.
func (d *app) config() (config.Config, error) {
	d.once.Do(func() {
		d.told, d.fault = config.Load(config.Options{Env: d.env, Flags: d.flags, BuiltIn: localmodel.Specs()})
	})
	if d.fault != nil {
		return d.told, &console.Exit{Code: console.Usage, Err: fmt.Errorf("%w:\n%w", console.ErrConfiguration, d.fault)}
	}
	return d.told, nil
}

func (d *app) configuration() console.Configuration {
	_, _ = d.config()
	c := console.Configuration{File: d.told.File, Warnings: d.told.Warnings}
	for _, s := range d.told.Redacted() {
		c.Settings = append(c.Settings, console.Setting(s))
	}
	if d.fault != nil {
		c.Faults = strings.Split(d.fault.Error(), "\n")
	}
	return c
}

func (d *app) confirmAbove() budget.Micros { return d.told.Consent.ConfirmAbove }

// open builds the house on the configured store.
func (d *app) open(ctx context.Context) (*console.Deployment, error) {
	c, err := d.config()
	if err != nil {
		return nil, err
	}
	for _, w := range c.Warnings {
		fmt.Fprintln(os.Stderr, "warning:", w)
	}
	h, err := build(ctx, c, c.StorePath())
	if err != nil {
		return nil, err
	}
	shown := d.show(h)
	if flag := d.flags.Lookup("data-dir"); flag != nil && flag.Changed {
		shown.Dir = c.DataDir
	}
	if flag := d.flags.Lookup("config"); flag != nil && flag.Changed {
		shown.File = flag.Value.String()
	}
	return shown, nil
}

// show gives the console its view of a house, and remembers which one it was.
func (d *app) show(h *deployment) *console.Deployment {
	d.houses.Store(h.shown, h)
	return h.shown
}

// folder makes a folder that only its owner may read: memories and dreams are private.
func folder(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return fmt.Errorf("make the folder %s: %w", filepath.Clean(path), err)
	}
	return nil
}
