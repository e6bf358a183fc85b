package prompt

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// WakeAnswer is what an agent makes of a call: a post, or silence. No word in a response stands for silence.
type WakeAnswer struct {
	Silent   bool
	Response string // never empty unless silent
	Emotion  string // how waking feels; may be empty
}

const (
	longestResponse = 16_000 // characters; about ten pages
	longestEmotion  = 40     // characters
)

// UnmarshalJSON reads the answer to Wake. The error names the wrong field and what would be right, as a model can be
// shown it. What a silent agent wrote as its response is dropped.
func (a *WakeAnswer) UnmarshalJSON(body []byte) error {
	var wire struct {
		Respond  *bool  `json:"should_respond"`
		Response string `json:"response"`
		Emotion  string `json:"emotion"`
	}
	err := json.Unmarshal(body, &wire)
	if err != nil {
		return fmt.Errorf("wake answer: %w", err)
	}
	if wire.Respond == nil {
		return errors.New("should_respond is missing; it must be true or false")
	}
	emotion := strings.Join(strings.Fields(printable(wire.Emotion)), " ")
	if runes := []rune(emotion); len(runes) > longestEmotion {
		emotion = string(runes[:longestEmotion-1]) + "…"
	}
	if !*wire.Respond {
		*a = WakeAnswer{Silent: true, Emotion: emotion}
		return nil
	}
	response := strings.TrimSpace(printable(wire.Response))
	if response == "" {
		return errors.New("response is empty though should_respond is true; write it, or set should_respond to false")
	}
	if n := utf8.RuneCountInString(response); n > longestResponse {
		return fmt.Errorf("response has %d characters; it must have at most %d", n, longestResponse)
	}
	*a = WakeAnswer{Response: response, Emotion: emotion}
	return nil
}

// printable drops control characters but line feeds and tabs.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, text)
}
