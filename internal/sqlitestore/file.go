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

// privateStores numbers the stores in memory: without names of their own they would share their content.
var privateStores atomic.Int64

// prepareFile creates the folder and the empty file with access for their owner only, and refuses a network file
// system.
func prepareFile(path string) error {
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	if err := local(folder); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	switch {
	case err == nil:
		return f.Close()
	case !errors.Is(err, fs.ErrExist):
		return err
	default:
		return local(path) // the path may be a link to another file system
	}
}

func local(path string) error {
	remote, err := networkSystem(path)
	if err != nil || remote == "" {
		return err
	}
	return fmt.Errorf("%s lies on the network file system %s, where several processes cannot share it safely; "+
		"move it to a local disk", path, remote)
}

// addresses returns the data source names of the writing and the reading connections.
//
// synchronous=FULL: a commit is on the disk when it returns, so that a reservation survives a power cut (decision 9).
// secure_delete: deleted content is overwritten. wal_autocheckpoint: usually too high to be reached, because folding
// checkpoints earlier (fold.go). A negative cache_size is in KiB.
func addresses(path string, busy time.Duration) (write, read string) {
	q := url.Values{}
	add := func(pragma string) { q.Add("_pragma", pragma) }
	add("busy_timeout(" + strconv.FormatInt(busy.Milliseconds(), 10) + ")")
	add("temp_store(2)")
	base := ""
	if path == ":memory:" {
		base = fmt.Sprintf("file:/oneiros-%d", privateStores.Add(1))
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
		"&_pragma=wal_autocheckpoint(" + strconv.Itoa(foldAtMost) + ")"
	return write, read
}

// uriPath turns a path of any operating system into the form that SQLite reads in a file URI.
func uriPath(abs string) string {
	slashed := filepath.ToSlash(abs)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // C:/… on Windows
	}
	return slashed
}
