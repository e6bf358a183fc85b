package temporal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// binary finds the temporald to start: the one ONEIROS_TEMPORALD names, else bin/temporald of this checkout, built
// first when it is missing or older than its sources.
var binary = sync.OnceValues(func() (string, error) {
	if named := os.Getenv("ONEIROS_TEMPORALD"); named != "" {
		if _, err := os.Stat(named); err != nil {
			return "", fmt.Errorf("find the temporald that ONEIROS_TEMPORALD names: %w", err)
		}
		return named, nil
	}
	root, err := checkout()
	if err != nil {
		return "", err
	}
	built, source := filepath.Join(root, "bin", "temporald"), filepath.Join(root, "cmd", "temporald")
	if current(built, source) {
		return built, nil
	}
	return built, build(built, source)
})

// checkout is the folder that holds cmd/temporald, looked for from the working directory upwards.
func checkout() (string, error) {
	here, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the checkout: %w", err)
	}
	for dir := here; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "cmd", "temporald", "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "",
				fmt.Errorf("find cmd/temporald above %s: not there; set ONEIROS_TEMPORALD to a temporald binary", here)
		}
	}
}

// current tells whether built is at least as new as every file in source.
func current(built, source string) bool {
	made, err := os.Stat(built)
	if err != nil {
		return false
	}
	newer := errors.New("newer")
	return filepath.WalkDir(source, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil && info.ModTime().After(made.ModTime()) {
			err = newer
		}
		return err
	}) == nil
}

// build makes the binary once, however many test programs ask at the same time: the others wait at the lock.
func build(built, source string) error {
	if err := os.MkdirAll(filepath.Dir(built), 0o755); err != nil {
		return fmt.Errorf("make the folder of temporald: %w", err)
	}
	lock, err := os.OpenFile(built+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("open the build lock: %w", err)
	}
	defer func() { _ = lock.Close() }()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("wait for the build lock: %w", err)
	}
	if current(built, source) {
		return nil
	}
	fmt.Fprintln(os.Stderr, "building temporald: about 4 minutes on two cores the first time, seconds after that")
	began, fresh := time.Now(), built+".new"
	make := exec.Command("go", "build", "-ldflags", "-s -w", "-o", fresh, ".")
	make.Dir = source
	make.Env = append(os.Environ(), "CGO_ENABLED=0")
	if body, err := make.CombinedOutput(); err != nil {
		return fmt.Errorf("build temporald in %s: %w\n%s", source, err, body)
	}
	if err := os.Rename(fresh, built); err != nil {
		return fmt.Errorf("put the new temporald in place: %w", err)
	}
	fmt.Fprintf(os.Stderr, "built temporald in %s\n", time.Since(began).Round(time.Second))
	return nil
}
