package inference

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"
)

// Bounds of what is parsed: a longer answer is refused, as are deeper nesting and an answer with more places where a
// value might begin.
const (
	answerBytes  = 1 << 20
	answerDepth  = 64
	answerStarts = 32
)

// ReadJSON parses the one JSON value in an answer into a non-nil pointer. It accepts what models are known to add
// around a value: code fences, prose before and after it, commas before a closing bracket, typographic quotes instead
// of straight ones, and a cut-off end (open brackets are closed; the array element or the member that was being
// written is dropped). Everything else is an error that says what was wrong and where; into is then unchanged.
func ReadJSON(text string, into any) error {
	target := reflect.ValueOf(into)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		return fmt.Errorf("read answer into %T: it must be a non-nil pointer", into)
	}
	if len(text) > answerBytes {
		return fmt.Errorf("answer has %d bytes; at most %d are read", len(text), answerBytes)
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	if strings.TrimSpace(text) == "" {
		return errors.New("answer is empty; it must hold one JSON value")
	}
	problem := accept([]byte(text), target)
	if problem == nil || json.Valid([]byte(text)) {
		return problem
	}
	body := unfenced(text)
	problem = readInside(body, target)
	if problem == nil || body == text {
		return problem
	}
	if readInside(text, target) == nil {
		return nil
	}
	return problem
}

// readInside tries each place where an object or array might begin. Where one really began and then broke, the search
// ends: what is inside a broken value is not the answer.
func readInside(body string, target reflect.Value) error {
	var problem error
	tried := 0
	for at := 0; at < len(body) && tried < answerStarts; at++ {
		if body[at] != '{' && body[at] != '[' {
			continue
		}
		tried++
		s := scanner{text: body, at: at}
		clean, err := s.value(0)
		broken := err != nil && !errors.Is(err, errCutOff)
		if !broken {
			err = accept(clean, target)
			if err == nil {
				return nil
			}
			err = fmt.Errorf("%w, near %s", err, excerpt(body, at))
			at = s.at - 1
		}
		if broken && !begun(body[at:]) {
			continue
		}
		problem = err
		if broken {
			break
		}
	}
	if problem == nil {
		return fmt.Errorf("answer holds no JSON object or array: %s", excerpt(body, 0))
	}
	return problem
}

// begun says whether a bracket opens a value and is not part of prose, as in [r1] or {sic}.
func begun(text string) bool {
	inside := strings.TrimLeft(text[1:], " \t\r\n")
	r, _ := utf8.DecodeRuneInString(inside)
	return inside != "" && (isQuote(r) || r == '\'' || text[0] == '[' && (r == '{' || r == '['))
}

// accept decodes into a fresh value first, so that a failure leaves the target unchanged.
func accept(clean []byte, target reflect.Value) error {
	fresh := reflect.New(target.Type().Elem())
	if err := json.Unmarshal(clean, fresh.Interface()); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) && wrong.Field == "" {
			return fmt.Errorf("the answer is a %s where %s is wanted", short(wrong.Value), wrong.Type)
		}
		if wrong != nil {
			return fmt.Errorf("field %s holds a %s where %s is wanted", excerpt(wrong.Field, 0), short(wrong.Value),
				wrong.Type)
		}
		return fmt.Errorf("not JSON: %w", err)
	}
	if bytes.Equal(bytes.TrimSpace(clean), []byte("null")) && fresh.Elem().Kind() != reflect.Interface &&
		fresh.Elem().Kind() != reflect.Pointer {
		return fmt.Errorf("the answer is null where %s is wanted", fresh.Elem().Type())
	}
	target.Elem().Set(fresh.Elem())
	return nil
}

// unfenced returns the inside of the first code fence that has a bracket, or all of the text.
func unfenced(text string) string {
	rest := text
	for {
		_, after, ok := strings.Cut(rest, "```")
		if !ok {
			return text
		}
		inside, next, _ := strings.Cut(after, "```")
		if line, body, ok := strings.Cut(inside, "\n"); ok && !strings.ContainsAny(line, "{[\"") {
			inside = body
		}
		if strings.ContainsAny(inside, "{[") {
			return inside
		}
		rest = next
	}
}

// short is a text of at most 60 characters.
func short(text string) string {
	if runes := []rune(text); len(runes) > 60 {
		return string(runes[:60]) + "…"
	}
	return text
}

// excerpt shows up to 60 characters from a place.
func excerpt(text string, at int) string {
	at = max(0, min(at, len(text)))
	for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
		at--
	}
	runes := []rune(text[at:min(len(text), at+60*utf8.UTFMax)])
	if len(runes) > 60 {
		return fmt.Sprintf("%q…", string(runes[:60]))
	}
	return fmt.Sprintf("%q", string(runes))
}

// Repair returns the messages that request a corrected answer after one that could not be parsed; they follow the
// first request.
func Repair(problem error, bad string) []Message {
	shown := strings.ToValidUTF8(bad, "\uFFFD")
	if runes := []rune(shown); len(runes) > repairShown {
		shown = string(runes[:repairShown]) + "…"
	}
	if strings.TrimSpace(shown) == "" {
		shown = "(nothing)"
	}
	ask := fmt.Sprintf(
		"That could not be read: %v. Give the answer again as one JSON value and nothing else: no prose, no code "+
			"fence, straight double quotes, every bracket closed. If it was too long, say less.", problem)
	return []Message{{Role: "assistant", Content: shown}, {Role: "user", Content: ask}}
}

const repairShown = 2000 // characters of the bad answer: enough to mend it, little enough to pay for
