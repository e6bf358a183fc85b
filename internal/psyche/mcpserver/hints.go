package mcpserver

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// reads are the annotations of a tool that changes nothing.
func reads() *mcp.ToolAnnotations {
	return &mcp.ToolAnnotations{
		ReadOnlyHint:    true,
		IdempotentHint:  true,
		DestructiveHint: at(false),
		OpenWorldHint:   at(false),
	}
}

// changes are the annotations of a tool that adds or changes something and destroys nothing. An open one reaches a
// model provider.
func changes(idempotent, open bool) *mcp.ToolAnnotations {
	return &mcp.ToolAnnotations{IdempotentHint: idempotent, DestructiveHint: at(false), OpenWorldHint: &open}
}

// ends are the annotations of a tool that ends or erases something. Repeating it has no further effect.
func ends() *mcp.ToolAnnotations {
	return &mcp.ToolAnnotations{IdempotentHint: true, DestructiveHint: at(true), OpenWorldHint: at(false)}
}

func at[T any](v T) *T { return &v }

// setBounds bounds a number.
func setBounds(s *jsonschema.Schema, least, most float64) { s.Minimum, s.Maximum = &least, &most }

// setDefault states what an argument is when it is left out.
func setDefault(s *jsonschema.Schema, v any) {
	s.Default, _ = json.Marshal(v) // a number or true
}

// setPage bounds the size of a page.
func setPage(in *jsonschema.Schema) {
	setBounds(in.Properties["limit"], 1, psyche.LargestPage)
	setDefault(in.Properties["limit"], psyche.UsualPage)
}

// notEmpty requires texts of at least one character.
func notEmpty(in *jsonschema.Schema, names ...string) {
	for _, name := range names {
		in.Properties[name].MinLength = at(1)
	}
}

// enumOf are words as a schema enumerates them.
func enumOf[S ~string](words []S) []any {
	all := make([]any, len(words))
	for i, word := range words {
		all[i] = string(word)
	}
	return all
}

// stamp is a time of RFC 3339; empty for none.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// readTime reads the argument of a name; the zero time when it is left out.
func readTime(name, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, psyche.Refuse(http.StatusBadRequest, "invalid_value", name,
			"%s is %q; it must be a time of RFC 3339, such as 2026-11-20T06:00:00Z", name, text)
	}
	return t.UTC(), nil
}

// listText writes each of a list on a line; none says that it is empty.
func listText[T any](all []T, none string, sentence func(T) string) string {
	if len(all) == 0 {
		return none
	}
	text := make([]string, len(all))
	for i, each := range all {
		text[i] = sentence(each)
	}
	return strings.Join(text, "\n")
}

// listOf converts a list; the result is never nil, which JSON would write as null.
func listOf[T, U any](all []T, convert func(T) U) []U {
	out := make([]U, len(all))
	for i, each := range all {
		out[i] = convert(each)
	}
	return out
}
