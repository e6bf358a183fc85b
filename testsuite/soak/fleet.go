package soak

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// startWithin bounds the wait for a replica: a second on an idle machine, more on two busy cores.
const startWithin = time.Minute

// Replica is one server process. A restarted one is another Replica.
type Replica struct {
	Name   string // place and number of the process
	Place  int
	Base   string // http://host:port
	Killed time.Time

	cmd    *exec.Cmd
	ended  chan struct{}
	output *transcript
}

// Fleet is the processes of one deployment, each of the program with a folder of its own.
type Fleet struct {
	Program  string         // that processes are started from; a test may set another one between two starts
	Dir      string         // the folders of all processes lie here
	Settings string         // oneiros.yaml of every process that Places does not name
	Places   map[int]string // oneiros.yaml of the processes of a place
	Commands []string       // of each place: up, worker or serve
	Env      []string       // of every process, beside its home and path

	mu     sync.Mutex
	places map[int]*Replica // those that run
	all    []*Replica
}

// transcript collects what a process writes, for reading while it runs.
type transcript struct {
	mu        sync.Mutex
	out, errs bytes.Buffer
}

type streamWriter struct {
	t    *transcript
	into *bytes.Buffer
}

func (e streamWriter) Write(p []byte) (int, error) {
	e.t.mu.Lock()
	defer e.t.mu.Unlock()
	return e.into.Write(p)
}

func (t *transcript) read(b *bytes.Buffer) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return b.String()
}

func (f *Fleet) command(ctx context.Context, folder, settings string, args ...string) (*exec.Cmd, error) {
	dir := filepath.Join(f.Dir, folder)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "oneiros.yaml"), []byte(settings), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, f.Program, args...)
	cmd.Dir, cmd.Env = dir, append([]string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}, f.Env...)
	return cmd, nil
}

// Run runs one command of the program to its end, which must be that it worked.
func (f *Fleet) Run(ctx context.Context, args ...string) error {
	_, err := f.Ask(ctx, args...)
	return err
}

// Ask runs one command of the program to its end, and returns what it printed, also when it failed.
func (f *Fleet) Ask(ctx context.Context, args ...string) ([]byte, error) {
	cmd, err := f.command(ctx, "shell", f.Settings, args...)
	if err != nil {
		return nil, err
	}
	body, err := cmd.Output()
	if err != nil {
		var beside []byte
		var ended *exec.ExitError
		if errors.As(err, &ended) {
			beside = ended.Stderr
		}
		return body, fmt.Errorf("oneiros %s: %w: %s", strings.Join(args, " "), err, beside)
	}
	return body, nil
}

// Start starts the process of a place and returns when it works.
func (f *Fleet) Start(place int) error {
	cmd, err := f.command(context.Background(), fmt.Sprintf("replica-%d", place),
		cmp.Or(f.Places[place], f.Settings), "--json", f.Commands[place])
	if err != nil {
		return err
	}
	f.mu.Lock()
	r := &Replica{
		Name:   fmt.Sprintf("%d/%d", place, len(f.all)),
		Place:  place,
		cmd:    cmd,
		ended:  make(chan struct{}),
		output: new(transcript),
	}
	f.all = append(f.all, r)
	f.mu.Unlock()
	cmd.Stdout, cmd.Stderr = streamWriter{r.output, &r.output.out}, streamWriter{r.output, &r.output.errs}
	if err := cmd.Start(); err != nil {
		close(r.ended)
		return err
	}
	go func() {
		_ = cmd.Wait() // the exit code is read where the process is ended
		close(r.ended)
	}()
	r.Base, err = r.works(f.Commands[place] != "worker")
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.places == nil {
		f.places = map[int]*Replica{}
	}
	f.places[place] = r
	return nil
}

