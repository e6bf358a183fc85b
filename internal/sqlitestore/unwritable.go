package sqlitestore

import (
	"context"
	"errors"
	"net/url"
	"os"
	"syscall"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// unwritable marks a failure of the disk, or of a file that may only be read, as memory.ErrUnwritable.
func unwritable(err error) error {
	var marked *memory.UnwritableError
	why, ok := whyUnwritable(err)
	if !ok || errors.As(err, &marked) {
		return err
	}
	return &memory.UnwritableError{Why: why, Err: err}
}

func whyUnwritable(err error) (memory.Unwritability, bool) {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return memory.Full, true
	case errors.Is(err, syscall.EROFS), errors.Is(err, syscall.EACCES):
		return memory.ReadOnly, true
	}
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return "", false
	}
	switch {
	case e.Code() == lib.SQLITE_IOERR_SHMSIZE: // the disk has no room for the index of the log
		return memory.Full, true
	case e.Code()&0xff == lib.SQLITE_FULL:
		return memory.Full, true
	case e.Code()&0xff == lib.SQLITE_READONLY:
		return memory.ReadOnly, true
	case e.Code()&0xff == lib.SQLITE_IOERR:
		return memory.DiskFails, true
	}
	return "", false
}

// whyNotOpened adds to SQLite's "unable to open" why the file cannot be written.
func (s *file) whyNotOpened(err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) || e.Code()&0xff != lib.SQLITE_CANTOPEN {
		return err
	}
	f, fault := os.OpenFile(s.name, os.O_RDWR, 0)
	if fault != nil {
		return errors.Join(err, fault)
	}
	return errors.Join(err, f.Close())
}

// openAsItIs opens a file on a full or read-only disk to be read, after why, the failure to open it for writing. SQLite
// then neither makes nor reads its log, which is possible only while the log is empty or missing: nobody else has the
// file open, or its log could not have grown either. Every write fails as memory.ErrUnwritable.
func (s *file) openAsItIs(ctx context.Context, why error) error {
	if info, err := os.Stat(s.name + "-wal"); s.private || err == nil && info.Size() > 0 {
		return why
	}
	if err := s.disconnect(); err != nil {
		return errors.Join(why, err)
	}
	s.asItIs = unwritable(why)
	return s.connect(ctx)
}

// lastingly makes an address of a file that nobody changes.
func lastingly(address string) string {
	return address + "&" + url.Values{"immutable": {"1"}, "mode": {"ro"}}.Encode()
}
