package plugin

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-56a03226/oneiros/internal/hermes/message"
)

// Of a longer result the beginning and the end are kept, in bytes.
const (
	mostHead = 40 << 10
	mostTail = 24 << 10
)

func failure(format string, args ...any) message.Result {
	return message.Result{Text: fmt.Sprintf(format, args...), Failed: true}
}

// nameOf is the name by which a model calls a tool: "server__tool", in the characters and the length that models
// accept. A name that had to be changed ends in a part of its digest, so that no two become the same.
func nameOf(server, tool string) string {
	plain := strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '-') {
			return r
		}
		return '_'
	}, tool)
	name := server + "__" + plain
	if plain == tool && len(name) <= longestName && tool != "" {
		return name
	}
	sum := sha256.Sum256([]byte(tool))
	return name[:min(len(name), longestName-9)] + "_" + hex.EncodeToString(sum[:4])
}

// schemaOf is the schema of a tool's arguments. One that a model's provider would refuse is an error, because it would
// refuse every request with it.
func schemaOf(t *mcp.Tool) (json.RawMessage, error) {
	if t.InputSchema == nil {
		return json.RawMessage(`{"type":"object","properties":{}}`), nil
	}
	text, err := json.Marshal(t.InputSchema)
	if err != nil {
		return nil, err
	}
	if len(text) > longestSchema {
		return nil, fmt.Errorf("its schema has %d bytes; it may have %d", len(text), longestSchema)
	}
	var s jsonschema.Schema
	if text[0] != '{' {
		return nil, fmt.Errorf("its schema is %s; it must be an object", clip(string(text), 80))
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("its schema is wrong: %w", err)
	}
	if s.Type != "object" {
		return nil, fmt.Errorf("its schema has the type %q; it must be object", s.Type)
	}
	if _, err := s.Resolve(nil); err != nil {
		return nil, fmt.Errorf("its schema is wrong: %w", err)
	}
	if err := typesOf(&s); err != nil {
		return nil, err
	}
	return text, nil
}

// typesOf refuses a type that JSON does not have.
func typesOf(s *jsonschema.Schema) error {
	for name, p := range s.Properties {
		if p == nil {
			continue
		}
		switch p.Type {
		case "", "object", "array", "string", "number", "integer", "boolean", "null":
		default:
			return fmt.Errorf("its argument %q has the type %q, which JSON does not have", clip(name, 40), p.Type)
		}
		if err := typesOf(p); err != nil {
			return err
		}
	}
	if s.Items != nil {
		return typesOf(&jsonschema.Schema{Properties: map[string]*jsonschema.Schema{"items": s.Items}})
	}
	return nil
}

// resultOf is the answer of a server as a model gets it: its text, and words for what is no text.
func resultOf(r *mcp.CallToolResult) message.Result {
	var parts []string
	for _, c := range r.Content {
		parts = append(parts, textOf(c))
	}
	if len(parts) == 0 && r.StructuredContent != nil {
		if text, err := json.Marshal(r.StructuredContent); err == nil {
			parts = append(parts, string(text))
		}
	}
	text := bounded(strings.ToValidUTF8(strings.Join(parts, "\n"), "\ufffd"))
	if text == "" {
		text = "(nothing)"
	}
	return message.Result{Text: text, Failed: r.IsError}
}

func textOf(c mcp.Content) string {
	switch c := c.(type) {
	case *mcp.TextContent:
		return c.Text
	case *mcp.ImageContent:
		return fmt.Sprintf("[a picture, %s, %d bytes, is not shown]", plainText(c.MIMEType), len(c.Data))
	case *mcp.AudioContent:
		return fmt.Sprintf("[a sound, %s, %d bytes, is not played]", plainText(c.MIMEType), len(c.Data))
	case *mcp.ResourceLink:
		return fmt.Sprintf("[a link to %s]", plainText(c.URI))
	case *mcp.EmbeddedResource:
		if c.Resource == nil {
			return "[a document without content]"
		}
		if c.Resource.Text != "" {
			return fmt.Sprintf("[the document %s]\n%s", plainText(c.Resource.URI), c.Resource.Text)
		}
		return fmt.Sprintf("[the document %s, %s, %d bytes, is not shown]", plainText(c.Resource.URI),
			plainText(c.Resource.MIMEType), len(c.Resource.Blob))
	}
	return "[content of a kind that is not known]"
}

// bounded keeps the beginning and the end of a long text.
func bounded(text string) string {
	if len(text) <= mostHead+mostTail {
		return text
	}
	head := strings.ToValidUTF8(text[:mostHead], "")
	tail := strings.ToValidUTF8(text[len(text)-mostTail:], "")
	return fmt.Sprintf("%s\n[%d bytes are left out here]\n%s", head, len(text)-len(head)-len(tail), tail)
}

// clip cuts a text to so many bytes.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// plainText has no characters that move the cursor or colour a terminal.
func plainText(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
}

var errEnded = errors.New("it ended")
