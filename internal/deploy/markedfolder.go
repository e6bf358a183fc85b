package deploy

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/temporalchild"
)

// markedFolder is a folder that a command may replace, because a file in it says that it is the command's own.
type markedFolder struct {
	dir    string
	server string // where the Temporal server works while the command runs
	mark   string // name of the file
	says   string // its text
	of     string // whose files these are, such as "a life"
}

// check refuses a folder that holds anything else, and one in which another process works at the moment.
func (f markedFolder) check() error {
	record, alive, err := temporalchild.ReadRecord(f.server)
	if err == nil && alive {
		return exit.Refusedf("process %d plays %s in %s at the moment; wait until it has ended, or name another folder "+
			"with --dir", record.Owner, f.of, f.dir)
	}
	entries, err := os.ReadDir(f.dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("read the folder %s: %w", f.dir, err)
	}
	marked := slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == f.mark })
	if len(entries) > 0 && !marked {
		return exit.Refusedf("%s holds other files than those of %s, and is left as it is; name an empty folder with "+
			"--dir", f.dir, f.of)
	}
	return nil
}

// create makes the folder and marks it.
func (f markedFolder) create() error {
	if err := folder(f.dir); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(f.dir, f.mark), []byte(f.says), 0o600)
}
