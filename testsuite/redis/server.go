// Package redis starts a real Redis server for a test, which may kill, freeze and restart it; it ends with the test.
package redis

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// readyWithin bounds the wait for an answer: some hundredths of a second on an idle machine, more on two busy
	// cores.
	readyWithin = 30 * time.Second
	// stopWithin bounds a clean end.
	stopWithin = 20 * time.Second
	// attempts at a start: between finding a free port and listening on it another process may take it.
	attempts = 4
)

// Server is one redis-server process and where to reach it.
type Server struct {
	Address string // host:port on loopback, the same after a Restart
	URL     string // redis://host:port/0
	Dir     string // the folder of its append-only file

	t      testing.TB
	plan   plan
	child  *exec.Cmd
	output *transcript
	watch  io.Closer // closing it ends the server, should the test program die
	ended  chan struct{}
	litter string // the folder that a shared server leaves behind
}

type plan struct {
	port     int
	config   []string
	sentinel string // the file of a Sentinel's configuration, which it rewrites
	tls      *tls.Config
}

// Option changes how a server is started.
type Option func(*plan)

// Fsync says when the append-only file reaches the disk: always, everysec (the default here) or no.
func Fsync(when string) Option { return Config("appendfsync", when) }

// NoAppendOnly starts a server that forgets everything when it ends.
func NoAppendOnly() Option { return Config("appendonly", "no") }

// OnPort listens on this port instead of a free one.
func OnPort(port int) Option { return func(p *plan) { p.port = port } }

// Config sets any directive of redis.conf.
func Config(directive string, values ...string) Option {
	return func(p *plan) { p.config = append(append(p.config, "--"+directive), values...) }
}

// ReplicaOf makes the server a replica of another.
func ReplicaOf(primary *Server) Option {
	host, port, _ := net.SplitHostPort(primary.Address)
	return Config("replicaof", host, port)
}

// Promote makes a replica a primary, which it stays after a Restart. What it has not heard of yet is lost to it.
func (s *Server) Promote() {
	s.t.Helper()
	if err := s.Dial(s.t).Do(s.t.Context(), "REPLICAOF", "NO", "ONE").Err(); err != nil {
		s.t.Fatalf("promote the server at %s: %v", s.Address, err)
	}
	at := slices.Index(s.plan.config, "--replicaof")
	if at >= 0 {
		s.plan.config = slices.Delete(s.plan.config, at, at+3)
	}
}

// Secured makes the server speak TLS only, with the certificate, key and authority in these files, and want a
// certificate of that authority from every client. The client's side is what this program itself uses.
func Secured(cert, key, authority string, client *tls.Config) Option {
	return func(p *plan) {
		p.tls = client
		p.config = append(p.config, "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", authority,
			"--tls-auth-clients", "yes", "--tls-replication", "yes")
	}
}

// Start runs a server for t alone, on loopback and a free port, with appendonly yes in a folder of the test's own. It
// is ended by its process id when the test ends, and when the test program dies.
func Start(t testing.TB, opts ...Option) *Server {
	t.Helper()
	skipShort(t)
	p := plan{}
	for _, opt := range opts {
		opt(&p)
	}
	s := &Server{Dir: t.TempDir(), plan: p, t: t}
	if err := s.launch(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Kill()
		if t.Failed() {
			t.Logf("output of redis-server:\n%s", s.output)
		}
	})
	return s
}

func skipShort(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a real Redis server; run without -short")
	}
}

// binary finds redis-server: the one ONEIROS_REDIS_SERVER names, else the one in PATH.
var binary = sync.OnceValues(func() (string, error) {
	name := os.Getenv("ONEIROS_REDIS_SERVER")
	if name == "" {
		name = "redis-server"
	}
	file, err := exec.LookPath(name)
	if err != nil {
		return "",
			fmt.Errorf(
				"find a Redis server: %w; make redis installs it where apt-get can be used, elsewhere install the package "+
					"redis-server, redis or valkey of your system, or set ONEIROS_REDIS_SERVER to the program",
				err,
			)
	}
	return file, nil
})

func (s *Server) launch() error {
	file, err := binary()
	if err != nil {
		return err
	}
	for range attempts {
		port := s.plan.port
		if port == 0 {
			port, err = freePort()
			if err != nil {
				return err
			}
		}
		err = s.try(file, port)
		if err == nil {
			s.plan.port = port
			return nil
		}
		if !s.output.has("Address already in use") || s.plan.port != 0 {
			return err
		}
	}
	return err
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	return port, l.Close()
}

func (s *Server) try(file string, port int) error {
	child, answer := exec.Command(file, s.plan.args(port, s.Dir)...), &transcript{}
	child.Stdout, child.Stderr = answer, answer
	s.output = answer
	if err := child.Start(); err != nil {
		return fmt.Errorf("start redis-server: %w", err)
	}
	ended := make(chan struct{})
	s.child, s.ended = child, ended
	go func() {
		_ = child.Wait()
		close(ended)
	}()
	watch, err := s.guard()
	if err != nil {
		s.end(syscall.SIGKILL)
		return err
	}
	s.watch = watch
	s.Address = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	s.URL = "redis://" + s.Address + "/0"
	if s.plan.tls != nil {
		s.URL = "rediss://" + s.Address + "/0"
	}
	if err := s.ready(); err != nil {
		s.end(syscall.SIGKILL)
		return fmt.Errorf("start redis-server on %s: %w\n%s", s.Address, err, answer)
	}
	return nil
}

