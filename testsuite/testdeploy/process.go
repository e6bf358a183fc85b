package testdeploy

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/seed-56a03226/oneiros/workflows"
)

const (
	// configVariable makes a test program a worker process: it holds the Config as JSON.
	configVariable = "ONEIROS_TEST_WORKER"
	// readyLine is what a worker process prints when its worker has started.
	readyLine = "ready"
	// readyWithin bounds the wait for that line: under a second on an idle machine, more on two busy cores.
	readyWithin = 90 * time.Second
)

// RunIfWorkerProcess makes this test program a worker process if it was started as one, and exits when its parent
// closes its standard input or dies. TestMain calls it first.
func RunIfWorkerProcess() {
	config, isWorker := os.LookupEnv(configVariable)
	if !isWorker {
		return
	}
	if err := runWorker(context.Background(), config); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func runWorker(ctx context.Context, body string) error {
	var config Config
	if err := json.Unmarshal([]byte(body), &config); err != nil {
		return fmt.Errorf("read the config: %w", err)
	}
	warnings := log.NewStructuredLogger(
		slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	c, err := client.DialContext(ctx, client.Options{
		HostPort: config.Address, Namespace: config.Namespace, Logger: warnings,
		DataConverter: workflows.DataConverter(),
	})
	if err != nil {
		return fmt.Errorf("dial %s: %w", config.Address, err)
	}
	defer c.Close()
	deployment, err := Open(ctx, config, c)
	if err != nil {
		return err
	}
	w, err := deployment.StartWorker()
	if err != nil {
		return errors.Join(err, deployment.Close())
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var judging sync.WaitGroup
	if config.Judge != nil {
		judging.Go(func() { deployment.judgeAgents(ctx) })
	}
	fmt.Println(readyLine)
	_, err = io.Copy(io.Discard, os.Stdin)
	cancel()
	judging.Wait()
	w.Stop()
	return errors.Join(err, deployment.Close())
}

// WorkerProcess is a worker of a deployment in a process of its own, which a test may kill.
type WorkerProcess struct {
	child  *exec.Cmd
	hold   io.Closer
	stderr tail
}

// StartWorkerProcess starts this test program as a worker of the deployment and returns when the worker has started.
func StartWorkerProcess(config Config) (*WorkerProcess, error) {
	body, err := json.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("write the config: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	a := &WorkerProcess{child: exec.Command(self)}
	a.child.Env = append(os.Environ(), configVariable+"="+string(body))
	a.child.Stderr = &a.stderr
	a.hold, err = a.child.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start a worker: %w", err)
	}
	out, err := a.child.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start a worker: %w", err)
	}
	if err := a.child.Start(); err != nil {
		return nil, fmt.Errorf("start a worker: %w", err)
	}
	late := time.AfterFunc(readyWithin, func() { _ = a.child.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	late.Stop()
	if err != nil || strings.TrimSpace(line) != readyLine {
		a.Kill()
		return nil, fmt.Errorf("start a worker: it printed %q, and on standard error: %s", line, a.Stderr())
	}
	return a, nil
}

// PID is the process id.
func (p *WorkerProcess) PID() int { return p.child.Process.Pid }

// Kill ends the process at once, as a power cut or the kernel would, and waits for it.
func (p *WorkerProcess) Kill() {
	_ = p.child.Process.Kill()
	_ = p.child.Wait()
}

// Freeze stops the process without ending it: its connections stay open, and it sends nothing.
func (p *WorkerProcess) Freeze() { _ = p.child.Process.Signal(syscall.SIGSTOP) }

// Thaw lets a frozen process continue.
func (p *WorkerProcess) Thaw() { _ = p.child.Process.Signal(syscall.SIGCONT) }

// Stop lets the process finish its running activities, and waits for it.
func (p *WorkerProcess) Stop() error {
	late := time.AfterFunc(readyWithin, func() { _ = p.child.Process.Signal(syscall.SIGKILL) })
	defer late.Stop()
	_ = p.hold.Close()
	if err := p.child.Wait(); err != nil {
		return fmt.Errorf("stop worker %d: %w: %s", p.PID(), err, p.Stderr())
	}
	return nil
}

// Stderr is the end of what the process wrote to its standard error.
func (p *WorkerProcess) Stderr() string { return p.stderr.String() }

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// kept is how many bytes of a process's standard error are kept.
const kept = 64 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if len(t.text) > 2*kept {
		t.text = bytes.Clone(t.text[len(t.text)-kept:])
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
