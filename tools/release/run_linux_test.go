package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/require"
)

// realRelease makes a release of the programs of this checkout for this machine. RELEASE names one that is made already, by
// make release. The Temporal server is the one that was built for the tests.
func realRelease(t *testing.T) release {
	t.Helper()
	if testing.Short() {
		t.Skip("builds the program and starts real servers")
	}
	if out := os.Getenv("RELEASE"); out != "" {
		found, err := filepath.Glob(filepath.Join(out, "oneiros_*_image.tar"))
		require.NoError(t, err)
		require.Len(t, found, 1, "RELEASE names a folder of make release")
		version := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(found[0]), "oneiros_"), "_image.tar")
		return release{version: version, out: out}
	}
	dir := t.TempDir()
	built := filepath.Join(dir, here.file())
	require.NoError(t, os.Mkdir(built, 0o755))
	server := os.Getenv("ONEIROS_TEMPORALD")
	if server == "" {
		server = filepath.Join(checkout, "bin", "temporald")
	}
	server, err := filepath.Abs(server)
	require.NoError(t, err)
	require.FileExists(t, server, "make build builds it")
	info, err := buildinfo.ReadFile(server)
	require.NoError(t, err)
	if slices.Contains(info.Settings, debug.BuildSetting{Key: "CGO_ENABLED", Value: "1"}) {
		t.Skip(server +
			" was built with cgo, and does not run in an image without a C library; make build builds it without")
	}
	require.NoError(t, os.Symlink(server, filepath.Join(built, "temporald")))
	for _, s := range sources[:2] {
		build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-ldflags",
			"-X main.version=v0.0.0-image",
			"-o", filepath.Join(built, s.name), s.pkg)
		build.Dir = checkout
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		out, err := build.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	r := release{
		source:  checkout,
		version: "v0.0.0-image",
		time:    time.Unix(1700000000, 0).UTC(),
		out:     t.TempDir(),
		built:   dir,
		work:    t.TempDir(),
	}
	return r
}

// container runs an image without an engine: its layers are the root, which is read-only, and its volumes are folders.
type container struct {
	t      *testing.T
	config v1.Config
	root   string
	data   string
	env    []string // beside those of the image
}

// The namespace of mounts belongs to the process. chroot drops to the user of the image, setpriv what else root could.
const enter = `set -e
mount --bind "$ROOT" "$ROOT"
mount --bind "$DATA" "$ROOT/var/lib/oneiros"
mount -t tmpfs -o mode=1777 tmpfs "$ROOT/tmp"
mount --rbind /dev "$ROOT/dev"
mount -t proc proc "$ROOT/proc"
mount -o remount,bind,ro "$ROOT"
cd /
exec setpriv --no-new-privs --bounding-set=-all,+sys_chroot,+setuid,+setgid --inh-caps=-all \
	chroot --userspec="$AS" --groups= "$ROOT" "$@"`

func newContainer(t *testing.T, img v1.Image) *container {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can run an image without an engine")
	}
	needs(t, "unshare", "setpriv", "chroot")
	if out, err := exec.CommandContext(t.Context(), "unshare", "--mount", "--pid", "--fork",
		"true").CombinedOutput(); err != nil {
		t.Skipf("namespaces are not allowed here: %s", out)
	}
	config, err := img.ConfigFile()
	require.NoError(t, err)
	c := &container{t: t, config: config.Config, root: t.TempDir(), data: t.TempDir()}
	layers, err := img.Layers()
	require.NoError(t, err)
	for _, layer := range layers {
		body, err := layer.Uncompressed()
		require.NoError(t, err)
		unpackTar(t, body, c.root)
	}
	for _, name := range []string{"dev", "proc"} { // as engines do
		require.NoError(t, os.Mkdir(filepath.Join(c.root, name), 0o755))
	}
	require.NoError(t, os.Chmod(c.root, 0o755))
	require.NoError(t, os.Chown(c.data, imageUser, imageUser))
	return c
}