func (p plan) args(port int, dir string) []string {
	listen := []string{"--port", strconv.Itoa(port)}
	if p.tls != nil {
		listen = []string{"--port", "0", "--tls-port", strconv.Itoa(port)}
	}
	listen = append(listen, "--bind", "127.0.0.1", "--dir", dir)
	if p.sentinel != "" {
		return slices.Concat([]string{p.sentinel}, listen, p.config, []string{"--sentinel"})
	}
	return slices.Concat(listen, []string{"--save", "", "--appendonly", "yes", "--appendfsync", "everysec"}, p.config)
}

// guard starts a shell that ends the server when its own input ends, as it does when this program dies in any way. It
// also deletes the folder of a shared server.
func (s *Server) guard() (io.Closer, error) {
	shell := exec.Command("/bin/sh", "-c",
		`read word; [ "$word" = rest ] && exit; kill -9 "$1" 2>/dev/null; [ -z "$2" ] || rm -rf "$2"`,
		"guard", strconv.Itoa(s.child.Process.Pid), s.litter)
	in, err := shell.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("guard redis-server: %w", err)
	}
	if err := shell.Start(); err != nil {
		return nil, fmt.Errorf("guard redis-server: %w", err)
	}
	return guarding{in, shell}, nil
}

type guarding struct {
	in    io.WriteCloser
	shell *exec.Cmd
}

// Close ends the guard without killing: the server has ended, and its process id may be another's by now.
func (g guarding) Close() error {
	_, err := io.WriteString(g.in, "rest\n")
	return errors.Join(err, g.in.Close(), g.shell.Wait())
}

// ready waits until the server has loaded its file and answers.
func (s *Server) ready() error {
	ctx, cancel := context.WithTimeout(context.Background(), readyWithin)
	defer cancel()
	c := redis.NewClient(&redis.Options{
		Addr:                  s.Address,
		MaxRetries:            -1,
		DialerRetries:         1,
		ContextTimeoutEnabled: true,
		TLSConfig:             s.plan.tls,
	})
	defer func() { _ = c.Close() }()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		err := c.Ping(ctx).Err()
		var refusal redis.Error
		if err == nil || errors.As(err, &refusal) && redis.HasErrorPrefix(err, "NOAUTH") {
			return nil
		}
		select {
		case <-s.ended:
			return errors.New("it ended at once")
		case <-ctx.Done():
			return fmt.Errorf("no answer within %v: %w", readyWithin, err)
		case <-tick.C:
		}
	}
}

// PID is the process id of the running server.
func (s *Server) PID() int { return s.child.Process.Pid }

// Kill ends the server at once, as a power cut or the kernel would, frozen or not, and waits for it.
func (s *Server) Kill() {
	s.t.Helper()
	s.mine()
	s.end(syscall.SIGKILL)
}

// Written is how far a server has written its append-only files, in bytes by name.
type Written map[string]int64

// Written returns how far the server has written its files.
func (s *Server) Written() Written {
	s.t.Helper()
	files, err := filepath.Glob(filepath.Join(s.Dir, "appendonly*", "*.aof"))
	if err != nil || len(files) == 0 {
		s.t.Fatalf("no append-only file in %s: %v", s.Dir, err)
	}
	far := Written{}
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			s.t.Fatal(err)
		}
		far[file] = info.Size()
	}
	return far
}

// LosePower ends the server at once, and takes from its files what it has written since, as a machine does that fails
// before they reach its disk.
func (s *Server) LosePower(since Written) {
	s.t.Helper()
	s.Kill()
	for file := range s.Written() {
		size, found := since[file]
		if !found {
			s.t.Fatalf("the server has begun %s meanwhile", file)
		}
		if err := os.Truncate(file, size); err != nil {
			s.t.Fatal(err)
		}
	}
}

// Stop asks the server to end and returns when it has.
func (s *Server) Stop() {
	s.t.Helper()
	s.mine()
	s.end(syscall.SIGTERM)
}

func (s *Server) mine() {
	s.t.Helper()
	if s.litter != "" {
		s.t.Fatal("a test must not touch the shared server: use Start")
	}
}

func (s *Server) end(how syscall.Signal) {
	if s.child == nil {
		return
	}
	_ = s.child.Process.Signal(how)
	late := time.AfterFunc(stopWithin, func() { _ = s.child.Process.Kill() })
	<-s.ended
	late.Stop()
	if s.watch != nil {
		_ = s.watch.Close()
	}
	s.child, s.watch = nil, nil
}

// Restart runs the server again on the same folder and port, killing it first if it still runs. It returns when its
// file is loaded.
func (s *Server) Restart() {
	s.t.Helper()
	s.Kill()
	if err := s.launch(); err != nil {
		s.t.Fatal(err)
	}
}

// Freeze stops the process without ending it: connections stay, answers do not come.
func (s *Server) Freeze() { s.signal(syscall.SIGSTOP) }

// Thaw lets a frozen server continue.
func (s *Server) Thaw() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) {
	s.t.Helper()
	s.mine()
	if err := s.child.Process.Signal(sig); err != nil {
		s.t.Fatalf("send %v to redis-server (pid %d): %v", sig, s.PID(), err)
	}
}

// Dial connects a plain client, for a test that bypasses the store. It is closed when the test ends.
func (s *Server) Dial(t testing.TB) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: s.Address, ContextTimeoutEnabled: true, TLSConfig: s.plan.tls})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// The client's own log would mix with the test's: a server that is being started or killed refuses connections.
func init() { redis.SetLogger(silent{}) }

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// transcript collects what a process writes.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (t *transcript) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.Write(p)
}

func (t *transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

func (t *transcript) has(words string) bool { return strings.Contains(t.String(), words) }
