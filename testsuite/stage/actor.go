package stage

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
)

const (
	// cue is the variable that makes a test program a worker: it holds the Play.
	cue = "ONEIROS_STAGE_PLAY"
	// onStage is what an actor says when it works.
	onStage = "on stage"
	// readyWithin bounds the wait for it: under a second on an idle machine, more on two busy cores.
	readyWithin = 90 * time.Second
)

// Perform makes this test program a worker process, if it was started as one, and ends it when its parent lets go of it
// or dies. TestMain calls it first.
func Perform() {
	play, called := os.LookupEnv(cue)
	if !called {
		return
	}
	if err := perform(context.Background(), play); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func perform(ctx context.Context, body string) error {
	var play Play
	if err := json.Unmarshal([]byte(body), &play); err != nil {
		return fmt.Errorf("read the play: %w", err)
	}
	warnings := log.NewStructuredLogger(
		slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	c, err := client.DialContext(ctx,
		client.Options{HostPort: play.Address, Namespace: play.Namespace, Logger: warnings})
	if err != nil {
		return fmt.Errorf("dial %s: %w", play.Address, err)
	}
	defer c.Close()
	company, err := Open(ctx, play, c)
	if err != nil {
		return err
	}
	w, err := company.Work()
	if err != nil {
		return errors.Join(err, company.Close())
	}
	fmt.Println(onStage)
	_, err = io.Copy(io.Discard, os.Stdin)
	w.Stop()
	return errors.Join(err, company.Close())
}

// Actor is a worker process of a company, to be killed.
type Actor struct {
	child *exec.Cmd
	hold  io.Closer
	said  tail
}

// Send starts a worker process of the play out of this test program and returns when it works.
func Send(play Play) (*Actor, error) {
	body, err := json.Marshal(play)
	if err != nil {
		return nil, fmt.Errorf("write the play: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	a := &Actor{child: exec.Command(self)}
	a.child.Env = append(os.Environ(), cue+"="+string(body))
	a.child.Stderr = &a.said
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
	if err != nil || strings.TrimSpace(line) != onStage {
		a.Kill()
		return nil, fmt.Errorf("start a worker: it said %q and then: %s", line, a.Said())
	}
	return a, nil
}

// PID is the process id.
func (a *Actor) PID() int { return a.child.Process.Pid }

// Kill ends the process at once, as a power cut or the kernel would, and returns when it is gone.
func (a *Actor) Kill() {
	_ = a.child.Process.Kill()
	_ = a.child.Wait()
}

// Freeze stops the process without ending it: its connections stay, and it does and says nothing.
func (a *Actor) Freeze() { _ = a.child.Process.Signal(syscall.SIGSTOP) }

// Thaw lets a frozen process go on from where it was.
func (a *Actor) Thaw() { _ = a.child.Process.Signal(syscall.SIGCONT) }

// Dismiss lets the process finish what it does, and returns when it is gone.
func (a *Actor) Dismiss() error {
	late := time.AfterFunc(readyWithin, func() { _ = a.child.Process.Signal(syscall.SIGKILL) })
	defer late.Stop()
	_ = a.hold.Close()
	if err := a.child.Wait(); err != nil {
		return fmt.Errorf("dismiss worker %d: %w: %s", a.PID(), err, a.Said())
	}
	return nil
}

// Said is the end of what the process wrote to its standard error.
func (a *Actor) Said() string { return a.said.String() }

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// kept is how much of a process's words is kept.
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
