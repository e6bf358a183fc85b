package deploy

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/seed-56a03226/oneiros/config"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

// withEngine is the program built with llama.cpp's bindings. This program may be built without them, as one static
// file that runs without a C library; it then executes the other one, which is installed beside it.
const withEngine = "oneiros-llama"

// errNoEngine explains how to build the other program.
var errNoEngine = fmt.Errorf(
	"this oneiros was built without llama.cpp's bindings, and there is no %s beside it or on the path; build that with make llama, or with CGO_ENABLED=0 go build -tags llama -o bin/%s ./cmd/oneiros",
	withEngine,
	withEngine,
)

// findEngine finds the program that has the bindings.
func findEngine(self string, look func(string) (string, error)) (string, error) {
	if filepath.Base(self) == withEngine { // this is that program, yet built without the bindings
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

// handOver replaces this process with the program that has the bindings, with the same arguments and environment. It
// returns only on failure.
func (d *Process) handOver() error {
	path, err := findEngine(self(), lookPath)
	if err == nil && len(d.Args) == 0 {
		err = errNoEngine
	}
	if err == nil {
		err = syscall.Exec(path, d.Args, d.env)
		if err != nil {
			err = fmt.Errorf("hand over to %s: %w", path, err)
		}
	}
	return exit.AsUsage(err)
}

// handOverIfNeeded hands over when a configured model must run in this process and this program cannot run it. If
// that fails, dreams report it when they call the model.
func (d *Process) handOverIfNeeded(c config.Config) error {
	if Linked || c.InProcess() == "" {
		return nil
	}
	if err := d.handOver(); !errors.Is(err, errNoEngine) {
		return err
	}
	return nil
}
