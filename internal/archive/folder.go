package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// drafts is the folder of files that are not whole yet, beside the objects so that a link can reach them.
const drafts = ".drafts"

// stale is when a draft is that of a process that was killed.
const stale = time.Hour

// Folder is a bucket on a file system that knows hard links. Only its owner may read it.
type Folder struct{ root string }

var _ Bucket = (*Folder)(nil)

// OpenFolder names the folder, which is made when something is first written, and removes what processes that were
// killed left.
func OpenFolder(path string) (*Folder, error) {
	root, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open the archive's folder: %w", err)
	}
	left, err := os.ReadDir(filepath.Join(root, drafts))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open the archive's folder: %w", err)
	}
	for _, draft := range left {
		if info, err := draft.Info(); err == nil && time.Since(info.ModTime()) > stale {
			_ = os.Remove(filepath.Join(root, drafts, draft.Name())) // another process may have done it
		}
	}
	return &Folder{root: root}, nil
}

// Where is the folder's path.
func (f *Folder) Where() string { return f.root }

// Create links a finished draft to its name, which fails where there is a file already.
func (f *Folder) Create(_ context.Context, name string, body []byte) error {
	err := f.place(name, body, os.Link)
	if errors.Is(err, fs.ErrExist) {
		return ErrExists
	}
	return tried("create", name, err)
}

// Replace moves a finished draft over its name.
func (f *Folder) Replace(_ context.Context, name string, body []byte) error {
	return tried("write", name, f.place(name, body, os.Rename))
}

// place writes a draft that survives the loss of power, gives it its name, and keeps the name as well.
func (f *Folder) place(name string, body []byte, give func(draft, path string) error) error {
	path := f.path(name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700),
		os.MkdirAll(filepath.Join(f.root, drafts), 0o700)); err != nil {
		return err
	}
	draft, err := os.CreateTemp(filepath.Join(f.root, drafts), "*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(draft.Name()) }() // gone already when it was moved
	_, err = draft.Write(body)
	if err == nil {
		err = draft.Sync()
	}
	err = errors.Join(err, draft.Close())
	if err != nil {
		return err
	}
	if err := give(draft.Name(), path); err != nil {
		return err
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) { // folders above may be new as well
		if err := settle(dir); err != nil || dir == f.root {
			return err
		}
	}
}

// settle makes the names in a folder survive the loss of power.
func settle(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Read returns a file.
func (f *Folder) Read(_ context.Context, name string) ([]byte, error) {
	body, err := os.ReadFile(f.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrMissing
	}
	return body, tried("read", name, err)
}

// Names lists the files beneath a folder.
func (f *Folder) Names(_ context.Context, prefix string) ([]string, error) {
	var names []string
	err := filepath.WalkDir(f.path(prefix), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(f.root, path)
		names = append(names, filepath.ToSlash(name))
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	slices.Sort(names)
	return names, tried("list", prefix, err)
}

func (f *Folder) path(name string) string {
	return filepath.Join(f.root, filepath.FromSlash(strings.TrimSuffix(name, "/")))
}

func tried(what, name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s in the archive: %w", what, name, err)
}
