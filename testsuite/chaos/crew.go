package chaos

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
)

// Crew is several worker processes of one company: one store, one task queue.
type Crew struct {
	config testdeploy.Config

	mu     sync.Mutex
	actors []*testdeploy.WorkerProcess
	killed int
	said   []string // the last words of the killed
}

// Muster starts n worker processes and returns when all of them work.
func Muster(config testdeploy.Config, n int) (*Crew, error) {
	c := &Crew{config: config, actors: make([]*testdeploy.WorkerProcess, n)}
	faults := make([]error, n)
	var starting sync.WaitGroup
	for i := range n {
		starting.Go(func() { c.actors[i], faults[i] = testdeploy.StartWorkerProcess(config) })
	}
	starting.Wait()
	if err := errors.Join(faults...); err != nil {
		c.End()
		return nil, err
	}
	return c, nil
}

// Kill ends the i-th process at once.
func (c *Crew) Kill(i int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a := c.actors[i]; a != nil {
		a.Kill()
		c.actors[i] = nil
		c.killed++
		c.said = append(c.said, a.Stderr())
	}
}

// Freeze stops the i-th process without ending it, as a machine that swaps or a debugger does.
func (c *Crew) Freeze(i int) { c.each(i, (*testdeploy.WorkerProcess).Freeze) }

// Thaw lets a frozen process go on.
func (c *Crew) Thaw(i int) { c.each(i, (*testdeploy.WorkerProcess).Thaw) }

func (c *Crew) each(i int, do func(*testdeploy.WorkerProcess)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a := c.actors[i]; a != nil {
		do(a)
	}
}

// PID is the process id of the i-th; 0 when it was killed.
func (c *Crew) PID(i int) (pid int) {
	c.each(i, func(a *testdeploy.WorkerProcess) { pid = a.PID() })
	return pid
}

// Dismiss lets the i-th process finish what it does, and returns when it is gone.
func (c *Crew) Dismiss(i int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.actors[i]
	c.actors[i] = nil
	err := a.Stop()
	c.said = append(c.said, a.Stderr())
	return err
}

// Replace starts a process in the place of a killed one.
func (c *Crew) Replace(i int) error {
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
func (c *Crew) Killed() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.killed
}

// End kills whoever still works.
func (c *Crew) End() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, a := range c.actors {
		if a != nil {
			a.Kill()
			c.actors[i] = nil
			c.said = append(c.said, a.Stderr())
		}
	}
}

// Said is what the killed had to say.
func (c *Crew) Said() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.said...)
}

// Trouble says which of the gone had something to tell that no worker may tell: a panic, or a data race where they are
// looked for.
func (c *Crew) Trouble() error {
	for _, text := range c.Said() {
		if strings.Contains(text, "panic:") || strings.Contains(text, "[panic]") ||
			strings.Contains(text, "DATA RACE") {
			return fmt.Errorf("a worker said: %s", text)
		}
	}
	return nil
}
