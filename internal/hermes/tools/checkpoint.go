package tools

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Bounds of what is kept to put files back.
const (
	maxKept        = 8 << 20 // bytes of one file; a larger one is not kept
	maxCheckpoints = 200     // above which the oldest are dropped
	maxKeptInAll   = 1 << 30 // bytes of all files, above which the oldest checkpoints are dropped
)

// Checkpoint is a point to which the files can be put back that the tools have written since. What commands do to files
// is not covered: neither run nor Shell is, nor is a file of more than 8 MiB.
type Checkpoint struct {
	ID    int
	At    time.Time
	Label string
	Files []string // written after it and before the next one, relative to the workspace
}

// state is what a file is at one time. The zero value is a file that does not exist.
type state struct {
	Hash string      `json:"hash,omitempty"` // SHA-256 of its content, in hexadecimal
	Mode fs.FileMode `json:"mode,omitempty"` // permissions
	Size int64       `json:"size,omitempty"` // bytes
	Lost bool        `json:"lost,omitempty"` // whether it is too large to be kept
}

func (s state) absent() bool { return s.Hash == "" }

// same reports whether two states have the same content.
func (s state) same(other state) bool { return s.Hash == other.Hash }

func stateOf(text []byte, mode fs.FileMode) state {
	sum := sha256.Sum256(text)
	return state{
		Hash: hex.EncodeToString(sum[:]),
		Mode: mode,
		Size: int64(len(text)),
		Lost: len(text) > maxKept,
	}
}

// look reads the state of an open file, and its content if it is not too large to be kept.
func look(f *os.File, info fs.FileInfo) (state, []byte, error) {
	text, more, err := readAll(f, maxKept)
	if err != nil {
		return state{}, nil, err
	}
	mode := info.Mode().Perm()
	if !more {
		return stateOf(text, mode), text, nil
	}
	hash := sha256.New()
	hash.Write(text)
	rest, err := io.Copy(hash, f)
	return state{
		Hash: hex.EncodeToString(hash.Sum(nil)),
		Mode: mode,
		Size: int64(len(text)) + rest,
		Lost: true,
	}, nil, err
}

// entry is one line of the journal: a checkpoint, or a write after it. Its JSON names are stored.
type entry struct {
	Checkpoint int       `json:"checkpoint"`
	At         time.Time `json:"at,omitzero"`
	Label      string    `json:"label,omitempty"`
	Path       string    `json:"path,omitempty"` // empty: the line begins the checkpoint
	Before     state     `json:"before,omitzero"`
	After      state     `json:"after,omitzero"`
}

// journal keeps the checkpoints of a session in a folder: one line of JSON for each checkpoint and each write, and what
// files were before, by their hash. What a write needs is on disk before the write begins. One process uses it at a
// time; the Box guards it.
type journal struct {
	root    *os.Root
	lock    *os.File // held while the journal is open
	file    *os.File
	entries []entry
}

const (
	journalFile = "checkpoints.jsonl"
	lockFile    = "lock"
	keptFolder  = "kept"
)

func openJournal(folder string) (*journal, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("the folder %q of checkpoints cannot be opened: %w", folder, err)
	}
	held, err := root.OpenFile(lockFile, os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil {
		err = lock(held)
	}
	if err != nil {
		held.Close()
		root.Close()
		return nil, fmt.Errorf("the folder %q of checkpoints is used by another process, or cannot be locked: %w", folder, err)
	}
	j := &journal{root: root, lock: held}
	err = j.load()
	if err != nil {
		j.close()
		return nil, fmt.Errorf("the checkpoints in %q: %w", filepath.Join(folder, journalFile), err)
	}
	return j, nil
}

