package policy

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var example = regexp.MustCompile(`: "(.*)"$`)

func TestEachListSaysWhatItRecognisesWithAnExampleThatItRecognises(t *testing.T) {
	t.Parallel()
	for name, s := range sections {
		quoted := example.FindStringSubmatch(s.Purpose)
		require.NotNil(t, quoted, "%s: %q must end with an example in quotation marks", name, s.Purpose)
		in := tokens(quoted[1])
		found := slices.ContainsFunc(in, func(t token) bool { return s.Set()[t.text] }) ||
			(&reading{in: in}).sentence(span{0, len(in)}).has(lexicon(s.Words))
		require.True(t, found, "%s does not recognise %q", name, quoted[1])
	}
}

func TestEveryListIsUsedAndEveryListThatIsUsedExists(t *testing.T) {
	t.Parallel()
	code, err := os.ReadFile("lists.go")
	require.NoError(t, err)
	more, err := os.ReadFile("words.go")
	require.NoError(t, err)
	var used []string
	for _, m := range regexp.MustCompile(`(?:list|table|sections)[(\[]"(\w+)"`).FindAllStringSubmatch(string(code)+string(more), -1) {
		used = append(used, m[1])
	}
	slices.Sort(used)
	require.Equal(t, slices.Sorted(maps.Keys(sections)), used)
	for line := range strings.Lines(wordsText) {
		require.LessOrEqual(t, len([]rune(line)), 121, line)
	}
}
