package llama

import (
	"fmt"
	"strings"
	"unicode/utf8"

	yl "github.com/hybridgroup/yzma/pkg/llama"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// readWords records the text of every token, and the texts that would act as special tokens in a conversation.
func (e *Engine) readWords() {
	e.words, e.ends = make([][]byte, e.shape.Words), make([]bool, e.shape.Words)
	buffer := make([]byte, 256)
	// of families that write them as plain text
	marks := broken("<|", "[INST]", "[/INST]", "<start_of_turn>", "<end_of_turn>")
	for i := range e.words {
		token := yl.Token(i)
		e.ends[i] = yl.VocabIsEOG(e.vocab, token)
		if n := yl.TokenToPiece(e.vocab, token, buffer, 0, false); n > 0 && int(n) <= len(buffer) {
			e.words[i] = append([]byte(nil), buffer[:n]...)
		}
		if !yl.VocabIsControl(e.vocab, token) {
			continue
		}
		e.words[i] = nil
		if n := yl.TokenToPiece(e.vocab, token, buffer, 0, true); n > 1 && int(n) <= len(buffer) {
			marks = append(marks, broken(string(buffer[:n]))...)
		}
	}
	e.marks = strings.NewReplacer(marks...)
}

// broken pairs each special token with itself, split after its first letter by a space of no width.
func broken(marks ...string) []string {
	var pairs []string
	for _, mark := range marks {
		_, first := utf8.DecodeRuneInString(mark)
		pairs = append(pairs, mark, mark[:first]+"\u200b"+mark[first:])
	}
	return pairs
}

// render writes a conversation in the model's format. Text that looks like one of the model's special tokens is
// broken by a space of no width, so that no memory can end a turn or begin another.
func (e *Engine) render(messages []inference.Message, ask bool) (string, error) {
	safe := make([]inference.Message, len(messages))
	for i, m := range messages {
		text := e.marks.Replace(strings.ReplaceAll(strings.ToValidUTF8(m.Content, "\uFFFD"), "\x00", ""))
		safe[i] = inference.Message{Role: m.Role, Content: text}
	}
	text, err := e.scribe.write(safe, ask)
	if err != nil {
		return "",
			fmt.Errorf("the conversation of %d messages cannot be written by the model's chat template: %w",
				len(messages), err)
	}
	return text, nil
}

// answered reads a conversation with its answer. The first same tokens are those of the conversation alone.
func (e *Engine) answered(messages []inference.Message, answer string) (all []yl.Token, same int, err error) {
	prompt, err := e.render(messages, true)
	if err != nil {
		return nil, 0, err
	}
	before, all := e.tokens(prompt), e.tokens(prompt+e.marks.Replace(answer))
	for same < len(before) && same < len(all) && before[same] == all[same] {
		same++
	}
	return all, same, nil
}

// tokens reads a rendered conversation.
func (e *Engine) tokens(rendered string) []yl.Token {
	// A template that writes the start token itself must not get a second one.
	begin := yl.VocabGetAddBOS(e.vocab) && (e.scribe.bos == "" || !strings.HasPrefix(rendered, e.scribe.bos))
	return yl.Tokenize(e.vocab, rendered, begin, true)
}
