package chaos

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
)

// Workers is several worker processes of one deployment: one store, one task queue.
type Workers struct {
	config testdeploy.Config

	mu     sync.Mutex
	actors []*testdeploy.WorkerProcess
	killed int
	stderr []string // standard error of the ended processes
}

// StartWorkers starts n worker processes and returns when all of them work.
func StartWorkers(config testdeploy.Config, n int) (*Workers, error) {
	c := &Workers{config: config, actors: make([]*testdeploy.WorkerProcess, n)}
	faults := make([]error, n)
	var starting sync.WaitGroup
	for i := range n {
		starting.Go(func() { c.actors[i], faults[i] = testdeploy.StartWorkerProcess(config) })
	}
	starting.Wait()
	if err := errors.Join(faults...); err != nil {
		c.KillAll()
		return nil, err
	}
	return c, nil
}

// Kill ends the i-th process at once.
func (c *Workers) Kill(i int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a := c.actors[i]; a != nil {
		a.Kill()
		c.actors[i] = nil
		c.killed++
		c.stderr = append(c.stderr, a.Stderr())
	}
}

// Freeze stops the i-th process without ending it, as a machine that swaps or a debugger does.
func (c *Workers) Freeze(i int) { c.each(i, (*testdeploy.WorkerProcess).Freeze) }

// Thaw lets a frozen process continue.
func (c *Workers) Thaw(i int) { c.each(i, (*testdeploy.WorkerProcess).Thaw) }

func (c *Workers) each(i int, do func(*testdeploy.WorkerProcess)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a := c.actors[i]; a != nil {
		do(a)
	}
}

// PID is the process id of the i-th; 0 when it was killed.
func (c *Workers) PID(i int) (pid int) {
	c.each(i, func(a *testdeploy.WorkerProcess) { pid = a.PID() })
	return pid
}

// Stop lets the i-th process finish its running activities, and waits for it.
func (c *Workers) Stop(i int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.actors[i]
	c.actors[i] = nil
	err := a.Stop()
	c.stderr = append(c.stderr, a.Stderr())
	return err
}

// Replace starts a process in the place of a killed one.
func (c *Workers) Replace(i int) error {
	fresh, err := testdeploy.StartWorkerProcess(c.config)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.actors[i] = fresh
	return nil
}

// Killed counts the kills.
func (c *Workers) Killed() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.killed
}

// KillAll kills the processes that still run.
func (c *Workers) KillAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, a := range c.actors {
		if a != nil {
			a.Kill()
			c.actors[i] = nil
			c.stderr = append(c.stderr, a.Stderr())
		}
	}
}

// Stderr returns what the ended processes wrote to standard error.
func (c *Workers) Stderr() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.stderr...)
}

// Panics returns an error when an ended process reported a panic, or a data race in a race build.
func (c *Workers) Panics() error {
	for _, text := range c.Stderr() {
		if strings.Contains(text, "panic:") || strings.Contains(text, "[panic]") ||
			strings.Contains(text, "DATA RACE") {
			return fmt.Errorf("standard error of a worker: %s", text)
		}
	}
	return nil
}
