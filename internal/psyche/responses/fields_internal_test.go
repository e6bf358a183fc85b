package responses

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	sdk "github.com/openai/openai-go/v3/responses"
	"github.com/stretchr/testify/require"
)

// described is the part of docs/serving.md on this wire.
func described(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../../docs/serving.md")
	require.NoError(t, err)
	_, part, found := strings.Cut(string(page), "\n## The Responses API\n")
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

// TestEveryFieldOfOpenAIsLibraryIsDecidedAndDescribed turns red when a newer version of the library has a field that
// would be passed on without a decision, or that docs/serving.md does not name.
func TestEveryFieldOfOpenAIsLibraryIsDecidedAndDescribed(t *testing.T) {
	t.Parallel()
	page, count := described(t), 0
	for field := range reflect.TypeFor[sdk.ResponseNewParams]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		count++
		require.True(t, same[name] || own[name], "it is not decided what becomes of %s", name)
		require.True(t, names(page, name), "docs/serving.md does not say what becomes of %s", name)
	}
	require.Greater(t, count, 20, "the control: fields are found")
	require.False(t, names(page, "no_such_field"), "the control")
}

// TestEveryToolOfOpenAIsLibraryIsServedOrLeftOut turns red when a newer version of the library has a type of tools that
// is neither served nor known to be built in: a request that offers it would be refused beside the client's own tools.
func TestEveryToolOfOpenAIsLibraryIsServedOrLeftOut(t *testing.T) {
	t.Parallel()
	// types whose names the library's own types do not tell
	several := map[string][]string{
		"OfWebSearch":        {"web_search", "web_search_2025_08_26"},
		"OfWebSearchPreview": {"web_search_preview", "web_search_preview_2025_03_11"},
	}
	for field := range reflect.TypeFor[sdk.ToolUnionParam]().Fields() {
		if !strings.HasPrefix(field.Name, "Of") {
			continue
		}
		types := several[field.Name]
		if types == nil {
			kind, found := field.Type.Elem().FieldByName("Type")
			require.True(t, found, field.Name)
			require.NotEmpty(t, kind.Tag.Get("default"), field.Name)
			types = []string{kind.Tag.Get("default")}
		}
		for _, kind := range types {
			tool := map[string]any{"type": kind, "name": "g", "description": "Tools."}
			if kind == "namespace" {
				tool["tools"] = []any{map[string]any{"type": "function", "name": "h"}}
			}
			body, err := json.Marshal(map[string]any{
				"model": "iris", "input": "x", "tools": []any{map[string]any{"type": "function", "name": "f"}, tool},
			})
			require.NoError(t, err)
			q, err := Read(body)
			require.NoError(t, err, kind)
			served := kind == "function" || kind == "custom" || kind == "namespace"
			require.Equal(t, served, len(q.LeftOut) == 0, kind)
		}
	}
}
