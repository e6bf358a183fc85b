//go:build unix

package tools

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// alive reports whether a process runs, as far as this user can see.
func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// links is the number of names that a file has.
func links(info fs.FileInfo) uint64 {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 1
	}
	return uint64(stat.Nlink)
}

// keepOwner gives a file the owner of another one, where this user may do that.
func keepOwner(f *os.File, other fs.FileInfo) {
	stat, ok := other.Sys().(*syscall.Stat_t)
	if !ok || (int(stat.Uid) == os.Geteuid() && int(stat.Gid) == os.Getegid()) {
		return
	}
	_ = f.Chown(int(stat.Uid), int(stat.Gid))
}

// lock takes a file for this process, until it is closed or the process ends. It does not wait.
func lock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

// unlock gives a file back. Closing it would not be enough while a child of this process is being started.
func unlock(f *os.File) error {
	return errors.Join(syscall.Flock(int(f.Fd()), syscall.LOCK_UN), f.Close())
}
