package docs_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var citation = regexp.MustCompile(`(?i)\bdecision (\d+)\b`)

// A decision that a comment or a page cites by its number has its page in docs/decisions.
func TestCitedDecisionsExist(t *testing.T) {
	t.Parallel()
	list, err := exec.CommandContext(t.Context(), "git", "-C", root, "ls-files", "*.go", "*.md").Output()
	require.NoError(t, err)
	cited := 0
	for name := range strings.FieldsSeq(string(list)) {
		text, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) { // removed and not yet committed
			continue
		}
		require.NoError(t, err)
		for _, match := range citation.FindAllStringSubmatch(string(text), -1) {
			number, err := strconv.Atoi(match[1])
			require.NoError(t, err)
			pages, err := filepath.Glob(filepath.Join(root, "docs/decisions", fmt.Sprintf("%04d-*.md", number)))
			require.NoError(t, err)
			require.NotEmpty(t, pages, "%s cites decision %d", name, number)
			cited++
		}
	}
	require.Greater(t, cited, 10, "citations were found")
}
