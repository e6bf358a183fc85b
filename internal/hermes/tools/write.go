package tools

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/seed-56a03226/oneiros/internal/hermes/message"
)

const (
	maxWrite = 8 << 20  // bytes of a file that edit_file takes
	maxDiff  = 64 << 10 // bytes of a diff that a preview shows
	maxLinks = 8        // symbolic links that are followed to the file that is written
)

// atStep is called between the steps of a write. Tests kill the process there.
var atStep = func(string) {}

// change is what a call to write or edit would do to a file.
type change struct {
	path   string // relative to the workspace, links followed
	before state
	old    []byte // as far as it is kept
	text   []byte
	mode   fs.FileMode
	many   bool // whether the file has other names, too
}

// previewWrite shows a change as a unified diff.
func previewWrite(b *Box, call message.Call, args arguments) (message.Preview, error) {
	c, err := b.plan(call.Name, args)
	if err != nil {
		return message.Preview{}, err
	}
	b.remember(call, c.before)
	verb := strings.TrimSuffix(call.Name, "_file")
	p := message.Preview{Title: fmt.Sprintf("%s %s (%s)", verb, shown(c.path), lines(c.text))}
	switch {
	case c.before.Lost:
		p.Warning = fmt.Sprintf("%s has %d bytes, more than %d: it is replaced and cannot be put back",
			c.path, c.before.Size, maxKept)
	case bytes.IndexByte(c.old, 0) >= 0:
		p.Body = fmt.Sprintf("replaces a binary file of %d bytes", len(c.old))
	default:
		p.Body = visible(diff(c))
	}
	if c.many {
		p.Warning = strings.TrimPrefix(p.Warning+"; ", "; ") + "the file has other names, which keep the old text"
	}
	return p, nil
}

func lines(text []byte) string {
	n := bytes.Count(text, []byte("\n"))
	if len(text) > 0 && text[len(text)-1] != '\n' {
		n++
	}
	if n == 1 {
		return "1 line"
	}
	return strconv.Itoa(n) + " lines"
}

func diff(c change) string {
	from, to := "a/"+filepath.ToSlash(c.path), "b/"+filepath.ToSlash(c.path)
	if c.before.absent() {
		from = "/dev/null"
	}
	text := udiff.Unified(from, to, strings.ToValidUTF8(string(c.old), "\ufffd"),
		strings.ToValidUTF8(string(c.text), "\ufffd"))
	if text == "" {
		return "changes nothing"
	}
	if len(text) <= maxDiff {
		return text
	}
	more := fmt.Sprintf("\n[%d more bytes of the diff are not shown]", len(text)-maxDiff)
	return strings.ToValidUTF8(text[:maxDiff], "") + more
}

// remember keeps what the file of a call was when it was shown.
func (b *Box) remember(call message.Call, before state) {
	b.writing.Lock()
	defer b.writing.Unlock()
	const most = 256
	if len(b.shown) >= most {
		clear(b.shown)
	}
	b.shown[call] = before
}

// write is the tools write_file and edit_file.
func (b *Box) write(_ context.Context, _ <-chan struct{}, call message.Call, args arguments) message.Result {
	b.writing.Lock()
	defer b.writing.Unlock()
	c, err := b.plan(call.Name, args)
	if err != nil {
		return failure(err)
	}
	before, was := b.shown[call]
	delete(b.shown, call)
	if was && before != c.before {
		return failure(fmt.Errorf("path is %s, which was changed after this call was shown to a person; "+
			"read it again", excerpt(c.path)))
	}
	err = b.put(c)
	if err != nil {
		return failure(explain("path", c.path, err))
	}
	text := fmt.Sprintf("wrote %s (%s)", shown(c.path), lines(c.text))
	if c.many {
		text += "\n[the file had other names as well; they keep the old text]"
	}
	return message.Result{Text: text, Changed: []string{filepath.ToSlash(c.path)}}
}

