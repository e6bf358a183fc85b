package utterance

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryListIsUsedAndEveryListThatIsUsedExists(t *testing.T) {
	t.Parallel()
	code, err := os.ReadFile("words.go")
	require.NoError(t, err)
	var used []string
	for _, m := range regexp.MustCompile(`(?:list|table)\("(\w+)"\)`).FindAllStringSubmatch(string(code), -1) {
		used = append(used, m[1])
	}
	slices.Sort(used)
	require.Equal(t, slices.Sorted(maps.Keys(sections)), used)
	for name, list := range sections {
		require.Regexp(t, `: ".+"$`, list.Purpose, "%s must say what it recognises, with an example", name)
		require.NotEmpty(t, list.Words)
	}
}
