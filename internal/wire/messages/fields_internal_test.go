package messages

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/stretchr/testify/require"
)

// described is the part of docs/serving.md on this wire.
func described(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../../docs/serving.md")
	require.NoError(t, err)
	_, part, found := strings.Cut(string(page), "\n## The Messages API\n")
	require.True(t, found)
	part, _, _ = strings.Cut(part, "\n## ")
	return part
}

// names reports whether a page names a field, alone or with a value or a member of it.
func names(page, field string) bool {
	for _, after := range []string{"`", ":", ".", "["} {
		if strings.Contains(page, "`"+field+after) {
			return true
		}
	}
	return false
}

// TestEveryFieldOfAnthropicsLibraryIsDecidedAndDescribed turns red when a newer version of the library has a field that
// docs/serving.md does not name: what is not known is refused by its name.
func TestEveryFieldOfAnthropicsLibraryIsDecidedAndDescribed(t *testing.T) {
	t.Parallel()
	page, count := described(t), 0
	for _, params := range []reflect.Type{
		reflect.TypeFor[anthropic.MessageNewParams](), reflect.TypeFor[anthropic.BetaMessageNewParams](),
	} {
		for field := range params.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name == "" || name == "-" {
				continue
			}
			count++
			require.True(t, names(page, name), "docs/serving.md does not say what becomes of %s", name)
			_, err := Read([]byte(`{"` + name + `":{"zz":1}}`))
			if !slices.Contains(fields, name) {
				require.ErrorContains(t, err, name)
			}
		}
	}
	for _, name := range fields {
		require.True(t, names(page, name), "docs/serving.md does not say what becomes of %s", name)
	}
	require.Greater(t, count, 30, "the control: fields are found")
	require.False(t, names(page, "no_such_field"), "the control")
}
