//go:build linux

package tools

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/hermes/message"
)

// full reports whether the long proofs run in full.
var full = os.Getenv("PROVE") == "full"

func TestMain(m *testing.M) {
	if Confine(os.Args) {
		return
	}
	if task := os.Getenv(helperTask); task != "" {
		os.Exit(help(task))
	}
	os.Exit(m.Run())
}

// place is a workspace for a test, and what lies outside of it.
type place struct {
	*Box
	workspace, state, outside string
}

func newPlace(t *testing.T, change ...func(*Settings)) place {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	p := place{
		workspace: filepath.Join(top, "workspace"),
		state:     filepath.Join(top, "state"),
		outside:   filepath.Join(top, "outside"),
	}
	require.NoError(t, os.MkdirAll(p.workspace, 0o755))
	require.NoError(t, os.MkdirAll(p.outside, 0o755))
	p.Box = p.open(t, change...)
	return p
}

func (p place) open(t *testing.T, change ...func(*Settings)) *Box {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	s := Settings{Workspace: p.workspace, State: p.state, Self: self}
	for _, c := range change {
		c(&s)
	}
	b, err := Open(s)
	require.NoError(t, err)
	t.Cleanup(func() { b.Close() })
	return b
}

func call(t *testing.T, name string, args map[string]any) message.Call {
	t.Helper()
	text, err := json.Marshal(args)
	require.NoError(t, err)
	return message.Call{ID: "1", Name: name, Arguments: string(text)}
}

func (p place) do(t *testing.T, name string, args map[string]any) message.Result {
	t.Helper()
	return p.Run(context.Background(), nil, call(t, name, args))
}

func (p place) sh(t *testing.T, command string) message.Result {
	t.Helper()
	return p.do(t, "run", map[string]any{"command": command})
}

func (p place) file(t *testing.T, name, text string) {
	t.Helper()
	name = filepath.Join(p.workspace, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
}

func (p place) text(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(p.workspace, name))
	require.NoError(t, err)
	return string(text)
}

func TestAFileIsWrittenEditedReadAndPutBack(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	begun, err := p.Checkpoint("first")
	require.NoError(t, err)
	r := p.do(t, "write_file", map[string]any{"path": "a/notes.md", "content": "one\ntwo\n"})
	require.False(t, r.Failed, r.Text)
	require.Equal(t, []string{"a/notes.md"}, r.Changed)
	second, err := p.Checkpoint("second")
	require.NoError(t, err)
	r = p.do(t, "edit_file", map[string]any{"path": "a/notes.md", "old": "two", "new": "2"})
	require.False(t, r.Failed, r.Text)
	require.Equal(t, "one\n2\n", p.do(t, "read_file", map[string]any{"path": "a/notes.md"}).Text)

	names, err := p.Restore(second.ID)
	require.NoError(t, err)
	require.Equal(t, []string{"a/notes.md"}, names)
	require.Equal(t, "one\ntwo\n", p.text(t, "a/notes.md"))
	names, err = p.Restore(begun.ID)
	require.NoError(t, err)
	require.Equal(t, []string{"a/notes.md"}, names)
	require.NoFileExists(t, filepath.Join(p.workspace, "a/notes.md"))
}

func TestACommandRunsInTheWorkspace(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	r := p.sh(t, "pwd; echo text >made; cat made; echo wrong >&2; exit 3")
	require.True(t, r.Failed)
	require.Equal(t, p.workspace+"\ntext\nwrong\n[exit status 3]", r.Text)
	require.Equal(t, "text\n", p.text(t, "made"))
}

// confinedOrSkip skips a test of commands where the kernel does not confine them.
func (p place) confinedOrSkip(t *testing.T) {
	t.Helper()
	confined, why := p.Confined()
	if !confined {
		t.Skip(why)
	}
}

func (p place) try(t *testing.T, a attempt) message.Result {
	t.Helper()
	if a.tool == "" {
		return p.sh(t, p.fill(a.command))
	}
	args := map[string]any{}
	for name, value := range a.args {
		if text, ok := value.(string); ok {
			value = p.fill(text)
		}
		args[name] = value
	}
	return p.do(t, a.tool, args)
}
