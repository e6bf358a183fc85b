//go:build unix && !linux

package tools

import (
	"os"
	"os/exec"
	"syscall"
)

// group gives a command a process group of its own.
func group(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func interruptGroup(c *exec.Cmd) { _ = syscall.Kill(-c.Process.Pid, syscall.SIGINT) }

func killGroup(c *exec.Cmd) { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }

// signalOf is the number of the signal that ended a process.
func signalOf(s *os.ProcessState) int {
	status, ok := s.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return 0
	}
	return int(status.Signal())
}
