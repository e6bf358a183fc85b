package tools

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"

	"github.com/seed-56a03226/oneiros/internal/hermes/message"
)

const (
	maxVisited  = 200_000 // files and folders that one call looks at
	maxListed   = 2_000   // lines that list_files returns
	maxFound    = 200     // lines that search_files returns unless limit says otherwise
	maxSearched = 8 << 20 // bytes of a file that is searched; a larger one is skipped
	maxLine     = 400     // bytes of a found line that are returned
	maxIgnore   = 1 << 20 // bytes of a .gitignore that are read
	gitFolder   = ".git"
	ignoreFile  = ".gitignore"
)

// walker visits files and folders of a workspace in the order of their names, without following links. It leaves out
// .git and, unless all is set, what .gitignore names.
type walker struct {
	root    *os.Root
	all     bool
	depth   int // levels of folders; 0: all
	visited int
	ignore  []gitignore.Pattern
}

// walk calls visit for each file and folder below a folder, until visit returns false. It returns an error only when
// the walk ends early.
func (w *walker) walk(ctx context.Context, from string, visit func(name string, d fs.DirEntry) bool) error {
	from = filepath.Clean(from)
	w.load(filepath.Join(gitFolder, "info", "exclude"), nil)
	above := split(from)
	for i := range above {
		w.load(filepath.Join(filepath.Join(above[:i]...), ignoreFile), above[:i])
	}
	if len(above) > 0 && w.ignored(above, true) {
		w.all = true // it was named, so it is meant
	}
	_, err := w.folder(ctx, from, 1, visit)
	return err
}

var errTooMany = fmt.Errorf("more than %d files and folders; name a folder, or a narrower one", maxVisited)

func (w *walker) folder(ctx context.Context, name string, level int, visit func(string, fs.DirEntry) bool) (bool, error) {
	list, err := w.entries(name)
	if err != nil && level == 1 {
		return false, err
	}
	parts := split(name)
	patterns := len(w.ignore)
	w.load(filepath.Join(name, ignoreFile), parts)
	defer func() { w.ignore = w.ignore[:patterns] }()
	for _, d := range list {
		w.visited++
		if w.visited > maxVisited {
			return false, errTooMany
		}
		if ctx.Err() != nil {
			return false, errors.New("interrupted")
		}
		if d.Name() == gitFolder || (!w.all && w.ignored(append(slices.Clone(parts), d.Name()), d.IsDir())) {
			continue
		}
		child := filepath.Join(name, d.Name())
		if !visit(child, d) {
			return false, nil
		}
		if !d.IsDir() || (w.depth > 0 && level >= w.depth) {
			continue
		}
		on, err := w.folder(ctx, child, level+1, visit)
		if !on || err != nil {
			return on, err
		}
	}
	return true, nil
}

// entries reads a folder. It does not wait when something else got the folder's name.
func (w *walker) entries(name string) ([]fs.DirEntry, error) {
	f, err := w.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, err := f.ReadDir(maxVisited + 1)
	if errors.Is(err, io.EOF) {
		err = nil // an empty folder
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return list, err
}

func split(name string) []string {
	if name == "." {
		return nil
	}
	return strings.Split(filepath.ToSlash(name), "/")
}

// load reads patterns that hold below a folder. A file that cannot be read has none.
func (w *walker) load(name string, domain []string) {
	if w.all {
		return
	}
	f, _, err := open(w.root, name)
	if err != nil {
		return
	}
	defer f.Close()
	text, _, err := readAll(f, maxIgnore)
	if err != nil {
		return
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "#") {
			w.ignore = append(w.ignore, gitignore.ParsePattern(line, domain))
		}
	}
}

func (w *walker) ignored(parts []string, folder bool) bool {
	return gitignore.NewMatcher(w.ignore).Match(parts, folder)
}

// selection is what list_files and search_files have in common: where to begin, and which names.
type selection struct {
	walker
	from    string
	pattern gitignore.Pattern
}

func (b *Box) selection(args arguments) (selection, error) {
	s := selection{walker: walker{root: b.root, all: args.yes("ignored"), depth: args.number("depth", 0)}, from: "."}
	var err error
	if p := args.text("path"); p != "" {
		s.from, err = b.relative("path", p)
		if err != nil {
			return s, err
		}
	}
	if glob := args.text("glob"); glob != "" {
		_, err = path.Match(glob, "")
		if err != nil || strings.HasPrefix(glob, "!") {
			return s, fmt.Errorf("glob is %s; it must be a pattern such as *.go or docs/**/*.md", excerpt(glob))
		}
		s.pattern = gitignore.ParsePattern(glob, nil)
	}
	return s, nil
}

func (s *selection) has(name string) bool {
	return s.pattern == nil || s.pattern.Match(split(name), false) == gitignore.Exclude
}

// shown is a name as a model and a person get it: quoted if it has control characters.
func shown(name string) string {
	name = filepath.ToSlash(name)
	if strings.ContainsFunc(name, hidden) {
		return strconv.Quote(name)
	}
	return name
}

func hidden(r rune) bool { return !printable(r) }

// visible makes a text of several lines one that a person can approve: what would act on the terminal, or change the
// direction of what follows, is written as an escape.
func visible(text string) string {
	var out strings.Builder
	for _, r := range text {
		if printable(r) || r == '\n' || r == '\t' {
			out.WriteRune(r)
			continue
		}
		escape := strconv.QuoteRuneToASCII(r)
		out.WriteString(escape[1 : len(escape)-1])
	}
	return out.String()
}

