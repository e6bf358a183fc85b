package docs_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/testsuite/docs"
	"github.com/seed-56a03226/oneiros/testsuite/program"
)

var used = regexp.MustCompile(`(?m)^  oneiros ?(.*)$`)

// checkCommand compares a command line with the program's help: its command and its flags must exist.
func checkCommand(program, line string) error {
	if strings.HasPrefix(line, "help ") {
		return nil // a command inside a pipe or substitution is run elsewhere
	}
	out, err := exec.Command("sh", "-c", program+" "+line+" --help").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", line, err, out)
	}
	var path []string
	parent := false
	for _, m := range used.FindAllStringSubmatch(string(out), -1) {
		words, at := strings.Fields(m[1]), 0
		for at < len(words) && strings.ToLower(words[at]) == words[at] && words[at][0] != '[' {
			at++
		}
		if path == nil {
			path = words[:at]
		}
		parent = parent || strings.HasSuffix(m[1], "[command]")
	}
	texts := strings.Fields(line)
	for i, word := range path {
		if i >= len(texts) || texts[i] != word {
			return fmt.Errorf("%q is not %q", line, strings.Join(path, " "))
		}
	}
	if len(path) == 0 || parent && len(texts) > len(path) && !strings.HasPrefix(texts[len(path)], "-") {
		return fmt.Errorf("there is no command %q", line)
	}
	return nil
}

// Each format's example must be recognized as that format and be imported in whole.
func TestTheExamplesOfImportsAreImported(t *testing.T) {
	t.Parallel()
	d, err := docs.Read(root, "docs/memory.md")
	require.NoError(t, err)
	formats := map[string]bool{}
	for _, b := range d.Blocks {
		switch b.Language {
		case "", "sh", "console", "mermaid":
			continue // no example of a format
		}
		dir := t.TempDir()
		run := func(args ...string) string {
			cmd := exec.Command(program.Oneiros(t), append(args, "--data-dir", dir)...)
			cmd.Env = []string{"HOME=" + dir}
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "docs/memory.md:%d: %s", b.Line, out)
			return string(out)
		}
		file := filepath.Join(dir, "example."+b.Language)
		require.NoError(t, os.WriteFile(file, []byte(strings.Join(b.Lines, "\n")+"\n"), 0o600))
		run("agents", "add", "reader", "--persona", "reads")
		found := run("memory", "import", "--strict", "--no-vectors", file)
		require.NotContains(t, found, "remembers 0 new", "docs/memory.md:%d", b.Line)
		again := run("memory", "import", "--strict", "--no-vectors", "--format", b.Under, file)
		require.Contains(t, again, "remembers 0 new", "docs/memory.md:%d is found to be %s", b.Line, b.Under)
		formats[b.Under] = true
	}
	require.Len(t, formats, 5, "%v", formats)
}
