// Package temporal starts a real Temporal server for a test, which may kill and restart it; it ends with the test.
package temporal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/seed-56a03226/oneiros/internal/payload/readable"
	"github.com/seed-56a03226/oneiros/internal/temporalchild"
)

const (
	// readyWithin bounds the wait for the ready line: half a second on an idle machine, more on two busy cores.
	readyWithin = 90 * time.Second
	// stopWithin is longer than temporald gives itself for a clean stop (15 s).
	stopWithin = 20 * time.Second
	// attempts at a start: between finding a free port and listening on it another process may take it.
	attempts = 4
)

// Server is one temporald process and where to reach it.
type Server struct {
	// Address is the frontend's host:port, the same after a Restart.
	Address string
	// Namespace is where the test's workflows live: "default", or one of the test's own on a shared server.
	Namespace string
	// TaskQueue is a queue name no other test uses.
	TaskQueue string
	// DB is the SQLite file, empty in memory.
	DB string
	// UI is the address of the web UI, empty unless WithUI was given.
	UI string

	t      testing.TB
	plan   plan
	shared bool
	child  *exec.Cmd
	output *transcript
}

type plan struct {
	db, ui     string
	memory     bool
	namespaces []string
	extra      []string
}

// Option changes how a server is started.
type Option func(*plan)

// InMemory stores nothing on disk: faster, and lost with the process.
func InMemory() Option { return func(p *plan) { p.memory = true } }

// OnFile keeps the workflows in file instead of one in the test's own folder.
func OnFile(file string) Option { return func(p *plan) { p.db = file } }

// WithUI serves the web UI too.
func WithUI() Option { return func(p *plan) { p.ui = "0" } }

// WithNamespaces prepares these namespaces besides "default".
func WithNamespaces(names ...string) Option {
	return func(p *plan) { p.namespaces = append(p.namespaces, names...) }
}

// WithTimeSkipping lets the test ask the server to skip idle time.
func WithTimeSkipping() Option {
	return func(p *plan) { p.extra = append(p.extra, "--time-skipping") }
}

// WithoutSearchAttributes leaves our search attributes out, as a cluster that was not prepared does.
func WithoutSearchAttributes() Option {
	return func(p *plan) { p.extra = append(p.extra, "--without-search-attributes") }
}

// WithoutWorkerCommands leaves them off, which is Temporal's default.
func WithoutWorkerCommands() Option {
	return func(p *plan) { p.extra = append(p.extra, "--without-worker-commands") }
}

// WithoutWorkerDeployments switches Worker Deployments off, as on an older cluster.
func WithoutWorkerDeployments() Option {
	return func(p *plan) { p.extra = append(p.extra, "--without-worker-deployments") }
}

// Start runs a server for t alone, on loopback and a free port, stored in a file of the test's own folder. It is
// stopped by its process id when the test ends, and exits by itself if the test program dies.
func Start(t testing.TB, opts ...Option) *Server {
	t.Helper()
	skipShort(t)
	p := plan{ui: "-1", namespaces: []string{"default"}}
	for _, opt := range opts {
		opt(&p)
	}
	if !p.memory && p.db == "" {
		p.db = filepath.Join(t.TempDir(), "temporal.db")
	}
	s := &Server{
		t:         t,
		plan:      p,
		Namespace: p.namespaces[0],
		TaskQueue: uniqueName(t),
		DB:        p.db,
	}
	if err := s.launch("0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Stop()
		if t.Failed() {
			t.Logf("temporald said:\n%s", s.output)
		}
	})
	return s
}

// skipShort keeps real servers out of go test -short, which is make check.
func skipShort(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a real Temporal server; run without -short")
	}
}

// Dial connects a client to the server's namespace and closes it when the test ends. Edits change its options first.
func (s *Server) Dial(t testing.TB, edits ...func(*client.Options)) client.Client {
	t.Helper()
	options := client.Options{
		HostPort: s.Address, Namespace: s.Namespace, Logger: quiet{}, DataConverter: readable.Converter(),
	}
	for _, edit := range edits {
		edit(&options)
	}
	c, err := client.DialContext(t.Context(), options)
	if err != nil {
		t.Fatalf("dial the server at %s: %v", s.Address, err)
	}
	t.Cleanup(c.Close)
	return c
}

