// Package tools builds Temporal's own command-line programs, so that tests can inspect dreams as an operator does.
package tools

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// program is a tool with a module of its own, because the two need different versions of the same libraries.
type program struct{ name, pkg, named string }

var programs = []program{
	{"temporal", "github.com/temporalio/cli/cmd/temporal", "ONEIROS_TEMPORAL_CLI"},
	{"tctl", "github.com/temporalio/tctl/cmd/tctl", "ONEIROS_TCTL"},
}

// Folder holds temporal and tctl, built when they are missing or older than their modules: about two minutes and one
// minute on two cores, once. ONEIROS_TEMPORAL_CLI and ONEIROS_TCTL name binaries to use instead.
var Folder = sync.OnceValues(func() (string, error) {
	root, err := checkout()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(root, "bin", "tools")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", fmt.Errorf("make the folder of the tools: %w", err)
	}
	unlock, err := lock(filepath.Join(folder, ".temporal-tools.lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	for _, p := range programs {
		if err := p.ready(folder, filepath.Join(root, "testsuite", "tools", p.name)); err != nil {
			return "", err
		}
	}
	return folder, nil
})

func (p program) ready(folder, module string) error {
	built := filepath.Join(folder, p.name)
	if named := os.Getenv(p.named); named != "" {
		_ = os.Remove(built)
		if err := os.Symlink(named, built); err != nil {
			return fmt.Errorf("use the %s that %s names: %w", p.name, p.named, err)
		}
		return nil
	}
	wanted, err := os.Stat(filepath.Join(module, "go.sum"))
	if err != nil {
		return fmt.Errorf("find the module of %s: %w", p.name, err)
	}
	if made, err := os.Stat(built); err == nil && !wanted.ModTime().After(made.ModTime()) {
		return nil
	}
	fmt.Fprintf(os.Stderr, "building %s, Temporal's own command line: one to two minutes the first time\n", p.name)
	began, fresh := time.Now(), built+".new"
	build := exec.Command("go", "build", "-buildvcs=false", "-ldflags", "-s -w", "-o", fresh, p.pkg)
	build.Dir, build.Env = module, append(os.Environ(), "CGO_ENABLED=0")
	if body, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s in %s (%s may name a binary instead): %w\n%s", p.name, module, p.named, err, body)
	}
	if err := os.Rename(fresh, built); err != nil {
		return fmt.Errorf("put the new %s in place: %w", p.name, err)
	}
	fmt.Fprintf(os.Stderr, "built %s in %s\n", p.name, time.Since(began).Round(time.Second))
	return nil
}

// lock lets one test program build while the others wait.
func lock(file string) (unlock func(), err error) {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the build lock: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("wait for the build lock: %w", err), f.Close())
	}
	return func() { _ = f.Close() }, nil
}

// checkout is the folder that holds this package's modules, looked for from the working directory upwards.
func checkout() (string, error) {
	here, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the checkout: %w", err)
	}
	for dir := here; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "testsuite", "tools", "tctl", "go.mod")); err == nil {
			return dir, nil
		}
	}
	return "", fmt.Errorf("find testsuite/tools above %s: not there", here)
}

// Shell runs command lines as a person types them, where temporal and tctl know the server by their standard
// environment.
type Shell struct {
	Folder    string // of the tools
	Home      string // an empty folder: no user settings apply
	Address   string
	Namespace string
}

// Run runs one line and returns all its output; a line that fails is an error with the output.
func (s Shell) Run(line string) (string, error) {
	cmd := exec.Command("sh", "-c", line)
	cmd.Env = []string{
		"PATH=" + s.Folder + ":" + os.Getenv("PATH"), "HOME=" + s.Home, "NO_COLOR=1", "COLUMNS=200",
		"TEMPORAL_ADDRESS=" + s.Address, "TEMPORAL_NAMESPACE=" + s.Namespace,
		"TEMPORAL_CLI_ADDRESS=" + s.Address, "TEMPORAL_CLI_NAMESPACE=" + s.Namespace,
	}
	body, err := cmd.CombinedOutput()
	if err != nil {
		return string(body), fmt.Errorf("%s: %w\n%s", line, err, body)
	}
	return string(body), nil
}
