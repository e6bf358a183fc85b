// Package tools has the tools of the terminal agent, confined to one workspace, and puts back what they wrote.
//
// Files are reached through handles below the workspace's root ([os.Root]), never by a path that was checked before it
// is used: links, "..", absolute names and folders that are swapped during a call end at the root. Only regular files
// are opened. A file with several hard links looks like any other file of the workspace, wherever its other names lie;
// it can be read, and writing gives its name a new file, so that the other names keep the old text. A folder that is
// mounted into the workspace belongs to it. Nothing is written below a folder named .git.
//
// Commands are run by /bin/sh and confined by the kernel where it can (see [Box.Confined]): by Landlock and seccomp. A
// confined command reads and writes the workspace, a folder for temporary files and one for caches. It reads and runs
// what the system and the toolchains of PATH have, the person's settings of git, and what /proc and /sys say of the
// machine. It opens nothing else: no process in /proc, no /tmp, no home. It makes no sockets unless Settings.RunNetwork
// is set, and then none of Unix, so that it reaches no agent, bus or daemon of the person. It signals and traces only
// programs of its own. It has no key in its environment and no terminal. It and all its descendants end with it, those
// in sessions of their own as well, and when Hermes is killed.
//
// What is not confined: a command can see that a name outside exists (stat, readlink), and can change mode, owner, times
// and attributes of files outside as far as the person may (chmod, chown, utime, setxattr). It can use all processors,
// memory and disk until its limit. With RunNetwork, it can send anything that it can read anywhere. What it leaves in
// the workspace has the person's rights when the person runs it later: builds, scripts, hooks below .git.
package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/seed-56a03226/oneiros/internal/hermes/message"
)

// Settings say where the tools work and what commands may do.
type Settings struct {
	// Workspace is the root folder. It must exist.
	Workspace string
	// State is the folder of this session's checkpoints, outside of the workspace. Open makes it if it is missing.
	State string
	// Cache is the folder that commands get for caches of toolchains, outside of the workspace; empty: "cache" in State.
	// Caches of the person are never written by a command: what it leaves there would be run outside later.
	Cache string
	// RunLimit is how long a command may run; 0: 2 minutes.
	RunLimit time.Duration
	// RunNetwork reports whether commands may use TCP and UDP.
	RunNetwork bool
	// RunRead are further files and folders that commands may read.
	RunRead []string
	// RunEnv are further names of environment variables that commands get. A name that ends in * stands for all that
	// begin like it. A name that looks like the one of a key is an error; what * stands for leaves keys out.
	RunEnv []string
	// Self is the program that is started again to confine a command (os.Executable). Its main calls Confine first.
	Self string
}

const defaultRunLimit = 2 * time.Minute

// Box is a workspace with its tools. Its methods may be called at the same time.
type Box struct {
	settings Settings
	root     *os.Root
	folder   string   // absolute, without links
	names    []string // folder, and the workspace as it was named: absolute paths below them are made relative
	confined bool
	why      string

	writing     sync.Mutex // held by each call that writes, and by all that use checkpoints
	checkpoints *journal
	shown       map[message.Call]state // by call: its file when Preview showed it
	swept       chan struct{}          // closed when leftovers of dead processes are removed
	stopSweep   context.CancelFunc
}

// Open opens the workspace and the checkpoints of the session.
func Open(s Settings) (*Box, error) {
	given, err := filepath.Abs(s.Workspace)
	if err != nil {
		return nil, fmt.Errorf("workspace %q: %w", s.Workspace, err)
	}
	folder, err := filepath.EvalSymlinks(given)
	if err != nil {
		return nil, fmt.Errorf("workspace %q cannot be opened; it must be an existing folder: %w", s.Workspace, err)
	}
	if s.State == "" {
		return nil, errors.New("the folder of the session's state is empty; name one outside of the workspace")
	}
	if !filepath.IsAbs(s.Self) {
		return nil, fmt.Errorf("the program that confines commands is %q; it must be an absolute path", s.Self)
	}
	if s.RunLimit == 0 {
		s.RunLimit = defaultRunLimit
	}
	if s.RunLimit < 0 {
		return nil, fmt.Errorf("the limit of commands is %v; it must be above 0", s.RunLimit)
	}
	if s.Cache == "" {
		s.Cache = filepath.Join(s.State, "cache")
	}
	for _, name := range s.RunRead {
		_, err = os.Stat(name)
		if err != nil || !filepath.IsAbs(name) {
			return nil, fmt.Errorf("commands should read %q; it must be the absolute path of what exists", name)
		}
	}
	err = checkEnv(s.RunEnv)
	if err != nil {
		return nil, err
	}
	s.State, err = makeOutside(s.State, folder, "state")
	if err != nil {
		return nil, err
	}
	s.Cache, err = makeOutside(s.Cache, folder, "caches")
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("workspace %q cannot be opened; it must be an existing folder: %w", s.Workspace, err)
	}
	checkpoints, err := openJournal(s.State)
	if err != nil {
		root.Close()
		return nil, err
	}
	b := &Box{
		settings:    s,
		root:        root,
		folder:      folder,
		names:       []string{folder, given},
		checkpoints: checkpoints,
		shown:       map[message.Call]state{},
		swept:       make(chan struct{}),
	}
	b.confined, b.why = confinement()
	removeLeftovers(s.State)
	ctx, cancel := context.WithCancel(context.Background())
	b.stopSweep = cancel
	go b.sweep(ctx)
	return b, nil
}

