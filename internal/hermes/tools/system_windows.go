package tools

import (
	"io/fs"
	"os"
	"os/exec"
)

func group(*exec.Cmd) {}

func interruptGroup(c *exec.Cmd) { _ = c.Process.Signal(os.Interrupt) }

func killGroup(c *exec.Cmd) { _ = c.Process.Kill() }

func signalOf(*os.ProcessState) int { return 0 }

// alive reports whether a process runs.
func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	_ = p.Release()
	return true
}

func links(fs.FileInfo) uint64 { return 1 }

func keepOwner(*os.File, fs.FileInfo) {}

// lock does nothing: it is not known here whether another process uses the file.
func lock(*os.File) error { return nil }

func unlock(f *os.File) error { return f.Close() }
