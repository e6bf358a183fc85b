// Package program builds oneiros for tests that start it as a process of its own.
package program

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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

// Oneiros is the path of the program, which is built once for all tests of a package. For a benchmark it is compiled as
// it is shipped, by its profile, which would cost the tests minutes.
func Oneiros(t testing.TB) string {
	t.Helper()
	build := built
	if _, measured := t.(*testing.B); measured {
		build = shipped
	}
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var built = sync.OnceValues(func() (string, error) { return compile("oneiros") })

// ProfileVariable of the environment is a folder for profiles of the CPU: benchmarks build a program that writes them.
const ProfileVariable = "ONEIROS_CPU_PROFILE"

var shipped = sync.OnceValues(func() (string, error) {
	if os.Getenv(ProfileVariable) != "" {
		return compile("oneiros", "-tags", "profile")
	}
	list := exec.Command("go", "list", "-f", "{{.Dir}}", module+"/cmd/oneiros")
	dir, err := list.Output()
	if err != nil {
		return "", fmt.Errorf("find the profile of oneiros: %w", err)
	}
	return compile("oneiros", "-pgo", filepath.Join(strings.TrimSpace(string(dir)), "oneiros.pgo"))
})

// Stamped builds the program once more, as another version.
func Stamped(t testing.TB, version string) string {
	t.Helper()
	path, err := compile("oneiros-"+version, "-ldflags", "-X main.version="+version)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// compatible are the files whose newest change is the oldest build that may replace this one and be replaced by it:
// they hold the contract and the changes of workflows, and the schemas of the stores (docs/operations.md, Roll back).
var compatible = []string{"workflows/versions.go", "internal/redisstore/inspect.go", "internal/sqlitestore/schema"}

// Other builds another build that may run beside this one: of the newest release, else of the oldest commit, whose
// workflows and stores are those of this one. Without such a commit, as in a shallow clone, it is this source, stamped
// with another version. what names it.
func Other(t testing.TB) (path, version, what string) {
	t.Helper()
	const stamp = "v0.0.1-other"
	commit, err := otherCommit()
	if err == nil {
		path, err = compileCommit(t.TempDir(), commit, stamp)
	}
	if err != nil {
		t.Logf("no other source is built: %v", err)
		return Stamped(t, stamp), stamp, "this source, stamped " + stamp
	}
	return path, stamp, "commit " + commit
}

// otherCommit is the commit that Other builds.
func otherCommit() (string, error) {
	oldest, err := git(append([]string{"log", "-1", "--format=%H", "--"}, compatible...)...)
	if err != nil {
		return "", err
	}
	commit := oldest
	if release, err := git("describe", "--tags", "--abbrev=0", "HEAD^"); err == nil {
		if _, err := git("merge-base", "--is-ancestor", oldest, release); err == nil {
			commit = release
		}
	}
	changed, err := git("diff", "--name-only", commit, "HEAD", "--", "*.go", ":!*_test.go")
	if err == nil && changed == "" {
		err = fmt.Errorf("no program has changed since %s", commit)
	}
	return commit, err
}

// git runs a command of git at the root of the repository, and returns what it prints.
func git(args ...string) (string, error) {
	top, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		return "", fmt.Errorf("find the repository: %w", err)
	}
	cmd := exec.Command("git", args...)
	cmd.Dir = strings.TrimSpace(string(top))
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	text := strings.TrimSpace(string(out))
	if text == "" && args[0] != "diff" && args[0] != "merge-base" && args[0] != "archive" {
		return "", fmt.Errorf("git %s finds nothing", args[0])
	}
	return text, nil
}

// compileCommit builds the program of a commit in a folder.
func compileCommit(dir, commit, version string) (string, error) {
	source := filepath.Join(dir, "source.tar")
	if _, err := git("archive", "-o", source, commit); err != nil {
		return "", err
	}
	if out, err := exec.Command("tar", "-xf", source, "-C", dir).CombinedOutput(); err != nil {
		return "", fmt.Errorf("unpack %s: %w\n%s", commit, err, out)
	}
	// without the path of the folder in it, the next build of the commit finds all of this one in Go's cache
	return compileIn(dir, "oneiros-"+version, "-trimpath", "-ldflags", "-X main.version="+version)
}

// SkewVariable of the environment is how many seconds the clock of a Skewed program is ahead.
const SkewVariable = "ONEIROS_TEST_CLOCK_AHEAD"

// Skewed builds the program with a wall clock that is ahead, or behind, by SkewVariable. Its monotonic clock, and so what
// it measures and waits for, is as ever: a machine whose clock is set wrong. The standard library is built anew.
func Skewed(t testing.TB) string {
	t.Helper()
	path, err := skewed(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func skewed(dir string) (string, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("find the standard library: %w", err)
	}
	source := filepath.Join(strings.TrimSpace(string(root)), "src", "time")
	body, err := os.ReadFile(filepath.Join(source, "time.go"))
	if err != nil {
		return "", err
	}
	const reading = "\tsec, nsec, mono := runtimeNow()\n\tif mono == 0 {"
	if strings.Count(string(body), reading) != 1 {
		return "", errors.New("time.Now of this Go is another than the one that a skewed clock is put into")
	}
	changed := strings.Replace(string(body), reading, strings.Replace(reading, "\n", "\n\tsec += ahead\n", 1), 1)
	ahead := fmt.Sprintf(`package time

import "syscall"

var ahead = func() (n int64) {
	text, _ := syscall.Getenv(%q)
	sign := int64(1)
	for i, c := range []byte(text) {
		if i == 0 && c == '-' {
			sign = -1
			continue
		}
		n = 10*n + int64(c-'0')
	}
	return sign * n
}()
`, SkewVariable)
	overlay := map[string]map[string]string{"Replace": {}}
	for name, text := range map[string]string{"time.go": changed, "ahead.go": ahead} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return "", err
		}
		overlay["Replace"][filepath.Join(source, name)] = file
	}
	list, err := json.Marshal(overlay)
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, list, 0o600); err != nil {
		return "", err
	}
	return compile("oneiros-skewed", "-overlay", file)
}

func compile(name string, flags ...string) (string, error) { return compileIn("", name, flags...) }

// compileIn builds the program of the module that a folder is in; empty: of this one.
func compileIn(dir, name string, flags ...string) (string, error) {
	if folder == "" {
		return "", errors.New("build oneiros: TestMain of this package does not call program.Main")
	}
	path := filepath.Join(folder, name)
	build := exec.Command("go", append(append([]string{"build"}, flags...), "-o", path, module+"/cmd/oneiros")...)
	build.Dir, build.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build oneiros: %w\n%s", err, out)
	}
	return path, nil
}
