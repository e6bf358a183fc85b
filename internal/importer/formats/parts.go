package formats

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/importer/derive"
)

// contentText reads the content of a message: text, or a list of parts.
func contentText(raw json.RawMessage) (string, error) {
	body := strings.TrimSpace(string(raw))
	if body == "" || body == "null" {
		return "", nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text, nil
	}
	var parts []json.RawMessage
	if err := json.Unmarshal(raw, &parts); err != nil {
		return "", errors.New("content must be text or a list of parts")
	}
	var out []string
	for _, part := range parts {
		if text := partText(part); text != "" {
			out = append(out, text)
		}
	}
	return strings.Join(out, "\n"), nil
}

func partText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var part struct {
		Type        string `json:"type"`
		ContentType string `json:"content_type"`
		Text        string `json:"text"`
	}
	if json.Unmarshal(raw, &part) != nil {
		return ""
	}
	kind := part.Type + part.ContentType
	switch {
	case part.Text != "":
		return part.Text
	case strings.Contains(kind, "image"):
		return "(shows an image)"
	case strings.Contains(kind, "audio"):
		return "(plays a recording)"
	case strings.Contains(kind, "file"):
		return "(hands over a file)"
	}
	return ""
}

// oneLine is a name or title, cleaned.
func oneLine(s string) string { return derive.Flat(derive.Clean(s)) }

// scalar is the first value that is a text or a number.
func scalar(values ...json.RawMessage) string {
	for _, raw := range values {
		var text string
		var number json.Number
		switch {
		case len(raw) == 0:
		case json.Unmarshal(raw, &text) == nil:
			text = oneLine(text)
			if text != "" {
				return text
			}
		case json.Unmarshal(raw, &number) == nil && number != "":
			return number.String()
		}
	}
	return ""
}
