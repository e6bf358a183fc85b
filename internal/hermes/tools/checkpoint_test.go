//go:build linux

package tools

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func (p place) mustWrite(t *testing.T, name, text string) {
	t.Helper()
	r := p.do(t, "write_file", values{"path": name, "content": text})
	require.False(t, r.Failed, r.Text)
}

func (p place) checkpoint(t *testing.T, label string) int {
	t.Helper()
	c, err := p.Checkpoint(label)
	require.NoError(t, err)
	require.Equal(t, label, c.Label)
	require.False(t, c.At.IsZero())
	return c.ID
}

func TestCheckpointsSurviveARestart(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.file(t, "old.md", "1\n")
	first := p.checkpoint(t, "first")
	p.mustWrite(t, "old.md", "2\n")
	p.mustWrite(t, "new.md", "2\n")
	p.mustWrite(t, "new.md", "3\n")
	second := p.checkpoint(t, "second")
	p.mustWrite(t, "old.md", "3\n")
	before := p.Checkpoints()
	require.Len(t, before, 2)
	require.Equal(t, []string{"old.md", "new.md"}, before[0].Files)
	require.Equal(t, []string{"old.md"}, before[1].Files)
	require.NoError(t, p.Close())

	p.Box = p.open(t)
	require.Equal(t, before, p.Checkpoints())
	names, err := p.Restore(second)
	require.NoError(t, err)
	require.Equal(t, []string{"old.md"}, names)
	require.Equal(t, "2\n", p.text(t, "old.md"))
	names, err = p.Restore(first)
	require.NoError(t, err)
	require.Equal(t, []string{"old.md", "new.md"}, names)
	require.Equal(t, "1\n", p.text(t, "old.md"))
	require.NoFileExists(t, filepath.Join(p.workspace, "new.md"))

	// What was put back can be put forward again.
	list := p.Checkpoints()
	require.Equal(t, "before checkpoint 1 was put back", list[3].Label)
	names, err = p.Restore(list[2].ID)
	require.NoError(t, err)
	require.Equal(t, []string{"old.md", "new.md"}, names)
	require.Equal(t, "3\n", p.text(t, "old.md"))
	require.Equal(t, "3\n", p.text(t, "new.md"))
	_, err = p.Restore(99)
	require.EqualError(t, err, "there is no checkpoint 99; the newest is 5")
}

func TestAStateIsUsedByOneProcess(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	_, err := Open(p.settings)
	require.ErrorContains(t, err, "is used by another process")
	require.ErrorContains(t, err, p.state)
	require.NoError(t, p.Close())
	p.open(t)
}

func TestWhatOthersChangedIsLeftAndNamed(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, name := range []string{"ours", "after", "between", "gone", "special"} {
		p.file(t, name, "1\n")
	}
	id := p.checkpoint(t, "begun")
	for _, name := range []string{"ours", "after", "between", "gone", "special", "new"} {
		p.mustWrite(t, name, "2\n")
	}
	p.file(t, "after", "by a person\n")
	p.file(t, "between", "by a person\n")
	p.mustWrite(t, "between", "3\n")
	p.file(t, "new", "by a person\n")
	require.NoError(t, os.Remove(filepath.Join(p.workspace, "gone")))
	require.NoError(t, os.Remove(filepath.Join(p.workspace, "special")))
	require.NoError(t, os.Mkdir(filepath.Join(p.workspace, "special"), 0o755))
	names, err := p.Restore(id)
	require.Equal(t, []string{"ours"}, names)
	for _, name := range []string{"after", "between", "gone", "new"} {
		require.ErrorContains(t, err, name+" was not put back: something else than these tools has changed it since")
	}
	require.ErrorContains(t, err, "special was not put back: it is a folder")
	require.Equal(t, "1\n", p.text(t, "ours"))
	require.Equal(t, "by a person\n", p.text(t, "after"))
	require.Equal(t, "3\n", p.text(t, "between"))
	require.Equal(t, "by a person\n", p.text(t, "new"))
}

func TestAFileThatIsTooLargeIsNotPutBack(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.file(t, "large", strings.Repeat("x", maxKept+1))
	id := p.checkpoint(t, "begun")
	p.mustWrite(t, "large", "small\n")
	_, err := p.Restore(id)
	require.EqualError(t, err, "large was not put back: it had 8388609 bytes, too many to be kept")
	require.Equal(t, "small\n", p.text(t, "large"))
}

