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

// drafts is the folder of incomplete files. It is beside the objects, so that a link can reach them.
const drafts = ".drafts"

// staleAfter is the age after which a draft is considered left over from a killed process.
const staleAfter = time.Hour

// Folder is a bucket in a file system with hard links. Only its owner can read it.
type Folder struct{ root string }

var _ Bucket = (*Folder)(nil)

// OpenFolder opens the folder, which is created at the first write, and removes drafts of killed processes.
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
		if info, err := draft.Info(); err == nil && time.Since(info.ModTime()) > staleAfter {
			_ = os.Remove(filepath.Join(root, drafts, draft.Name())) // another process may have removed it already
		}
	}
	return &Folder{root: root}, nil
}

// Where returns the folder's path.
func (f *Folder) Where() string { return f.root }

// Create links a complete draft to its name, which fails if that file exists.
func (f *Folder) Create(_ context.Context, name string, body []byte) error {
	err := f.place(name, body, os.Link)
	if errors.Is(err, fs.ErrExist) {
		return ErrExists
	}
	return wrapError("create", name, err)
}

// Replace renames a complete draft to its name.
func (f *Folder) Replace(_ context.Context, name string, body []byte) error {
	return wrapError("write", name, f.place(name, body, os.Rename))
}

// place writes a draft, syncs it, gives it its name, and syncs the folder, so that both survive a power cut.
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
	defer func() { _ = os.Remove(draft.Name()) }() // fails when it was renamed
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
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) { // the parent folders may be new as well
		if err := syncFolder(dir); err != nil || dir == f.root {
			return err
		}
	}
}

// syncFolder syncs a folder, so that the names in it survive a power cut.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Read returns the content of a file.
func (f *Folder) Read(_ context.Context, name string) ([]byte, error) {
	body, err := os.ReadFile(f.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrMissing
	}
	return body, wrapError("read", name, err)
}

// Names lists the files below a folder.
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
	return names, wrapError("list", prefix, err)
}

func (f *Folder) path(name string) string {
	return filepath.Join(f.root, filepath.FromSlash(strings.TrimSuffix(name, "/")))
}

func wrapError(what, name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s in the archive: %w", what, name, err)
}
