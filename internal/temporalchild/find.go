// Package temporalchild runs a Temporal server as a child process, which ends when this process ends.
package temporalchild

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
)

// Binary is a program that can act as the server.
type Binary struct {
	Path string
	CLI  bool // the temporal command line, whose development server replaces temporald
}

// ErrNoServer is returned by Find when this machine has no program that can act as the server.
var ErrNoServer = errors.New(
	"there is no Temporal server to start: build temporald (make build), set ONEIROS_TEMPORALD to it, " +
		"put the temporal command on the PATH, or set temporal.address to a cluster that runs")

// Find looks for a server: the named one, temporald beside our own binary, temporald on the path, then the temporal
// command on the path. look is exec.LookPath or a replacement. A named one must exist.
func Find(named, self string, look func(string) (string, error)) (Binary, error) {
	if named != "" {
		path, err := look(named)
		if err != nil {
			return Binary{}, errors.New("ONEIROS_TEMPORALD names " + named + ", which cannot be run: " + err.Error())
		}
		return Binary{Path: path, CLI: filepath.Base(path) == "temporal"}, nil
	}
	if self != "" {
		beside := filepath.Join(filepath.Dir(self), "temporald")
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return Binary{Path: beside}, nil
		}
	}
	for _, name := range []string{"temporald", "temporal"} {
		path, err := look(name)
		if err == nil || errors.Is(err, exec.ErrDot) {
			return Binary{Path: path, CLI: name == "temporal"}, nil
		}
	}
	return Binary{}, ErrNoServer
}
