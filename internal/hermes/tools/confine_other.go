//go:build !linux

package tools

import (
	"io"
	"os/exec"
	"runtime"
	"time"
)

// confinement reports that commands are not confined: only Linux has Landlock.
func confinement() (bool, string) {
	return false, "Commands are not confined: " + runtime.GOOS + " has no Landlock, which only Linux has."
}

// Confine does nothing where commands are not confined.
func Confine([]string) (handled bool) { return false }

// plain is a command that runs as any other program. Programs that leave its group are not reached.
type plain struct {
	command *exec.Cmd
	ended   chan struct{}
}

func start(_ Settings, folder string, what spec, env []string, out io.Writer) (process, error) {
	c := exec.Command("/bin/sh", "-c", what.Command)
	c.Dir = folder
	c.Env = env
	c.Stdout, c.Stderr = out, out
	c.WaitDelay = time.Second
	group(c)
	err := c.Start()
	if err != nil {
		return nil, err
	}
	p := &plain{command: c, ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		_ = c.Wait()
		p.kill() // what it left in the background
	}()
	return p, nil
}

func (p *plain) interrupt()            { interruptGroup(p.command) }
func (p *plain) kill()                 { killGroup(p.command) }
func (p *plain) done() <-chan struct{} { return p.ended }

func (p *plain) wait() outcome {
	<-p.ended
	status := p.command.ProcessState
	if status == nil {
		return outcome{Failed: "its status is not known"}
	}
	if status.ExitCode() < 0 {
		return outcome{Exit: 128 + signalOf(status)}
	}
	return outcome{Exit: status.ExitCode()}
}
