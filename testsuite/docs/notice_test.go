package docs_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// NOTICE names every module that the programs link, with its licence, and no other.
func TestNoticeNamesEveryLinkedModule(t *testing.T) {
	t.Parallel()
	notice, err := os.ReadFile(filepath.Join(root, "NOTICE"))
	require.NoError(t, err)
	text := string(notice)
	programs := []struct {
		title, folder, program string
	}{
		{title: "bin/oneiros and bin/oneiros-llama", folder: root, program: "./cmd/oneiros"},
		{title: "bin/temporald", folder: filepath.Join(root, "cmd/temporald"), program: "."},
	}
	for _, p := range programs {
		require.Equal(t, linked(t, p.folder, p.program), noticed(t, text, p.title), "NOTICE: modules linked into %s",
			p.title)
	}
}

// linked lists the modules of a program, sorted, its own left out.
func linked(t *testing.T, folder, program string) []string {
	t.Helper()
	modules := map[string]bool{}
	for _, tags := range []string{"", "llama"} {
		format := "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}"
		list := exec.CommandContext(t.Context(), "go", "list", "-tags="+tags, "-deps", "-f", format, program)
		list.Dir = folder
		list.Stderr = os.Stderr
		out, err := list.Output()
		require.NoError(t, err)
		for path := range strings.FieldsSeq(string(out)) {
			modules[path] = true
		}
	}
	return slices.Sorted(maps.Keys(modules))
}

// noticed lists the modules under a title of NOTICE. Each line holds a module and its licence.
func noticed(t *testing.T, notice, title string) []string {
	t.Helper()
	_, rest, found := strings.Cut(notice, "Go modules linked into "+title)
	require.True(t, found, "NOTICE has no part for %s", title)
	_, rest, _ = strings.Cut(rest, "\n")
	part, _, _ := strings.Cut(rest, "\n\n")
	modules := map[string]bool{}
	for line := range strings.Lines(part) {
		fields := strings.Fields(line)
		require.GreaterOrEqual(t, len(fields), 2, "NOTICE: %q names no licence", line)
		modules[fields[0]] = true
	}
	return slices.Sorted(maps.Keys(modules))
}