// plan reads the file of a call and computes its new text.
func (b *Box) plan(toolName string, args arguments) (change, error) {
	path := args.text("path")
	name, err := b.relative("path", path)
	if err != nil {
		return change{}, err
	}
	name, err = b.follow(name)
	if err != nil {
		return change{}, explain("path", path, err)
	}
	if gitOwned(name) {
		return change{}, fmt.Errorf("path is %s, which belongs to git; change it by git, with the tool run", excerpt(path))
	}
	c := change{path: name, text: []byte(args.text("content")), mode: 0o644}
	edits := toolName == "edit_file"
	f, info, err := open(b.root, name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !edits:
		return c, nil
	case err != nil:
		return change{}, explain("path", path, err)
	}
	defer f.Close()
	c.many = links(info) > 1
	c.mode = info.Mode().Perm()
	if c.mode&0o200 == 0 {
		return change{}, fmt.Errorf("path is %s, which is read-only (mode %v)", excerpt(path), c.mode)
	}
	c.before, c.old, err = look(f, info)
	if err != nil {
		return change{}, explain("path", path, err)
	}
	if !edits {
		return c, nil
	}
	if c.before.Lost {
		return change{}, fmt.Errorf("path is %s, which has %d bytes; edit_file takes files of at most %d bytes",
			excerpt(path), info.Size(), maxWrite)
	}
	c.text, err = edit(c.old, args.text("old"), args.text("new"), args.yes("all"))
	if err != nil {
		return change{}, fmt.Errorf("%s: %w", c.path, err)
	}
	return c, nil
}

// follow resolves the symbolic links of a name within the workspace: a write replaces the file and not the link, and a
// file has one name in the checkpoints. What does not exist is kept as it is. It is no defence: that is the root's.
func (b *Box) follow(name string) (string, error) {
	const separator = string(filepath.Separator)
	rest := strings.Split(name, separator)
	done := "."
	links := 0
	for len(rest) > 0 {
		part := rest[0]
		rest = rest[1:]
		next := filepath.Join(done, part)
		info, err := b.root.Lstat(next)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			done = next
			continue
		}
		links++
		if links > maxLinks {
			return "", fmt.Errorf("more than %d links follow each other", maxLinks)
		}
		target, err := b.root.Readlink(next)
		if err != nil {
			return "", err
		}
		if filepath.IsAbs(target) {
			return "", errors.New("it leads over a link to an absolute path, which is not followed; name the file itself")
		}
		rest = append(strings.Split(target, separator), rest...)
	}
	return done, nil
}

// edit replaces an exact text. Where the lines of the file end with CRLF, those of old and new do as well.
func edit(file []byte, old, new string, all bool) ([]byte, error) {
	if bytes.IndexByte(file, 0) >= 0 {
		return nil, errors.New("it is a binary file; only text can be edited")
	}
	if old == "" {
		return nil, errors.New("old is empty; it must be a text of the file")
	}
	if old == new {
		return nil, errors.New("old and new are the same; new must differ")
	}
	if endsWithCRLF(file) {
		old, new = toCRLF(old), toCRLF(new)
	}
	count := bytes.Count(file, []byte(old))
	switch {
	case count == 0:
		return nil, fmt.Errorf("old is %s, which occurs 0 times; it must be a text of the file, exactly", excerpt(old))
	case count > 1 && !all:
		return nil, fmt.Errorf("old is %s, which occurs %d times (lines %s); give more of what stands around it, "+
			"or set all to true", excerpt(old), count, occurrences(file, []byte(old)))
	}
	text := bytes.ReplaceAll(file, []byte(old), []byte(new))
	if len(text) > maxWrite {
		return nil, fmt.Errorf("the file would have %d bytes; edit_file writes at most %d", len(text), maxWrite)
	}
	return text, nil
}

// endsWithCRLF reports whether each line of a text does.
func endsWithCRLF(text []byte) bool {
	count := bytes.Count(text, []byte("\r\n"))
	return count > 0 && count == bytes.Count(text, []byte("\n"))
}

func toCRLF(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\r\n")
}