// command is the entry point with arguments; those of the image when there are none.
func (c *container) command(args ...string) *exec.Cmd {
	if len(args) == 0 {
		args = c.config.Cmd
	}
	words := append([]string{"--mount", "--pid", "--fork", "--kill-child", "sh", "-c", enter, "sh"},
		c.config.Entrypoint...)
	cmd := exec.Command("unshare", append(words, args...)...)
	cmd.Env = append([]string{"ROOT=" + c.root, "DATA=" + c.data, "AS=" + c.config.User}, c.config.Env...)
	cmd.Env = append(cmd.Env, "PATH="+os.Getenv("PATH")) // of the tools; the program needs none
	cmd.Env = append(cmd.Env, c.env...)
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

func (c *container) must(args ...string) string {
	c.t.Helper()
	var out, beside bytes.Buffer
	cmd := c.command(args...)
	cmd.Stdout, cmd.Stderr = &out, &beside
	require.NoError(c.t, cmd.Run(), "%v: %s%s", args, &out, &beside)
	return out.String()
}

// freePort answers a port that nothing listens on.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}

func TestTheImageRunsByItsOwnEntryPoint(t *testing.T) {
	t.Parallel()
	r := realRelease(t)
	var img v1.Image
	if r.source == "" {
		img = images(t, r)[here.String()]
	} else {
		docs, err := r.documents()
		require.NoError(t, err)
		programs, err := r.programs(t.Context(), here)
		require.NoError(t, err)
		img, err = r.image(here, imageFiles(programs, docs))
		require.NoError(t, err)
	}
	c := newContainer(t, img)
	require.Contains(t, c.must("version"), r.version)
	c.must("agents", "add", "iris")
	require.Contains(t, c.must("doctor"), "there is no key yet")

	// The port of the image may be taken on this machine, whose network is used here.
	at := fmt.Sprintf("127.0.0.1:%d", freePort(t))
	_, port, _ := net.SplitHostPort(at)
	c.env = []string{"ONEIROS_SERVE_LISTEN=:" + port}
	up, printed := c.command(), &output{}
	up.Stdout, up.Stderr = printed, printed
	require.NoError(t, up.Start())
	ended := false
	t.Cleanup(func() {
		if !ended {
			_ = up.Process.Kill()
			_ = up.Wait()
		}
	})
	require.Eventually(t, func() bool { return strings.Contains(printed.String(), "Running.") }, 2*time.Minute,
		50*time.Millisecond, "%s", printed)
	require.Equal(t, http.StatusUnauthorized, chat(t, at, "").StatusCode)
	require.Equal(t, append([]string{"CMD"}, c.config.Entrypoint...), c.config.Healthcheck.Test[:2])
	require.Contains(t, c.must(c.config.Healthcheck.Test[2:]...), "ready")
	var key struct{ Secret string }
	require.NoError(t, json.Unmarshal([]byte(c.must("--json", "keys", "add", "laptop")), &key))
	require.Eventually(t, func() bool {
		answer := chat(t, at, key.Secret)
		defer func() { _ = answer.Body.Close() }()
		body, err := io.ReadAll(answer.Body)
		return err == nil && answer.StatusCode == http.StatusOK && strings.Contains(string(body), `"content":"`)
	}, 10*time.Second, 50*time.Millisecond)

	// An engine tells the program itself to stop, and unshare does not pass that on.
	child, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", up.Process.Pid))
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(child)))
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, syscall.SIGTERM))
	require.NoError(t, up.Wait(), "%s", printed)
	ended = true
	require.Contains(t, printed.String(), "Stopping.")
	info, err := os.Stat(filepath.Join(c.data, "oneiros.db"))
	require.NoError(t, err)
	require.EqualValues(t, imageUser, info.Sys().(*syscall.Stat_t).Uid)
}