// list is the tool list_files.
func (b *Box) list(ctx context.Context, _ <-chan struct{}, _ message.Call, args arguments) message.Result {
	s, err := b.selection(args)
	if err != nil {
		return failure(err)
	}
	var out strings.Builder
	count := 0
	full := false
	err = s.walk(ctx, s.from, func(name string, d fs.DirEntry) bool {
		if (d.IsDir() && s.pattern != nil) || !(d.IsDir() || s.has(name)) {
			return true
		}
		full = count >= maxListed || out.Len() > maxOutput
		if full {
			return false
		}
		count++
		out.WriteString(shown(name) + b.suffix(name, d) + "\n")
		return true
	})
	return found(ctx, &out, "path", args.text("path"), err, full, fmt.Sprintf("only the first %d are listed", count))
}

// suffix says what an entry is that is no regular file.
func (b *Box) suffix(name string, d fs.DirEntry) string {
	switch {
	case d.IsDir():
		return "/"
	case d.Type()&fs.ModeSymlink != 0:
		target, err := b.root.Readlink(name)
		if err != nil {
			return " (a link)"
		}
		return " -> " + shown(target)
	case !d.Type().IsRegular():
		return " (a special file)"
	}
	return ""
}

// found makes the result of a walk.
func found(ctx context.Context, out *strings.Builder, argument, from string, err error, full bool, note string,
) message.Result {
	r := message.Result{Text: out.String()}
	if err != nil && !errors.Is(err, errTooMany) && ctx.Err() == nil {
		return failure(explain(argument, from, err))
	}
	switch {
	case ctx.Err() != nil:
		return killed(r.Text)
	case err != nil:
		r.Text += "[ended early: " + err.Error() + "]"
		r.Failed = true
	case full:
		r.Text += "[" + note + "; name a narrower folder or pattern]"
	case r.Text == "":
		r.Text = "[nothing found]"
	}
	return r
}

// search is the tool search_files.
func (b *Box) search(ctx context.Context, _ <-chan struct{}, _ message.Call, args arguments) message.Result {
	s, err := b.selection(args)
	if err != nil {
		return failure(err)
	}
	expression, err := regexp.Compile(args.text("pattern"))
	if err != nil {
		return failure(fmt.Errorf("pattern is %s: %w; it must be a regular expression of RE2's syntax",
			excerpt(args.text("pattern")), err))
	}
	q := query{root: b.root, expression: expression, left: args.number("limit", maxFound)}
	one, err := b.root.Stat(s.from)
	if err == nil && !one.IsDir() {
		err = q.file(s.from)
		return found(ctx, &q.out, "path", args.text("path"), err, q.full, q.note())
	}
	err = s.walk(ctx, s.from, func(name string, d fs.DirEntry) bool {
		if d.Type().IsRegular() && s.has(name) {
			_ = q.file(name) // what cannot be read is not searched
		}
		return !q.full
	})
	r := found(ctx, &q.out, "path", args.text("path"), err, q.full, q.note())
	if len(q.large) > 0 {
		r.Text = strings.TrimSuffix(r.Text, "\n") + fmt.Sprintf("\n[not searched, above %d bytes: %s]",
			maxSearched, strings.Join(q.large, ", "))
	}
	return r
}

// query is one search.
type query struct {
	root       *os.Root
	expression *regexp.Regexp
	left       int
	full       bool
	out        strings.Builder
	large      []string // the first files that are too large
}

func (q *query) note() string { return "there is more" }

func (q *query) file(name string) error {
	f, info, err := open(q.root, name)
	if err != nil {
		return err
	}
	defer f.Close()
	if info.Size() > maxSearched {
		if len(q.large) < 10 {
			q.large = append(q.large, shown(name))
		}
		return nil
	}
	in := bufio.NewScanner(f)
	in.Buffer(nil, maxSearched+1)
	for n := 1; in.Scan(); n++ {
		line := in.Bytes()
		if bytes.IndexByte(line, 0) >= 0 {
			return nil // binary
		}
		if !q.expression.Match(line) {
			continue
		}
		if q.left == 0 || q.out.Len() > maxOutput {
			q.full = true
			return nil
		}
		q.left--
		fmt.Fprintf(&q.out, "%s:%d: %s\n", shown(name), n, clip(line))
	}
	return in.Err()
}

// clip returns the beginning of a long line.
func clip(line []byte) string {
	text := strings.TrimSuffix(string(line), "\r")
	if len(text) > maxLine {
		return strings.ToValidUTF8(text[:maxLine], "") + fmt.Sprintf(" [%d more bytes]", len(text)-maxLine)
	}
	return strings.ToValidUTF8(text, "\ufffd")
}

// Files returns up to limit paths of regular files, for completion, without .git and what .gitignore names.
func (b *Box) Files(limit int) []string {
	var list []string
	w := walker{root: b.root}
	// What a walk that ended early has found is good enough to complete a name.
	_ = w.walk(context.Background(), ".", func(name string, d fs.DirEntry) bool {
		if len(list) >= limit {
			return false
		}
		if d.Type().IsRegular() && !strings.ContainsFunc(name, hidden) {
			list = append(list, filepath.ToSlash(name))
		}
		return true
	})
	return list
}