// occurrences returns the numbers of the first lines in which a text begins.
func occurrences(file, text []byte) string {
	const most = 10
	var list []string
	at := 0
	for len(list) < most {
		i := bytes.Index(file[at:], text)
		if i < 0 {
			return strings.Join(list, ", ")
		}
		at += i
		list = append(list, strconv.Itoa(1+bytes.Count(file[:at], []byte("\n"))))
		at += len(text)
	}
	return strings.Join(list, ", ") + ", …"
}

// put writes a change, after what is needed to put the file back is on disk. The caller holds writing.
func (b *Box) put(c change) error {
	folder := filepath.Dir(c.path)
	err := b.root.MkdirAll(folder, 0o755)
	if err != nil {
		return err
	}
	// One handle for all steps: what happens to the names above it meanwhile does not matter. The dot at the end makes
	// the folder be opened as a folder: a FIFO that got its name would be waited for.
	dir, err := b.root.OpenRoot(folder + string(filepath.Separator) + ".")
	if err != nil {
		return err
	}
	defer dir.Close()
	base := filepath.Base(c.path)
	err = b.checkpoints.record(c.path, c.before, c.old, stateOf(c.text, c.mode))
	if err != nil {
		return err
	}
	atStep("recorded")
	return replace(dir, base, c.text, c.mode)
}

// replace gives a name of a folder a new file, in one step: after a crash at any point it has the old or the new one.
func replace(dir *os.Root, base string, text []byte, mode fs.FileMode) error {
	temporary := fmt.Sprintf(".hermes-%d-%s.tmp", os.Getpid(), random())
	f, err := dir.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = fill(f, text, mode, dir, base)
	if err == nil {
		atStep("filled")
		err = dir.Rename(temporary, base)
	}
	if err != nil {
		return errors.Join(err, dir.Remove(temporary))
	}
	atStep("renamed")
	syncFolder(dir)
	atStep("synced")
	return nil
}

// fill writes the text into a new file, and gives it the mode and the owner of the file that it replaces.
func fill(f *os.File, text []byte, mode fs.FileMode, dir *os.Root, base string) error {
	atStep("created")
	const part = 64 << 10
	for len(text) > 0 {
		n := min(part, len(text))
		_, err := f.Write(text[:n])
		if err != nil {
			return errors.Join(err, f.Close())
		}
		text = text[n:]
		atStep("wrote a part")
	}
	if info, err := dir.Lstat(base); err == nil {
		keepOwner(f, info)
	}
	err := f.Chmod(mode)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	atStep("has its mode")
	return errors.Join(f.Sync(), f.Close())
}

// syncFolder makes a new name durable. Not every system can.
func syncFolder(dir *os.Root) {
	d, err := dir.Open(".")
	if err != nil {
		return
	}
	_ = d.Sync()
	_ = d.Close()
}

func random() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails, since Go 1.24
	return hex.EncodeToString(b[:])
}

var leftover = regexp.MustCompile(`^\.hermes-([0-9]{1,9})-[0-9a-f]{16}\.tmp$`)

// sweep removes temporary files of processes that no longer run, in the workspace and among the checkpoints.
func (b *Box) sweep(ctx context.Context) {
	defer close(b.swept)
	for _, w := range []struct {
		walker
		from string
	}{
		{walker{root: b.root, all: true}, "."},
		{walker{root: b.checkpoints.root, all: true, depth: 1}, "."},
		{walker{root: b.checkpoints.root, all: true, depth: 1}, keptFolder},
	} {
		// What a walk that ends early does not see is left for the next time.
		_ = w.walk(ctx, w.from, func(path string, d fs.DirEntry) bool {
			found := leftover.FindStringSubmatch(d.Name())
			if found == nil || !d.Type().IsRegular() {
				return true
			}
			pid, err := strconv.Atoi(found[1])
			if err == nil && !alive(pid) {
				_ = w.root.Remove(path)
			}
			return true
		})
	}
}

// readAll reads a file up to a bound, and reports whether there is more; then it has read one byte beyond the bound.
func readAll(r io.Reader, most int64) ([]byte, bool, error) {
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	return text, int64(len(text)) > most, err
}
