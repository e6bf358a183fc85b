package install_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	root   = "../.."
	module = "github.com/seed-56a03226/oneiros"
)

// sources lists the files of our module: those of git, without the modules of their own below it.
func sources(t *testing.T) []string {
	t.Helper()
	list := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	out, err := list.Output()
	require.NoError(t, err)
	all := strings.Fields(string(out))
	sort.Strings(all)
	var others []string
	for _, name := range all {
		if path.Base(name) == "go.mod" && name != "go.mod" {
			others = append(others, path.Dir(name)+"/")
		}
	}
	var ours []string
next:
	for _, name := range all {
		for _, other := range others {
			if strings.HasPrefix(name, other) {
				continue next
			}
		}
		if info, err := os.Lstat(filepath.Join(root, name)); err == nil && info.Mode().IsRegular() {
			ours = append(ours, name)
		}
	}
	return ours
}

// proxied writes our module into a folder that a Go command takes for a module proxy, and answers its version, which
// names its content.
func proxied(t *testing.T, dir string) string {
	t.Helper()
	names, sum := sources(t), sha256.New()
	bodies := map[string][]byte{}
	for _, name := range names {
		body, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		bodies[name] = body
		_, _ = io.WriteString(sum, name+"\n")
		_, _ = sum.Write(body)
	}
	version := "v0.0.0-installtest." + hex.EncodeToString(sum.Sum(nil))[:12]
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	for _, name := range names {
		w, err := z.Create(module + "@" + version + "/" + name)
		require.NoError(t, err)
		_, err = w.Write(bodies[name])
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	at := filepath.Join(dir, filepath.FromSlash(module), "@v")
	require.NoError(t, os.MkdirAll(at, 0o700))
	info, err := json.Marshal(map[string]any{"Version": version, "Time": time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)})
	require.NoError(t, err)
	for name, body := range map[string][]byte{
		"list": []byte(version + "\n"), version + ".info": info, version + ".mod": bodies["go.mod"],
		version + ".zip": packed.Bytes(),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(at, name), body, 0o600))
	}
	return version
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(out))
}

// server is the Temporal server that was built for the tests.
func server(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds the program and starts real servers")
	}
	binary := os.Getenv("ONEIROS_TEMPORALD")
	if binary == "" {
		binary = filepath.Join(root, "bin", "temporald")
	}
	binary, err := filepath.Abs(binary)
	require.NoError(t, err)
	binary, err = filepath.EvalSymlinks(binary)
	require.NoError(t, err, "make build builds it")
	return binary
}

// TestGoInstallNeedsNoCheckout installs the newest version from a module proxy, from a folder that is no checkout, and
// runs what came of it beside the Temporal server.
func TestGoInstallNeedsNoCheckout(t *testing.T) {
	t.Parallel()
	temporald := server(t)
	dir, cache := t.TempDir(), goEnv(t, "GOMODCACHE")
	version := proxied(t, filepath.Join(dir, "proxy"))
	bin := filepath.Join(dir, "bin")
	cmd := exec.Command("go", "install", module+"/cmd/oneiros@latest")
	cmd.Dir = dir
	proxies := []string{
		"file://" + filepath.ToSlash(dir) + "/proxy",
		"file://" + filepath.ToSlash(cache) + "/cache/download", // the machine may have no network
		goEnv(t, "GOPROXY"),
	}
	cmd.Env = append(os.Environ(), "GOBIN="+bin, "CGO_ENABLED=0", "GOFLAGS=-modcacherw", "GOWORK=off",
		"GOSUMDB=off", "GOPROXY="+strings.Join(proxies, ","))
	t.Cleanup(func() { // it is nobody's module
		require.NoError(t, os.RemoveAll(filepath.Join(cache, filepath.FromSlash(module)+"@"+version)))
		fetched := filepath.Join(cache, "cache", "download", filepath.FromSlash(module), "@v")
		kept, err := filepath.Glob(filepath.Join(fetched, version+".*"))
		require.NoError(t, err)
		for _, file := range kept {
			require.NoError(t, os.Remove(file))
		}
	})
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NoError(t, os.Symlink(temporald, filepath.Join(bin, "temporald")))
	runs(t, bin, version)
}

