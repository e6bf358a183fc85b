package temporalchild

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Time limits of a start and a stop. On a loaded machine the first start needs seconds to create its schema; temporald
// allows itself 15 s for a clean stop.
const (
	readyWithin = 90 * time.Second
	stopWithin  = 20 * time.Second
)

// Niceness lowers the server's priority: an agent that a client talks to goes before the server's bookkeeping.
const Niceness = 5

// Options say where the server stores its data and on which ports it listens.
type Options struct {
	Binary    Binary
	DB        string // SQLite file; empty keeps everything in memory
	Port      int    // 0 takes a free one
	UIPort    int    // 0 takes a free one, -1 disables the UI
	Namespace string
	Log       io.Writer // output of the server; nil drops it
}

// Child is a running server.
type Child struct {
	Address string
	UI      string // empty when there is none
	PID     int

	cmd  *exec.Cmd
	done chan error // closed when the process has ended
	once sync.Once
	end  error
	last *tail
}

// Start starts the server and waits until it is ready. The server stops by itself when this process ends in any way.
func Start(ctx context.Context, o Options) (*Child, error) {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	if o.Namespace == "" {
		o.Namespace = "default"
	}
	c := &Child{done: make(chan error), last: &tail{to: o.Log}}
	if o.Binary.CLI {
		return c, c.startCLI(ctx, o)
	}
	return c, c.startDaemon(ctx, o)
}

func (c *Child) startDaemon(ctx context.Context, o Options) error {
	args := []string{
		"--port", strconv.Itoa(o.Port), "--ui-port", strconv.Itoa(o.UIPort), "--namespace", o.Namespace,
		"--parent-pid", strconv.Itoa(os.Getpid()),
	}
	if o.DB != "" {
		args = append(args, "--db", o.DB)
	}
	c.cmd = exec.Command(o.Binary.Path, args...)
	answer, err := c.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.launch(o.Binary.Path); err != nil {
		return err
	}
	line := make(chan []byte, 1)
	go func() {
		first, _ := bufio.NewReader(answer).ReadBytes('\n')
		line <- first
		_, _ = io.Copy(io.Discard, answer)
	}()
	go c.reap()
	select {
	case first := <-line:
		return c.ready(first)
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("%s was not ready within %s", o.Binary.Path, readyWithin), c.Stop())
	}
}

// ready parses the ready line: {"ready":true,"address":"127.0.0.1:7233","ui":"http://...","pid":12}.
func (c *Child) ready(line []byte) error {
	var answer struct {
		Ready   bool   `json:"ready"`
		Address string `json:"address"`
		UI      string `json:"ui"`
	}
	if err := json.Unmarshal(line, &answer); err != nil || !answer.Ready || answer.Address == "" {
		err := c.Stop()
		return errors.Join(fmt.Errorf("the Temporal server %s ended before it was ready%s", c.cmd.Path, c.last), err)
	}
	c.Address, c.UI = answer.Address, answer.UI
	return nil
}

// launch starts the process in a process group of its own, so that Ctrl-C reaches only us and we stop it last.
func (c *Child) launch(name string) error {
	c.cmd.Stderr = c.last
	c.cmd.Env = withUser(os.Environ(), os.Getuid())
	c.cmd.WaitDelay = 2 * time.Second // a grandchild that keeps the pipe open must not block us
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.cmd.Start(); err != nil {
		return fmt.Errorf("start the Temporal server %s: %w", name, err)
	}
	c.PID = c.cmd.Process.Pid
	// Fails when our own niceness is higher, which the child has inherited.
	_ = syscall.Setpriority(syscall.PRIO_PGRP, c.PID, Niceness)
	return nil
}

// withUser names the user and its home where the environment does not. The server's tracing asks for both before its
// main function runs (user.Current), and the server does not start for a user id that the machine does not know, such as
// one that a container is told to run as.
func withUser(env []string, uid int) []string {
	for name, value := range map[string]string{"USER": "uid" + strconv.Itoa(uid), "HOME": "/"} {
		named := slices.ContainsFunc(env, func(line string) bool {
			return strings.HasPrefix(line, name+"=") && line != name+"="
		})
		if !named {
			env = append(env, name+"="+value)
		}
	}
	return env
}

func (c *Child) reap() {
	c.end = c.cmd.Wait()
	close(c.done)
}

// Done returns a channel that is closed when the server has ended.
func (c *Child) Done() <-chan error { return c.done }

// Err returns how the server ended, with its last output, for a server that ended unexpectedly.
func (c *Child) Err() error {
	end := c.end
	if end == nil {
		end = errors.New("exit status 0")
	}
	return fmt.Errorf("the Temporal server (pid %d) ended (%w)%s", c.PID, end, c.last)
}

// Stop asks the server to stop, waits, and kills it after a timeout. A second Stop does nothing.
func (c *Child) Stop() error {
	var err error
	c.once.Do(func() { err = c.stop() })
	return err
}

func (c *Child) stop() error {
	if c.PID == 0 {
		return nil
	}
	_ = syscall.Kill(-c.PID, syscall.SIGTERM)
	patience := time.NewTimer(stopWithin)
	defer patience.Stop()
	select {
	case <-c.done:
		return nil
	case <-patience.C:
		_ = syscall.Kill(-c.PID, syscall.SIGKILL)
		<-c.done
		return fmt.Errorf("the Temporal server (pid %d) had to be killed: it did not stop within %s", c.PID, stopWithin)
	}
}

// FreePort returns the wanted port when nothing listens on it, otherwise 0, which lets the server take a free one.
func FreePort(wanted int) int {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(wanted)))
	if err != nil {
		return 0
	}
	_ = l.Close()
	return wanted
}

// tail copies the server's output and keeps the end of it for error messages.
type tail struct {
	mu   sync.Mutex
	to   io.Writer
	kept []byte
}

const maxTail = 2000

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - maxTail; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	if t.to != nil {
		_, _ = t.to.Write(p)
	}
	return len(p), nil
}

// String returns ": " and the last line that is not JSON (the server's own log is), or nothing.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(string(t.kept), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if line := strings.TrimSpace(lines[i]); line != "" && !strings.ContainsAny(line, "{}") {
			return ": " + line
		}
	}
	return ""
}
