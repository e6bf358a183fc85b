package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/seed-56a03226/oneiros/config"
	"github.com/seed-56a03226/oneiros/internal/console"
)

// withEngine is the program that is built with llama.cpp's bindings. This one may be built without them, so that it is
// one static file that runs where no C library is; it then hands over to the other, which stands beside it.
const withEngine = "oneiros-llama"

// errNoEngine says how to get the other.
var errNoEngine = fmt.Errorf(
	"this oneiros was built without llama.cpp's bindings, and no %s stands beside it or on the path; build that with make llama, or with CGO_ENABLED=0 go build -tags llama -o bin/%s ./cmd/oneiros",
	withEngine, withEngine)

// findEngine finds the program that has the bindings.
func findEngine(self string, look func(string) (string, error)) (string, error) {
	if filepath.Base(self) == withEngine { // built without them in spite of its name
		return "", errNoEngine
	}
	beside := filepath.Join(filepath.Dir(self), withEngine)
	if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
		return beside, nil
	}
	path, err := look(withEngine)
	if err != nil {
		return "", errNoEngine
	}
	return path, nil
}

// handOver becomes the program that has the bindings, with the same words and the same environment. It returns only
// when there is none.
func (d *app) handOver() error {
	path, err := findEngine(self(), lookPath)
	if err == nil && len(d.args) == 0 {
		err = errNoEngine
	}
	if err == nil {
		err = syscall.Exec(path, d.args, d.env)
		if err != nil {
			err = fmt.Errorf("hand over to %s: %w", path, err)
		}
	}
	return &console.Exit{Code: console.Usage, Err: err}
}

// lend hands over when a provider's model runs in this process and this program cannot run it. The nights of a process
// that cannot be handed over say so themselves.
func (d *app) lend(c config.Config) error {
	if linked || c.InProcess() == "" {
		return nil
	}
	if err := d.handOver(); !errors.Is(err, errNoEngine) {
		return err
	}
	return nil
}
