package formats

import (
	"strings"
)

// Names are the formats in prose: "jsonl, chat, chatgpt, diary or locomo".
func Names() string {
	names := make([]string, len(Formats))
	for i, f := range Formats {
		names[i] = string(f)
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// Expects says what a file of the format must hold, as the end of a sentence that begins "it must hold".
func (f Format) Expects() string {
	switch f {
	case JSONL:
		return `one JSON object a line with kind, content and at, as memory export writes it: {"kind":"episode","at":"2026-03-05T14:30:00Z","content":"…"}`
	case Chat:
		return `one JSON object a line, with messages or with role and content: {"role":"user","content":"…","created_at":"2026-03-05T14:30:00Z"}`
	case ChatGPT:
		return "the whole JSON list of conversations that conversations.json of a ChatGPT data export is, each with its mapping"
	case Diary:
		return "entries in Markdown or plain text, each under its date, alone on a line or as a heading: ## 2026-03-05, or 5 March 2026, 21:40"
	case LoCoMo:
		return "whole JSON dialogues of the LoCoMo benchmark, each with its conversation and the date and time of each session"
	}
	return "one of the formats " + Names()
}