// A module that a Go command shall install by name and version must not replace another.
func TestNoModuleReplacesAnother(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"go.mod", "cmd/temporald/go.mod"} {
		body, err := os.ReadFile(filepath.Join(root, file))
		require.NoError(t, err)
		require.NotRegexp(t, regexp.MustCompile(`(?m)^\s*(replace|exclude)\b`), string(body), file)
	}
}

// TestTheReleaseArchiveRunsWhereverItIsUnpacked unpacks what make dist makes and runs it.
func TestTheReleaseArchiveRunsWhereverItIsUnpacked(t *testing.T) {
	t.Parallel()
	temporald := server(t)
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("needs make")
	}
	dir := t.TempDir()
	cmd := exec.Command("make", "dist", "DIST="+dir, "VERSION=v0.0.0-dist", "TEMPORALD="+temporald)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	archives, err := filepath.Glob(filepath.Join(dir, "*.tar.gz"))
	require.NoError(t, err)
	require.Len(t, archives, 1)
	body, err := os.ReadFile(archives[0])
	require.NoError(t, err)
	sum := sha256.Sum256(body)
	sums, err := os.ReadFile(archives[0] + ".sha256")
	require.NoError(t, err)
	require.Equal(t, hex.EncodeToString(sum[:])+"  "+filepath.Base(archives[0])+"\n", string(sums))
	names := unpack(t, body, dir)
	top := strings.TrimSuffix(filepath.Base(archives[0]), ".tar.gz")
	for _, name := range []string{"oneiros", "hermes", "temporald", "LICENSE", "NOTICE", "README.md"} {
		require.Contains(t, names, top+"/"+name)
	}
	runs(t, filepath.Join(dir, top), "v0.0.0-dist")
}

// unpack writes the files of an archive into a folder and answers their names.
func unpack(t *testing.T, body []byte, dir string) []string {
	t.Helper()
	packed, err := gzip.NewReader(bytes.NewReader(body))
	require.NoError(t, err)
	var names []string
	for r := tar.NewReader(packed); ; {
		head, err := r.Next()
		if errors.Is(err, io.EOF) {
			return names
		}
		require.NoError(t, err)
		if head.Typeflag == tar.TypeDir {
			continue
		}
		require.True(t, fs.ValidPath(head.Name), head.Name)
		names = append(names, head.Name)
		to := filepath.Join(dir, head.Name)
		require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o700))
		w, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, head.FileInfo().Mode())
		require.NoError(t, err)
		_, err = io.Copy(w, r)
		require.NoError(t, err)
		require.NoError(t, w.Close())
	}
}

// runs holds that the programs in a folder run by themselves: they say their version, one of them starts the other, and
// an agent dreams.
func runs(t *testing.T, bin, version string) {
	t.Helper()
	home := t.TempDir()
	env := []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "ONEIROS_SERVE_LISTEN=127.0.0.1:0"}
	oneiros := func(args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(bin, "oneiros"), args...)
		cmd.Dir, cmd.Env, cmd.WaitDelay = home, env, 10*time.Second
		return cmd
	}
	out, err := oneiros("version").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), version)
	out, err = oneiros("dream", "--demo").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "Changed ", "the report of the demo's dream")
	up, printed := oneiros("up"), &output{}
	up.Stdout, up.Stderr = printed, printed
	require.NoError(t, up.Start())
	require.Eventually(t, func() bool { return strings.Contains(printed.String(), "Running.") }, 2*time.Minute,
		50*time.Millisecond, "%s", printed)
	require.Contains(t, printed.String(), "Starting the Temporal server "+filepath.Join(bin, "temporald"))
	require.NoError(t, up.Process.Signal(os.Interrupt))
	require.NoError(t, up.Wait(), "%s", printed)
}

// output is what a process says, for two goroutines.
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
