//go:build unix

package plugin

import (
	"os/exec"
	"syscall"
)

// ownGroup gives a program a group of its own, so that it can be ended with what it has started, and an interruption
// at the terminal does not reach it.
func ownGroup(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func terminate(c *exec.Cmd) { _ = syscall.Kill(-c.Process.Pid, syscall.SIGTERM) }

func kill(c *exec.Cmd) { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