// works waits until the process says that it works, and returns the address at which it serves.
func (r *Replica) works(serves bool) (string, error) {
	limit, tick := time.NewTimer(startWithin), time.NewTicker(10*time.Millisecond)
	defer limit.Stop()
	defer tick.Stop()
	for {
		var result struct {
			Places []struct{ Name, Where string }
		}
		if json.Unmarshal([]byte(r.output.read(&r.output.out)), &result) == nil {
			for _, p := range result.Places {
				if base, _, found := strings.Cut(p.Where, "/v1"); p.Name == "serve" && found {
					return base, nil
				}
			}
			if !serves {
				return "", nil
			}
			return "", errors.New("the server has no address: " + r.output.read(&r.output.out))
		}
		select {
		case <-tick.C:
		case <-r.ended:
			return "", errors.New("a replica ended by itself: " + r.output.read(&r.output.errs))
		case <-limit.C:
			return "", errors.New("a replica does not start to serve: " + r.output.read(&r.output.errs))
		}
	}
}

// Dream requests a dream of an agent from the first replica.
func (f *Fleet) Dream(ctx context.Context, agent string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, f.First().Base+"/v1/dreams",
		strings.NewReader(fmt.Sprintf(`{"agent":%q}`, agent)))
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if body, err := io.ReadAll(res.Body); err != nil || res.StatusCode/100 != 2 {
		return fmt.Errorf("request a dream of %s: status %d: %s: %w", agent, res.StatusCode, body, err)
	}
	return nil
}

// Pick returns one that serves now.
func (f *Fleet) Pick(dice *rand.Rand) *Replica {
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		if r := f.places[dice.IntN(len(f.Commands))]; r != nil {
			return r
		}
	}
}

// First returns the one that is never killed.
func (f *Fleet) First() *Replica { return f.At(0) }

// At returns the process that runs at a place; nil when none does.
func (f *Fleet) At(place int) *Replica {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.places[place]
}

// Kill ends the process at a place at once; no new request is sent there.
func (f *Fleet) Kill(place int) {
	f.mu.Lock()
	r := f.places[place]
	r.Killed = time.Now()
	delete(f.places, place)
	f.mu.Unlock()
	_ = r.cmd.Process.Kill()
	<-r.ended
}

// End stops the process at a place as a supervisor would, and waits for it. No new request is sent there.
func (f *Fleet) End(place int) error {
	f.mu.Lock()
	r := f.places[place]
	delete(f.places, place)
	f.mu.Unlock()
	return r.stop()
}

func (r *Replica) stop() error {
	if err := r.cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	<-r.ended
	if code := r.cmd.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("replica %s ended with %d: %s", r.Name, code, r.output.read(&r.output.errs))
	}
	return nil
}

// KilledAt is when a process was killed; zero when it was not.
func (f *Fleet) KilledAt(r *Replica) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return r.Killed
}

// Deaths are the killed processes.
func (f *Fleet) Deaths() (killed []*Replica) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.all {
		if !r.Killed.IsZero() {
			killed = append(killed, r)
		}
	}
	return killed
}

// Stop stops the running processes as a supervisor would.
func (f *Fleet) Stop() error {
	var faults []error
	for _, r := range f.living() {
		faults = append(faults, r.stop())
	}
	return errors.Join(faults...)
}

func (f *Fleet) living() []*Replica {
	f.mu.Lock()
	defer f.mu.Unlock()
	var living []*Replica
	for _, r := range f.all {
		select {
		case <-r.ended:
		default:
			living = append(living, r)
		}
	}
	return living
}

// KillAll kills the processes that are left.
func (f *Fleet) KillAll() {
	for _, r := range f.living() {
		_ = r.cmd.Process.Kill()
		<-r.ended
	}
}

// Panics returns an error when a process reported a panic or a data race.
func (f *Fleet) Panics() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.all {
		text := r.output.read(&r.output.errs)
		if strings.Contains(text, "panic:") || strings.Contains(text, "[panic]") ||
			strings.Contains(text, "DATA RACE") {
			return fmt.Errorf("standard error of replica %s: %s", r.Name, text)
		}
	}
	return nil
}

// Output is the standard error of all processes, for a test that fails.
func (f *Fleet) Output() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all strings.Builder
	for _, r := range f.all {
		text := r.output.read(&r.output.errs)
		fmt.Fprintf(&all, "--- replica %s\n%s\n", r.Name, text[max(0, len(text)-4000):])
	}
	return all.String()
}
