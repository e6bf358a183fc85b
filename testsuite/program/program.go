// Package program builds oneiros for tests that start it as a process of its own.
package program

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// module is the path of this module, by which the program is found from any folder in it.
const module = "github.com/seed-56a03226/oneiros"

// folder holds the program while the tests of a package run.
var folder string

// Main runs the tests of a package, and removes the program that they built. TestMain calls it.
func Main(m interface{ Run() int }) int {
	dir, err := os.MkdirTemp("", "oneiros-program-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, "make a folder for the program:", err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	folder = dir
	return m.Run()
}

// Oneiros is the path of the program, which is built once for all tests of a package.
func Oneiros(t testing.TB) string {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var built = sync.OnceValues(func() (string, error) { return compile("oneiros") })

// Stamped builds the program once more, as another version.
func Stamped(t testing.TB, version string) string {
	t.Helper()
	path, err := compile("oneiros-"+version, "-ldflags", "-X main.version="+version)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func compile(name string, flags ...string) (string, error) {
	if folder == "" {
		return "", errors.New("build oneiros: TestMain of this package does not call program.Main")
	}
	path := filepath.Join(folder, name)
	build := exec.Command("go", append(append([]string{"build"}, flags...), "-o", path, module+"/cmd/oneiros")...)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build oneiros: %w\n%s", err, out)
	}
	return path, nil
}
