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

// app holds the environment, flags and configuration of the process. The configuration is read once, when the first
// command needs it.
type app struct {
	env         []string
	args        []string // of the process; nil in tests, which must not exec another program
	flags       *pflag.FlagSet
	deployments sync.Map // *console.Deployment to *deployment
	once        sync.Once
	cfg         config.Config
	configErr   error
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

// config reads the configuration. Its errors end the process with the exit code of wrong usage.
func (d *app) config() (config.Config, error) {
	d.once.Do(func() {
		d.cfg, d.configErr = config.Load(config.Options{Env: d.env, Flags: d.flags, BuiltIn: localmodel.Specs()})
	})
	if d.configErr != nil {
		return d.cfg, &console.Exit{Code: console.Usage, Err: fmt.Errorf("%w:\n%w", console.ErrConfiguration, d.configErr)}
	}
	return d.cfg, nil
}

func (d *app) configuration() console.Configuration {
	_, _ = d.config()
	c := console.Configuration{File: d.cfg.File, Warnings: d.cfg.Warnings}
	for _, s := range d.cfg.Redacted() {
		c.Settings = append(c.Settings, console.Setting(s))
	}
	if d.configErr != nil {
		c.Faults = strings.Split(d.configErr.Error(), "\n")
	}
	return c
}

func (d *app) confirmAbove() budget.Micros { return d.cfg.Consent.ConfirmAbove }

// open builds the deployment on the configured store.
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

// show returns the console's view of a deployment; deploymentOf finds the deployment of a view.
func (d *app) show(h *deployment) *console.Deployment {
	d.deployments.Store(h.shown, h)
	return h.shown
}

// folder makes a folder that only its owner may read, since memories and dreams are private.
func folder(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return fmt.Errorf("make the folder %s: %w", filepath.Clean(path), err)
	}
	return nil
}