func TestADamagedJournalIsNamed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{}\n":                       "line 1 is damaged (checkpoint 0 after 0)",
		"x\n":                        "line 1 is damaged (invalid character",
		`{"checkpoint":1}` + "\nx\n": "line 2 is damaged",
		`{"checkpoint":2}` + "\n" + `{"checkpoint":1}` + "\n":            "line 2 is damaged (checkpoint 1 after 2)",
		`{"checkpoint":2}` + "\n" + `{"checkpoint":3,"path":"a"}` + "\n": "line 2 is damaged (checkpoint 3 after 2)",
	} {
		p := bare(t)
		require.NoError(t, os.MkdirAll(p.state, 0o755))
		name := filepath.Join(p.state, journalFile)
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
		self, err := os.Executable()
		require.NoError(t, err)
		_, err = Open(Settings{Workspace: p.workspace, State: p.state, Self: self})
		require.ErrorContains(t, err, name)
		require.ErrorContains(t, err, want)
	}
	// A line without an end is one that was not finished: its write has not begun.
	p := bare(t)
	require.NoError(t, os.MkdirAll(p.state, 0o755))
	text := `{"checkpoint":1,"label":"a"}` + "\n" + `{"checkpoint":1,"pa`
	require.NoError(t, os.WriteFile(filepath.Join(p.state, journalFile), []byte(text), 0o644))
	p.Box = p.open(t)
	require.Len(t, p.Checkpoints(), 1)
	p.mustWrite(t, "a", "x")
	require.NoError(t, p.Close())
	require.Equal(t, []string{"a"}, p.open(t).Checkpoints()[0].Files)
}

func TestKeptTextThatIsDamagedIsNotPutBack(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.file(t, "a", "1\n")
	id := p.checkpoint(t, "begun")
	p.mustWrite(t, "a", "2\n")
	list, err := filepath.Glob(filepath.Join(p.state, keptFolder, "*"))
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.NoError(t, os.WriteFile(list[0], []byte("x"), 0o600))
	_, err = p.Restore(id)
	require.EqualError(t, err, "a was not put back: what was kept of it is damaged")
	require.Equal(t, "2\n", p.text(t, "a"))
}

func TestOldCheckpointsAreDropped(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for i := range maxCheckpoints + 3 {
		p.checkpoint(t, "turn")
		if i == 0 || i == maxCheckpoints {
			p.mustWrite(t, "a", strconv.Itoa(i))
		}
	}
	list := p.Checkpoints()
	require.Len(t, list, maxCheckpoints)
	require.Equal(t, 4, list[0].ID)
	p.mustWrite(t, "a", "last")
	require.NoError(t, p.Close())
	p.Box = p.open(t)
	require.Equal(t, list[0].ID, p.Checkpoints()[0].ID)
	_, err := p.Restore(4)
	require.NoError(t, err)
	require.Equal(t, "0", p.text(t, "a"))
}

// Whatever is written, put back, and opened anew in between: a checkpoint that is put back gives the files that were.
func TestACheckpointGivesTheFilesThatWere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		p := newPlace(t)
		now := files{}
		then := map[int]files{}
		for range rapid.IntRange(1, 12).Draw(r, "steps") {
			switch rapid.IntRange(0, 4).Draw(r, "step") {
			case 0:
				id := p.checkpoint(t, "turn")
				then[id] = copied(now)
			case 1:
				if len(then) == 0 {
					continue
				}
				id := rapid.SampledFrom(keys(then)).Draw(r, "id")
				_, err := p.Restore(id)
				require.NoError(r, err)
				list := p.Checkpoints()
				then[list[len(list)-1].ID] = copied(now)
				now = copied(then[id])
			case 2:
				require.NoError(r, p.Close())
				p.Box = p.open(t)
			default:
				name := rapid.SampledFrom([]string{"a", "b", "c/d"}).Draw(r, "name")
				text := rapid.SampledFrom([]string{"", "1", "2", "3"}).Draw(r, "text")
				if len(then) == 0 {
					then[p.checkpoint(t, "turn")] = copied(now)
				}
				p.mustWrite(t, name, text)
				now[name] = text
			}
			require.Equal(r, now, p.found(t))
		}
		require.NoError(r, p.Close())
	})
}

func copied(f files) files {
	c := files{}
	for name, text := range f {
		c[name] = text
	}
	return c
}

func keys(m map[int]files) []int {
	var list []int
	for id := range 100 {
		if _, ok := m[id]; ok {
			list = append(list, id)
		}
	}
	return list
}

func (p place) found(t *testing.T) files {
	t.Helper()
	f := files{}
	for _, name := range p.Files(100) {
		f[name] = p.text(t, name)
	}
	return f
}
