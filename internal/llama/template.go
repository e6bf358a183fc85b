package llama

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/ardanlabs/jinja"
	yl "github.com/hybridgroup/yzma/pkg/llama"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// scribe writes a conversation in the model's format: by the model's own Jinja template, else by one of llama.cpp's.
type scribe struct {
	own      *jinja.Template // nil: named is used
	named    string          // the name or text of a template that llama.cpp knows
	bos, eos string
	folds    bool // the model has no system role: its text is put before the user's
}

// chooseTemplate finds the model's format of a conversation.
func (e *Engine) chooseTemplate() error {
	e.scribe = scribe{bos: e.mark(yl.VocabBOS(e.vocab)), eos: e.mark(yl.VocabEOS(e.vocab)), named: e.options.Template}
	text, _ := yl.ModelMetaValStr(e.model, "tokenizer.chat_template")
	existing := fmt.Sprintf("name one of llama.cpp's, such as chatml (%s)",
		strings.Join(yl.ChatBuiltinTemplates(), ", "))
	if e.scribe.named == "" && text == "" {
		return fmt.Errorf("model %s says nothing of how a conversation is written: it may be no chat model; %s",
			e.options.Model, existing)
	}
	try := []inference.Message{{Role: "system", Content: "Be brief."}, {Role: "user", Content: "Hello."}}
	if e.scribe.named == "" {
		if own, err := jinja.Compile(tidied(text)); err == nil {
			e.scribe.own = own
			for _, e.scribe.folds = range []bool{false, true} {
				if _, err := e.scribe.write(try, true); err == nil {
					return nil
				}
			}
		}
		e.scribe.own, e.scribe.folds, e.scribe.named = nil, false, text
	}
	if _, err := e.scribe.write(try, true); err != nil {
		return fmt.Errorf("the chat template of %s cannot be followed: %w; %s", e.options.Model, err, existing)
	}
	return nil
}

// Chat templates are written for an engine that drops the line break after a statement and the blanks before it.
var (
	behindStatement = regexp.MustCompile(`([%#]\})\r?\n`)
	beforeStatement = regexp.MustCompile(`(?m)^[ \t]+(\{[%#])`)
)

func tidied(template string) string {
	return beforeStatement.ReplaceAllString(behindStatement.ReplaceAllString(template, "$1"), "$1")
}

// mark is the text of a special token; empty for none.
func (e *Engine) mark(token yl.Token) string {
	buffer := make([]byte, 64)
	if n := yl.TokenToPiece(e.vocab, token, buffer, 0, true); n > 0 && int(n) <= len(buffer) {
		return string(buffer[:n])
	}
	return ""
}

// write renders messages; ask leaves the place open where the model answers.
func (s scribe) write(messages []inference.Message, ask bool) (string, error) {
	if s.folds {
		messages = folded(messages)
	}
	if s.own != nil {
		return s.render(messages, ask)
	}
	var chat []yl.ChatMessage
	size := 1024
	for _, m := range messages {
		chat = append(chat, yl.NewChatMessage(m.Role, m.Content))
		size += 2*len(m.Content) + 256
	}
	buffer := make([]byte, size)
	n := yl.ChatApplyTemplate(s.named, chat, ask, buffer)
	if n > 0 && int(n) > len(buffer) {
		buffer = make([]byte, n)
		n = yl.ChatApplyTemplate(s.named, chat, ask, buffer)
	}
	if n <= 0 || int(n) > len(buffer) {
		return "", fmt.Errorf("llama.cpp knows no template %q", s.named[:min(len(s.named), 40)])
	}
	return string(buffer[:n]), nil
}

// render uses the model's own template, which is an untrusted program.
func (s scribe) render(messages []inference.Message, ask bool) (text string, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("the template broke off: %v", fault)
		}
	}()
	list := make([]any, len(messages))
	for i, m := range messages {
		list[i] = map[string]any{"role": m.Role, "content": m.Content}
	}
	text, err = s.own.Render(map[string]any{
		"messages": list, "add_generation_prompt": ask, "bos_token": s.bos, "eos_token": s.eos,
		"enable_thinking": false,
	})
	if err == nil && text == "" {
		err = fmt.Errorf("it makes nothing of %d messages", len(messages))
	}
	return text, err
}

// folded puts the system text before the first user text.
func folded(messages []inference.Message) []inference.Message {
	var out []inference.Message
	before := ""
	for _, m := range messages {
		switch {
		case m.Role == "system":
			before += m.Content + "\n\n"
			continue
		case m.Role == "user" && before != "":
			m.Content, before = before+m.Content, ""
		}
		out = append(out, m)
	}
	if before != "" {
		out = append(out, inference.Message{Role: "user", Content: strings.TrimSpace(before)})
	}
	return out
}