// makeOutside makes a folder and returns its path without links. It must lie outside of the workspace.
func makeOutside(folder, workspace, what string) (string, error) {
	err := os.MkdirAll(folder, 0o700)
	if err != nil {
		return "", fmt.Errorf("the folder %q for %s cannot be made: %w", folder, what, err)
	}
	folder, err = filepath.Abs(folder)
	if err != nil {
		return "", fmt.Errorf("the folder %q for %s: %w", folder, what, err)
	}
	folder, err = filepath.EvalSymlinks(folder)
	if err != nil {
		return "", fmt.Errorf("the folder %q for %s: %w", folder, what, err)
	}
	if within(folder, workspace) {
		return "", fmt.Errorf("the folder %q for %s lies in the workspace %q; it must be outside, "+
			"or the workspace a smaller folder", folder, what, workspace)
	}
	return folder, nil
}

// within reports whether a path is the folder or lies below it.
func within(path, folder string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}

// Close waits for what is being written, and closes the workspace.
func (b *Box) Close() error {
	b.stopSweep()
	<-b.swept
	b.writing.Lock()
	defer b.writing.Unlock()
	return errors.Join(b.root.Close(), b.checkpoints.close())
}

// Confined reports whether the kernel confines commands as the package says, and else why not, in a sentence.
// Where it confines them in part only, it still does that.
func (b *Box) Confined() (bool, string) { return b.confined, b.why }

// Tools returns the descriptions of all tools.
func (b *Box) Tools() []message.Tool {
	list := make([]message.Tool, 0, len(table))
	for _, t := range table {
		list = append(list, t.describe())
	}
	return list
}

// Preview returns what a person sees before a call is approved. It fails when the call's arguments are wrong. When a
// call to write was shown, Run refuses it if the file has changed in between.
func (b *Box) Preview(call message.Call) (message.Preview, error) {
	t, args, err := parse(call)
	if err != nil {
		return message.Preview{}, err
	}
	return t.preview(b, call, args)
}

// Run does a call. When ctx is canceled, a command and all that it started are killed at once. When soft is closed, a
// person has interrupted: a command gets SIGINT and may end by itself, other tools just finish. The grace after soft is
// the caller's: it cancels ctx when the grace is over.
func (b *Box) Run(ctx context.Context, soft <-chan struct{}, call message.Call) message.Result {
	t, args, err := parse(call)
	if err != nil {
		return failure(err)
	}
	select {
	case <-soft:
		return message.Result{Text: "interrupted before it began", Failed: true, Interrupted: true}
	case <-ctx.Done():
		return message.Result{Text: "interrupted before it began", Failed: true, Interrupted: true}
	default:
	}
	return t.run(b, ctx, soft, call, args)
}

// Shell runs a command of the person's own, as Run runs a model's: in the same workspace, equally confined.
func (b *Box) Shell(ctx context.Context, soft <-chan struct{}, command string) message.Result {
	return b.command(ctx, soft, command)
}

func failure(err error) message.Result { return message.Result{Text: err.Error(), Failed: true} }

// relative makes a path of a call one that the root can open. It is no defence: that is the root's.
func (b *Box) relative(argument, path string) (string, error) {
	if path == "" {
		return "", fmt.Errorf("%s is empty; it must be a path in the workspace, such as %q", argument, "notes.md")
	}
	for _, r := range path {
		if !printable(r) {
			return "", fmt.Errorf("%s is %s, which has the character %U; names with control characters are not "+
				"opened, rename the file first", argument, excerpt(path), r)
		}
	}
	if !filepath.IsAbs(path) {
		return filepath.FromSlash(path), nil
	}
	for _, name := range b.names {
		rel, err := filepath.Rel(name, path)
		if err == nil && filepath.IsLocal(rel) {
			return rel, nil
		}
	}
	return "", outside(argument, path)
}

// printable reports whether a character may stand in a name that is shown: no control characters, and none that change
// the direction of what follows.
func printable(r rune) bool {
	const nonJoiner, joiner = '\u200c', '\u200d'
	if r == nonJoiner || r == joiner {
		return true
	}
	return r != unicode.ReplacementChar && (unicode.IsPrint(r) || unicode.In(r, unicode.Zs, unicode.Co))
}

func outside(argument, path string) error {
	return fmt.Errorf("%s is %s, which leads out of the workspace; name a file below its root, such as %q",
		argument, excerpt(path), "docs/notes.md")
}

// explain makes a sentence of an error that the root returned.
func explain(argument, path string, err error) error {
	var wrapped *fs.PathError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s is %s, which does not exist; list_files shows what is there", argument, excerpt(path))
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s is %s, which the system does not let this user open", argument, excerpt(path))
	case strings.Contains(err.Error(), "escapes from parent"):
		return outside(argument, path)
	case errors.As(err, &wrapped):
		return fmt.Errorf("%s is %s: %w", argument, excerpt(path), wrapped.Err)
	}
	return fmt.Errorf("%s is %s: %w", argument, excerpt(path), err)
}

// gitOwned reports whether a path lies in a folder of git's own.
func gitOwned(path string) bool {
	return slices.ContainsFunc(strings.Split(filepath.ToSlash(path), "/"), func(part string) bool {
		return strings.EqualFold(part, ".git")
	})
}