func (j *journal) load() error {
	err := j.root.MkdirAll(keptFolder, 0o700)
	if err != nil {
		return err
	}
	text, err := j.root.ReadFile(journalFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// A line that does not end is one whose write was cut off, before the write that it announces began.
	whole := text[:bytes.LastIndexByte(text, '\n')+1]
	in := bufio.NewScanner(bytes.NewReader(whole))
	in.Buffer(nil, 1<<20)
	for n := 1; in.Scan(); n++ {
		var e entry
		err = json.Unmarshal(in.Bytes(), &e)
		if err != nil {
			return fmt.Errorf("line %d is damaged (%w); move the file away to begin anew", n, err)
		}
		begins := e.Path == ""
		if (begins && e.Checkpoint <= j.last()) || (!begins && e.Checkpoint != j.last()) || e.Checkpoint == 0 {
			return fmt.Errorf("line %d is damaged (checkpoint %d after %d); move the file away to begin anew",
				n, e.Checkpoint, j.last())
		}
		j.entries = append(j.entries, e)
	}
	if in.Err() != nil {
		return in.Err()
	}
	if j.drop() || len(whole) < len(text) {
		return j.rewrite()
	}
	return j.reopen()
}

// reopen opens the file that lines are appended to.
func (j *journal) reopen() error {
	if j.file != nil {
		_ = j.file.Close() // each line was synced
	}
	var err error
	j.file, err = j.root.OpenFile(journalFile, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	return err
}

// drop forgets the oldest checkpoints above the bounds, and reports whether there were any.
func (j *journal) drop() bool {
	first := j.last() - maxCheckpoints + 1
	total := int64(0)
	for _, e := range slices.Backward(j.entries) {
		if !e.Before.Lost {
			total += e.Before.Size
		}
		if total > maxKeptInAll && e.Checkpoint < j.last() {
			first = max(first, e.Checkpoint+1)
			break
		}
	}
	kept := slices.DeleteFunc(slices.Clone(j.entries), func(e entry) bool { return e.Checkpoint < first })
	dropped := len(kept) < len(j.entries)
	j.entries = kept
	return dropped
}

// rewrite writes the journal anew, and removes what it no longer needs.
func (j *journal) rewrite() error {
	var text bytes.Buffer
	needed := map[string]bool{}
	for _, e := range j.entries {
		line, err := json.Marshal(e)
		if err != nil {
			return err
		}
		text.Write(append(line, '\n'))
		needed[e.Before.Hash], needed[e.After.Hash] = true, true
	}
	err := replace(j.root, journalFile, text.Bytes(), 0o600)
	if err != nil {
		return err
	}
	list, err := fs.ReadDir(j.root.FS(), keptFolder)
	if err != nil {
		return err
	}
	for _, d := range list {
		if !needed[d.Name()] {
			err = errors.Join(err, j.root.Remove(filepath.Join(keptFolder, d.Name())))
		}
	}
	return errors.Join(err, j.reopen())
}

func (j *journal) close() error {
	var err error
	if j.file != nil {
		err = j.file.Close()
	}
	return errors.Join(err, unlock(j.lock), j.root.Close())
}

func (j *journal) last() int {
	if len(j.entries) == 0 {
		return 0
	}
	return j.entries[len(j.entries)-1].Checkpoint
}

func (j *journal) append(e entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	_, err = j.file.Write(append(line, '\n'))
	if err != nil {
		return err
	}
	err = j.file.Sync()
	if err != nil {
		return err
	}
	j.entries = append(j.entries, e)
	return nil
}

func (j *journal) begin(label string) (Checkpoint, error) {
	e := entry{Checkpoint: j.last() + 1, At: time.Now().UTC(), Label: label}
	err := j.append(e)
	if err == nil && j.drop() {
		err = j.rewrite()
	}
	if err != nil {
		return Checkpoint{}, fmt.Errorf("the checkpoint %q cannot be stored: %w", label, err)
	}
	return Checkpoint{ID: e.Checkpoint, At: e.At, Label: label}, nil
}

// record stores what a file was before a write, and what it will be.
func (j *journal) record(path string, before state, old []byte, after state) error {
	if len(j.entries) == 0 {
		_, err := j.begin("begin")
		if err != nil {
			return err
		}
	}
	err := j.keep(before, old)
	if err != nil {
		return fmt.Errorf("what %s is now cannot be kept, so it is not written: %w", path, err)
	}
	return j.append(entry{Checkpoint: j.last(), Path: filepath.ToSlash(path), Before: before, After: after})
}

func (j *journal) keep(s state, text []byte) error {
	if s.absent() || s.Lost {
		return nil
	}
	name := filepath.Join(keptFolder, s.Hash)
	kept, err := j.root.ReadFile(name)
	if err == nil && stateOf(kept, 0).same(s) {
		return nil
	}
	folder, err := j.root.OpenRoot(keptFolder)
	if err != nil {
		return err
	}
	defer folder.Close()
	return replace(folder, s.Hash, text, 0o600)
}

// history is what the journal says of one file since a checkpoint.
type history struct {
	path   string
	before state // before the first write
	// after is what the last write may have left: its result, or what it found, if it was cut off.
	after   []state
	foreign bool // whether something else changed the file between two writes
}

func (j *journal) since(id int) []history {
	var list []history
	for _, e := range j.entries {
		if e.Checkpoint < id || e.Path == "" {
			continue
		}
		i := slices.IndexFunc(list, func(h history) bool { return h.path == e.Path })
		if i < 0 {
			list = append(list, history{path: e.Path, before: e.Before, after: []state{e.Before}})
			i = len(list) - 1
		}
		if !slices.ContainsFunc(list[i].after, e.Before.same) {
			list[i].foreign = true
		}
		list[i].after = []state{e.Before, e.After}
	}
	return list
}

// Checkpoint begins a checkpoint, such as before each turn. Files that the tools write after it can be put back.
func (b *Box) Checkpoint(label string) (Checkpoint, error) {
	b.writing.Lock()
	defer b.writing.Unlock()
	return b.checkpoints.begin(label)
}

// Checkpoints returns the checkpoints of the session, the oldest first, those of earlier runs of it among them.
func (b *Box) Checkpoints() []Checkpoint {
	b.writing.Lock()
	defer b.writing.Unlock()
	var list []Checkpoint
	for _, e := range b.checkpoints.entries {
		if e.Path == "" {
			list = append(list, Checkpoint{ID: e.Checkpoint, At: e.At, Label: e.Label})
			continue
		}
		last := &list[len(list)-1]
		if !slices.Contains(last.Files, e.Path) {
			last.Files = append(last.Files, e.Path)
		}
	}
	return list
}

// Restore puts back every file that the tools wrote since a checkpoint, and removes those that were new. It returns the
// names of the files that it changed. A file that something else has changed since, such as a command, is left as it
// is, and so is one that was too large to be kept; the error names them. Restore begins a checkpoint of its own first,
// so that it can be undone in the same way.
func (b *Box) Restore(id int) ([]string, error) {
	b.writing.Lock()
	defer b.writing.Unlock()
	if !slices.ContainsFunc(b.checkpoints.entries, func(e entry) bool { return e.Checkpoint == id }) {
		return nil, fmt.Errorf("there is no checkpoint %d; the newest is %d", id, b.checkpoints.last())
	}
	files := b.checkpoints.since(id)
	_, err := b.checkpoints.begin(fmt.Sprintf("before checkpoint %d was put back", id))
	if err != nil {
		return nil, err
	}
	var names []string
	var left []error
	for _, h := range files {
		done, err := b.putBack(h)
		if err != nil {
			left = append(left, fmt.Errorf("%s was not put back: %w", h.path, err))
		}
		if done {
			names = append(names, h.path)
		}
	}
	return names, errors.Join(left...)
}

// putBack makes a file what it was, and reports whether it changed it.
func (b *Box) putBack(h history) (bool, error) {
	name := filepath.FromSlash(h.path)
	c := change{path: name}
	f, info, err := open(b.root, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return false, err
	default:
		c.before, c.old, err = look(f, info)
		f.Close()
		if err != nil {
			return false, err
		}
	}
	switch {
	case c.before.same(h.before):
		return false, nil
	case h.foreign || !slices.ContainsFunc(h.after, c.before.same):
		return false, errors.New("something else than these tools has changed it since")
	case h.before.Lost:
		return false, fmt.Errorf("it had %d bytes, too many to be kept", h.before.Size)
	case h.before.absent():
		err = b.checkpoints.record(name, c.before, c.old, state{})
		if err != nil {
			return false, err
		}
		return true, b.root.Remove(name)
	}
	c.text, err = b.checkpoints.root.ReadFile(filepath.Join(keptFolder, h.before.Hash))
	if err != nil {
		return false, fmt.Errorf("what was kept of it cannot be read: %w", err)
	}
	if !stateOf(c.text, 0).same(h.before) {
		return false, errors.New("what was kept of it is damaged")
	}
	c.mode = h.before.Mode
	if !c.before.absent() {
		c.mode = c.before.Mode
	}
	err = b.put(c)
	return err == nil, err
}
