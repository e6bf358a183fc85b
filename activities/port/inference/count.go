package inference

import (
	"sync"
	"unicode"

	"github.com/tiktoken-go/tokenizer/codec"
)

// What a chat wraps around its messages: roles and separators of one message, and the start of the answer. OpenAI's
// own figures are 3 a message and 3 a conversation; these leave room for a name and a template's preamble.
const (
	perMessage        = 4
	perMessageUnknown = 8
	perPrompt         = 16
)

// Supported tokenizers, by the name a Spec gives them. They make a binary about 9 MB larger. A vocabulary is built at
// its first use: 20 to 40 ms and 3 to 6 MiB of memory, which a process with local models never spends.
var tokenizers = map[string]func() *codec.Codec{
	"o200k_base":  sync.OnceValue(codec.NewO200kBase),
	"cl100k_base": sync.OnceValue(codec.NewCl100kBase),
}

// CountPrompt is an upper bound of the tokens of a prompt, schema included: counted when the model's tokenizer is
// known, else one token for each byte, which no byte-level tokenizer exceeds.
func CountPrompt(spec Spec, r Request) int64 {
	each := int64(perMessageUnknown)
	if _, found := tokenizers[spec.Tokenizer]; found {
		each = perMessage
	}
	n := int64(perPrompt)
	for _, m := range r.MessagesFor(spec.JSON) {
		n += CountText(spec, m.Content) + each
	}
	if r.Schema != nil && spec.JSON == JSONSchema {
		n += int64(len(r.Schema.JSON) + len(r.Schema.Name))
	}
	return n
}

// CountText is an upper bound of the tokens of a text, without any wrapping.
func CountText(spec Spec, text string) int64 {
	text = string([]rune(text)) // a stray byte is sent as U+FFFD
	load, found := tokenizers[spec.Tokenizer]
	if !found || tangled(text) {
		return int64(len(text))
	}
	n, err := load().Count(text)
	if err != nil {
		return int64(len(text))
	}
	return int64(n)
}

// tangled texts have a stretch of one kind of character so long that a tokenizer, which merges it pair by pair in
// quadratic time, would take too long.
func tangled(text string) bool {
	run, before := 0, 0
	for _, r := range text {
		kind := kindOf(r)
		if kind != before {
			run, before = 0, kind
		}
		run++
		if run > longestRun {
			return true
		}
	}
	return false
}

const longestRun = 512 // characters; no word is as long

func kindOf(r rune) int {
	switch {
	case unicode.IsSpace(r):
		return 1
	case unicode.IsLetter(r) || unicode.IsMark(r):
		return 2
	case unicode.IsNumber(r):
		return 3
	}
	return 4
}
