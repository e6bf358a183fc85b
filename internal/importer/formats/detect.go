package formats

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Detect finds the format by a file's name and its first bytes (64 KiB are enough). The bytes decide; the name only
// decides about plain text.
func Detect(name string, head []byte) (Format, error) {
	head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	ext := strings.ToLower(filepath.Ext(name))
	if ext == ".jsonl" || ext == ".ndjson" {
		for line := range bytes.Lines(head) { // a broken first line does not hide the format
			if f := detectJSON(bytes.TrimSpace(line)); f != "" {
				return f, nil
			}
		}
		return JSONL, nil
	}
	prose := ext == ".md" || ext == ".markdown" || ext == ".txt" || ext == ".text"
	if len(head) > 0 && (head[0] == '{' || head[0] == '[') {
		if f := detectJSON(head); f != "" {
			return f, nil
		}
		if !prose {
			return "",
				fmt.Errorf(
					"%s looks like JSON but like no format that is known (%s); with --format it is read as what you name",
					name, Names())
		}
	}
	if prose {
		return Diary, nil
	}
	for line := range bytes.Lines(head) {
		text, dressed := stripMarkup(string(line))
		if found, ok := dateLine(text, dressed || ext == "", true); ok && found.full {
			return Diary, nil
		}
	}
	return "",
		fmt.Errorf(
			"%s is of no format that is known (%s); a diary has dates on lines of their own, such as ## 2026-03-05, "+
				"and with --format diary a text without any is read as one too", name, Names())
}

// detectJSON looks at the keys of the first object.
func detectJSON(head []byte) Format {
	if len(head) == 0 {
		return ""
	}
	dec := json.NewDecoder(bytes.NewReader(head))
	keys, err := firstKeys(dec)
	if err != nil && len(keys) == 0 {
		return ""
	}
	has := func(names ...string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return keys[n] })
	}
	array := head[0] == '['
	switch {
	case has("mapping", "current_node"):
		return ChatGPT
	case has("conversation", "qa", "event_summary", "session_1") && !has("role", "messages"):
		return LoCoMo
	case array && has("title", "create_time"):
		return ChatGPT
	case array && has("sample_id"):
		return LoCoMo
	case array:
		return ""
	case has("messages", "conversations") || has("role", "from") && has("content", "value", "tool_calls"):
		return Chat
	case has("kind", "content", "at"):
		return JSONL
	}
	return ""
}

// firstKeys are the top-level keys of the first object, as far as the bytes go.
func firstKeys(dec *json.Decoder) (map[string]bool, error) {
	keys := map[string]bool{}
	tok, err := dec.Token()
	if err == nil && tok == json.Delim('[') {
		tok, err = dec.Token()
	}
	if err != nil {
		return keys, err
	}
	if tok != json.Delim('{') {
		return keys, errors.New("no object")
	}
	depth, key := 1, true
	for depth > 0 {
		tok, err := dec.Token()
		if err != nil {
			return keys, err
		}
		switch t := tok.(type) {
		case json.Delim:
			if t == '{' || t == '[' {
				depth++
			} else {
				depth--
			}
			key = depth == 1
			continue
		case string:
			if depth == 1 && key {
				keys[t] = true
				key = false
				continue
			}
		}
		if depth == 1 {
			key = true
		}
	}
	return keys, nil
}
