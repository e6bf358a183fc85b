package sqlitestore

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	_ "modernc.org/sqlite" // the driver, in pure Go
)

// private stores need names of their own, or they would share their memory.
var privates atomic.Int64

// prepareFile makes the folder and the empty file, both for their owner alone, and refuses a network file system.
func prepareFile(path string, network bool) error {
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	if !network {
		if err := local(folder); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	switch {
	case err == nil:
		return f.Close()
	case !errors.Is(err, fs.ErrExist):
		return err
	case network:
		return nil
	default:
		return local(path) // it may be a link to somewhere else
	}
}

func local(path string) error {
	remote, err := networkSystem(path)
	if err != nil || remote == "" {
		return err
	}
	return fmt.Errorf("%s lies on the network file system %s, where several processes cannot share it safely; "+
		"move it to a local disk, or allow it for one host alone", path, remote)
}

// addresses are the data source names of the writing and the reading connections.
//
// synchronous=FULL: a commit is on the disk when it returns, so that a reservation survives a power cut (decision 9).
// secure_delete: what is erased is overwritten. wal_autocheckpoint: folding does it before (fold.go). cache_size is in
// KiB when negative.
func addresses(path string, busy time.Duration) (write, read string) {
	q := url.Values{}
	add := func(pragma string) { q.Add("_pragma", pragma) }
	add("busy_timeout(" + strconv.FormatInt(busy.Milliseconds(), 10) + ")")
	add("temp_store(2)")
	base := ""
	if path == ":memory:" {
		base = fmt.Sprintf("file:/oneiros-%d", privates.Add(1))
		q.Set("vfs", "memdb")
	} else {
		abs, err := filepath.Abs(path)
		if err != nil {
			abs = path
		}
		base = (&url.URL{Scheme: "file", Path: uriPath(abs)}).String()
	}
	read = base + "?" + q.Encode() + "&_pragma=query_only(1)&_pragma=cache_size(-4096)"
	write = base + "?" + q.Encode() + "&_pragma=synchronous(FULL)&_pragma=secure_delete(1)&_pragma=cache_size(-16384)" +
		"&_pragma=wal_autocheckpoint(" + strconv.Itoa(foldMost) + ")"
	return write, read
}

// uriPath writes a path of any system as SQLite reads it in a file URI.
func uriPath(abs string) string {
	slashed := filepath.ToSlash(abs)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // C:/… on Windows
	}
	return slashed
}
