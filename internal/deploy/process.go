// Package deploy builds, connects, runs and stops a deployment, as the configuration says.
package deploy

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"github.com/seed-56a03226/oneiros/config"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/localmodel"
)

// Version of this build. The program sets it when it starts.
var Version = "dev"

// Process holds the environment, flags and configuration of the process. The configuration is read once, when the first
// command needs it.
type Process struct {
	env       []string
	Args      []string // of the process; nil in tests, which must not exec another program
	Flags     *pflag.FlagSet
	once      sync.Once
	cfg       config.Config
	configErr error
}

// NewProcess returns a process with this environment.
func NewProcess(env []string) *Process { return &Process{env: env, Flags: config.Flags()} }

// Getenv returns a variable of the environment; empty when it is not set.
func (d *Process) Getenv(name string) string {
	for _, line := range d.env {
		if value, ok := strings.CutPrefix(line, name+"="); ok {
			return value
		}
	}
	return ""
}

// config reads the configuration. Its errors end the process with the exit code of wrong usage.
func (d *Process) config() (config.Config, error) {
	d.once.Do(func() {
		d.cfg, d.configErr = config.Load(config.Options{Env: d.env, Flags: d.Flags, BuiltIn: localmodel.Specs()})
	})
	if d.configErr != nil {
		return d.cfg, exit.Usagef("%w:\n%w", exit.ErrConfiguration, d.configErr)
	}
	return d.cfg, nil
}

// Configuration returns every knob with its value and source, and what is wrong with them.
func (d *Process) Configuration() Configuration {
	_, _ = d.config()
	c := Configuration{File: d.cfg.File, Settings: d.cfg.Redacted(), Warnings: d.cfg.Warnings}
	if d.configErr != nil {
		c.Faults = strings.Split(d.configErr.Error(), "\n")
	}
	return c
}

// Open builds the deployment on the configured store.
func (d *Process) Open(ctx context.Context) (*Deployment, error) {
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
	if flag := d.Flags.Lookup("data-dir"); flag != nil && flag.Changed {
		h.Dir = c.DataDir
	}
	if flag := d.Flags.Lookup("config"); flag != nil && flag.Changed {
		h.File = flag.Value.String()
	}
	return h, nil
}

// folder makes a folder that only its owner may read, since memories and dreams are private.
func folder(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return fmt.Errorf("make the folder %s: %w", filepath.Clean(path), err)
	}
	return nil
}