// An engine loads the image of a release, and runs it as docs/install.md shows. It sees cgroups of the second version,
// and sets limits that it may also set where it runs in a container itself.
func TestAnEngineLoadsAndRunsTheImage(t *testing.T) {
	if os.Getenv("RELEASE") == "" {
		t.Skip("loads the image of a whole release: make release-test")
	}
	if os.Geteuid() != 0 {
		t.Skip("an engine without root needs settings of the machine")
	}
	needs(t, "podman", "unshare")
	r := realRelease(t)
	dir, err := os.MkdirTemp("", "podman") // whose path may have 50 characters at most
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	podman := func(args ...string) (string, error) {
		all := append([]string{
			"--mount", "--cgroup", "sh", "-c", `mount -t cgroup2 cgroup2 /sys/fs/cgroup && exec podman "$@"`, "sh",
			"--root", filepath.Join(dir, "root"), "--runroot", filepath.Join(dir, "run"), "--storage-driver", "vfs",
			"--cgroup-manager", "cgroupfs", "--events-backend", "none",
		}, args...)
		out, err := exec.Command("unshare", all...).CombinedOutput()
		return string(out), err
	}
	if out, err := podman("info"); err != nil {
		t.Skipf("podman does not work here: %s", out)
	}
	must := func(args ...string) string {
		t.Helper()
		out, err := podman(args...)
		require.NoError(t, err, "podman %v: %s", args, out)
		return out
	}
	t.Cleanup(func() { _, _ = podman("rm", "--all", "--force", "--time", "1") })

	loaded := must("load", "-i", filepath.Join(r.out, "oneiros_"+r.version+"_image.tar"))
	_, image, found := strings.Cut(loaded, "Loaded image: ")
	require.True(t, found, loaded)
	image = strings.TrimSpace(image)
	at := fmt.Sprintf("127.0.0.1:%d", freePort(t))
	_, port, _ := net.SplitHostPort(at)
	must("run", "-d", "--name", "oneiros", "--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL",
		"--security-opt", "no-new-privileges", "--cgroups", "disabled",
		"--ulimit", "nofile=4096", "--ulimit", "nproc=4096", "--network", "host",
		"-e", "ONEIROS_SERVE_LISTEN=:"+port, "-v", "oneiros:/var/lib/oneiros", image)
	inside := func(args ...string) string {
		t.Helper()
		return must(append([]string{"exec", "oneiros", "/usr/bin/oneiros"}, args...)...)
	}
	ready := func() {
		t.Helper()
		require.Eventually(t, func() bool {
			out, err := podman("exec", "oneiros", "/usr/bin/oneiros", "ready")
			if err != nil {
				t.Log(out)
			}
			return err == nil
		}, 30*time.Second, time.Second)
	}
	ready()
	require.Contains(t, inside("version"), r.version)
	var key struct{ Secret string }
	require.NoError(t, json.Unmarshal([]byte(inside("--json", "keys", "add", "laptop")), &key))
	inside("agents", "add", "iris")
	require.Eventually(t, func() bool {
		answer := chat(t, at, key.Secret)
		defer func() { _ = answer.Body.Close() }()
		return answer.StatusCode == http.StatusOK
	}, 10*time.Second, 50*time.Millisecond)

	must("restart", "oneiros")
	ready()
	require.Contains(t, inside("agents", "list"), "iris", "the volume outlives the process")
	must("stop", "--time", "60", "oneiros")
	require.Equal(t, "0", strings.TrimSpace(must("inspect", "--format", "{{.State.ExitCode}}", "oneiros")))
}

// chat asks the agent something. The caller closes the body.
func chat(t *testing.T, at, secret string) *http.Response {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+at+"/v1/chat/completions",
		strings.NewReader(`{"model": "iris", "messages": [{"role": "user", "content": "Good morning."}]}`))
	require.NoError(t, err)
	q.Header.Set("Content-Type", "application/json")
	if secret != "" {
		q.Header.Set("Authorization", "Bearer "+secret)
	}
	answer, err := http.DefaultClient.Do(q)
	require.NoError(t, err)
	return answer
}

// output is what a process writes, for two goroutines.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *output) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *output) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