// PID is the process id of the running server.
func (s *Server) PID() int { return s.child.Process.Pid }

// Kill ends the server at once, as a power cut or the kernel would, and waits for it.
func (s *Server) Kill() {
	s.t.Helper()
	s.mine()
	if s.child == nil {
		return
	}
	_ = s.child.Process.Kill()
	_ = s.child.Wait()
	s.child = nil
}

// Freeze stops the process without ending it: connections stay, answers do not come.
func (s *Server) Freeze() { s.signal(syscall.SIGSTOP) }

// Thaw lets a frozen server continue.
func (s *Server) Thaw() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) {
	s.t.Helper()
	s.mine()
	if s.child == nil {
		s.t.Fatalf("send %v to temporald: it does not run", sig)
	}
	if err := s.child.Process.Signal(sig); err != nil {
		s.t.Fatalf("send %v to temporald (pid %d): %v", sig, s.PID(), err)
	}
}

// Stop asks the server to end and returns when it has. A server that does not end cleanly fails the test.
func (s *Server) Stop() {
	s.t.Helper()
	s.mine()
	if s.child == nil {
		return
	}
	child := s.child
	s.child = nil
	late := time.AfterFunc(stopWithin, func() { _ = child.Process.Kill() })
	_ = child.Process.Signal(syscall.SIGTERM)
	_ = child.Process.Signal(syscall.SIGCONT) // a frozen process handles no signal
	err := child.Wait()
	late.Stop()
	if err != nil {
		s.t.Errorf("stop temporald (pid %d): %v\n%s", child.Process.Pid, err, s.output)
	}
}

// Restart runs the server again on the same file and port, killing it first if it still runs.
func (s *Server) Restart() {
	s.t.Helper()
	s.mine()
	if s.plan.memory {
		s.t.Fatal("restart: a server in memory has nothing to go on from; start it on a file")
	}
	s.Kill()
	_, port, err := net.SplitHostPort(s.Address)
	if err != nil {
		s.t.Fatalf("restart: %v", err)
	}
	if err := s.launch(port); err != nil {
		s.t.Fatal(err)
	}
}

func (s *Server) mine() {
	s.t.Helper()
	if s.shared {
		s.t.Fatal("a shared server is not one test's to end: use Start")
	}
}

// launch runs the process and waits for its ready line, again if another process was quicker at a port.
func (s *Server) launch(port string) error {
	file, err := binary()
	if err != nil {
		return err
	}
	args := []string{
		"--port", port, "--ui-port", s.plan.ui, "--parent-pid", strconv.Itoa(os.Getpid()),
		"--namespace", strings.Join(s.plan.namespaces, ","),
	}
	if !s.plan.memory {
		args = append(args, "--db", s.plan.db)
	}
	args = append(args, s.plan.extra...)
	for range attempts {
		err = s.try(file, args)
		if err == nil || !s.output.has("address already in use") {
			return err
		}
	}
	return err
}

func (s *Server) try(file string, args []string) error {
	child, answer := exec.Command(file, args...), &transcript{}
	child.Stderr, s.output = answer, answer
	out, err := child.StdoutPipe()
	if err != nil {
		return fmt.Errorf("start temporald: %w", err)
	}
	if err := child.Start(); err != nil {
		return fmt.Errorf("start temporald: %w", err)
	}
	// as oneiros up does, and before it has threads
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, child.Process.Pid, temporalchild.Niceness)
	late := time.AfterFunc(readyWithin, func() { _ = child.Process.Kill() })
	line, err := bufio.NewReader(out).ReadBytes('\n')
	late.Stop()
	var result struct{ Address, UI string }
	if err == nil {
		err = json.Unmarshal(line, &result)
	}
	if err != nil {
		_ = child.Process.Kill()
		return fmt.Errorf("start temporald: no ready line within %s: %w", readyWithin,
			errors.Join(err, child.Wait(), errors.New(answer.String())))
	}
	s.child, s.Address, s.UI = child, result.Address, result.UI
	return nil
}

// transcript collects what a process wrote, safe to read while it runs.
type transcript struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (b *transcript) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.Write(p)
}

func (b *transcript) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.String()
}

func (b *transcript) has(text string) bool { return strings.Contains(b.String(), text) }

// quiet drops the client's log: what matters reaches the test as an error.
type quiet struct{}

var _ log.Logger = quiet{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}
