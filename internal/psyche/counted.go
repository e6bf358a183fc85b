package psyche

import (
	"bytes"
	"math"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/jsonscan"
)

// counting are the outermost fields that this server reads or writes, since the cost of a request depends on them.
var counting = set(`
	model messages stream stream_options max_tokens max_completion_tokens n prediction tools functions tool_choice
	response_format reasoning_effort reasoning thinking input dimensions prompt best_of suffix`)

// Members whose size in bytes bounds their tokens.
var (
	messageMembers = set(`
		role content name tool_calls tool_call_id function_call refusal reasoning reasoning_content
		reasoning_details reasoning_text thinking thinking_blocks thought_signature annotations cache_control prefix
		partial weight id status tool_name phase`)
	partMembers = set("type text image_url refusal thinking reasoning signature cache_control annotations id index")
	textParts   = set("text refusal thinking reasoning input_text output_text")
	toolMembers = set("type function custom name description parameters input_schema format strict cache_control")
)

// Other names for a maximum of tokens, a number of answers, and a request to think first, by inference.FieldKey: some
// providers read them, others ignore them.
var (
	maxima = set(`
		maxtokens maxcompletiontokens maxoutputtokens maxnewtokens maxlength maxgenlen maxgentokens maxdecodetokens
		maxtokenstosample numpredict npredict`)
	numbers = set("bestof numreturnsequences candidatecount numcompletions numgenerations numbeams")
	thinks  = set(`
		reasoningeffort reasoning reasoningbudget reasoningtokens maxreasoningtokens thinking thinkingbudget
		thinkingconfig thinkingtokenbudget maxthinkingtokens enablethinking chattemplatekwargs chattemplateargs
		outputconfig`)
)

// names are field names, each with a bit of its own.
type names map[string]uint64

func set(list string) names {
	all := strings.Fields(list)
	bits := make(names, len(all))
	for i, name := range all {
		bits[name] = 1 << i
	}
	return bits
}

func (n names) has(name string) bool { return n[name] != 0 }

// usual are frequent names: a key that is one of them need not be copied.
var usual = func() map[string]string {
	all := map[string]string{"include_usage": "include_usage", "temperature": "temperature", "user": "user"}
	for _, some := range []names{counting, messageMembers, partMembers, toolMembers} {
		for name := range some {
			all[name] = name
		}
	}
	return all
}()

// fieldName is a JSON key in lower case without escapes; plain reports whether it was written like that.
func fieldName(key []byte) (name string, plain bool) {
	inner := key[1 : len(key)-1]
	if name, ok := usual[string(inner)]; ok {
		return name, true
	}
	for _, c := range inner {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' {
			return inference.FoldField(jsonscan.Unquoted(key)), false
		}
	}
	return string(inner), true
}

// once checks that each relevant member occurs once in an object, in its usual spelling.
type once struct {
	of   string // names the object in errors
	seen uint64
}

func (o *once) name(key []byte, members names) (string, error) {
	name, plain := fieldName(key)
	bit := members[name]
	switch {
	case bit == 0:
	case !plain:
		return name, misspelt(o.of+"[]."+name, key)
	case o.seen&bit != 0:
		return name, duplicateField(o.of + "[]." + name)
	}
	o.seen |= bit
	return name, nil
}

// cacheMark reports whether a key is cache_control, in any spelling.
func cacheMark(key []byte) bool {
	const name = "cachecontrol"
	if len(key) < len(name)+2 || len(key) <= len(name)+3 && key[1]|0x20 != 'c' && key[1] != '\\' {
		return false
	}
	if len(key) > len(name)+3 && bytes.IndexByte(key, '\\') < 0 {
		return false
	}
	return inference.FieldKey(jsonscan.Unquoted(key)) == name
}

func duplicateField(name string) error {
	return invalidRequest("duplicate_field", name,
		"%s is given twice, where case is ignored. Parsers differ in which of the two they take: send it once.",
		name)
}

func misspelt(name string, key []byte) error {
	return invalidRequest("duplicate_field", name,
		"A field is written %s, which some readers take for %s and others do not know: write %s.",
		clippedText(string(key)), name, name[strings.LastIndexByte(name, '.')+1:])
}

// clippedText is a text as shown in an error.
func clippedText(text string) string {
	if len(text) > 60 {
		return strings.ToValidUTF8(text[:60], "") + "…"
	}
	return text
}

// limits are the limits on a body.
type limits struct {
	spec     inference.Spec
	free     bool            // the model costs nothing, so that the cost of a body does not matter
	allowed  map[string]bool // fields beyond tokens that the deployment allows, by inference.FieldKey
	thinking int64           // the most tokens for thinking beside the answer
	thorough bool            // texts of every length are counted by the tokenizer, and the tools too
	sent     naming          // of the body
}

// window is the most tokens of prompt and answer together; 0 when unknown.
func (l *limits) window() int64 {
	if l.spec.Guessed {
		return 0
	}
	return int64(l.spec.Context)
}

// costBound is the most that a body can ask of a paid model.
type costBound struct {
	in      int64 // tokens of the prompt
	text    int64 // of the prompt's bytes, those that are certainly text
	answer  int64 // the greatest maximum of one answer, thinking included; 0: none is named
	named   bool  // by a field that every provider reads
	choices int64 // number of answers, at least 1
	beside  int64 // tokens billed in addition to each answer, such as a wrong prediction
	thinks  int64 // tokens of thinking beside an answer without a maximum
	times   int64 // the most that a token of the prompt costs, in list prices
}

// costBound checks a body against the limits and computes the most it can cost. Errors are *Fault and name the field,
// its value and what would be right.
func (b *Body) costBound(l *limits) (costBound, error) {
	d := costBound{choices: 1, times: 1}
	l.sent = b.sent
	if b.native() {
		return b.nativeBound(l)
	}
	if err := b.types(l); err != nil {
		return d, err
	}
	if l.free {
		return d, nil
	}
	for _, name := range b.names {
		if err := b.refuseUnbounded(l, name); err != nil {
			return d, err
		}
	}
	if b.caches || b.given("prompt_cache_options") != nil {
		d.times = 2 // the highest published price of caching a prompt for an hour, or for twelve
	}
	if err := b.answers(l, &d); err != nil {
		return d, err
	}
	return d, b.prompt(l, &d)
}

// types checks the fields that every parser must read alike.
func (b *Body) types(l *limits) error {
	for _, name := range []string{"max_tokens", "max_completion_tokens"} {
		if l.free && string(b.given(name)) == "-1" { // how local servers are asked for no maximum
			continue
		}
		if _, err := b.wholeNumber(name); err != nil {
			return err
		}
	}
	if n, err := b.wholeNumber("n"); err != nil {
		return err
	} else if n > mostChoices {
		return invalidRequest(badValue, "n", "n is %s; it must be a whole number from 1 to %d.",
			shownNumber(b.given("n")),
			mostChoices)
	}
	if v := b.given("stream"); v != nil && !boolean(v) {
		return invalidRequest(badValue, "stream", "stream is %s; it must be true or false.", kindOf(v))
	}
	if v := b.given("stream_options"); v != nil && v[0] != '{' {
		return invalidRequest(badValue, "stream_options",
			"stream_options is %s; it must be an object such as {\"include_usage\": true}.", kindOf(v))
	}
	if v := b.usage.Of(b.raw); len(v) > 0 && string(v) != "null" && !boolean(v) {
		return invalidRequest(badValue, "stream_options.include_usage",
			"stream_options.include_usage is %s; it must be true or false.", kindOf(v))
	}
	return nil
}

const (
	badValue    = "invalid_value"
	mostChoices = 128 // OpenAI's maximum
)

func boolean(v []byte) bool { return string(v) == "true" || string(v) == "false" }

// wholeNumber reads a field with a whole number from 1; 0 when absent.
func (b *Body) wholeNumber(name string) (int64, error) {
	v := b.given(name)
	if len(v) == 0 {
		return 0, nil
	}
	n, ok := wholeNumber(v)
	if !ok {
		at := b.sent.of(name)
		return 0,
			invalidRequest(badValue, at.Path,
				"%s is %s; it must be a whole number from 1, written in digits, or be left out.",
				at.Name, kindOf(v))
	}
	return n, nil
}

// wholeNumber reads a number from 1 written in digits, with only zeros after a point. An overflow yields the greatest
// number.
func wholeNumber(v []byte) (int64, bool) {
	digits, zeros, point := bytes.Cut(v, []byte("."))
	if len(digits) == 0 || digits[0] < '1' || digits[0] > '9' || point && len(bytes.Trim(zeros, "0")) > 0 {
		return 0, false
	}
	n := int64(0)
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = plus(times(n, 10), int64(c-'0'))
	}
	return n, true
}

// kindOf names the type of a value, and shows numbers.
func kindOf(v []byte) string {
	switch v[0] {
	case '"':
		return "text"
	case '[':
		return "a list"
	case '{':
		return "an object"
	case 't', 'f':
		return "true or false"
	case 'n':
		return "null"
	}
	return shownNumber(v)
}

func shownNumber(v []byte) string { return clippedText(string(v)) }

// refuseUnbounded refuses a field whose price is not bounded by tokens, unless the deployment allows it or its value
// asks for nothing.
func (b *Body) refuseUnbounded(l *limits, name string) error {
	f, listed := inference.FieldBeyondTokens(name)
	if !listed {
		return nil
	}
	v := b.given(name)
	switch text := string(v); {
	case len(v) == 0 || text == "false" || text == "[]" || text == "{}":
		return nil
	case f.Name == "service_tier" || f.Name == "speed":
		if text := jsonscan.Unquoted(v); text == "default" || text == "standard" {
			return nil
		}
	case f.Name == "modalities":
		if plainText(v) {
			return nil
		}
	case f.Name == "tools":
		if ok, err := ownTools(v); err != nil || ok {
			return err
		}
	}
	return l.allows(f)
}

func (l *limits) allows(f inference.BeyondTokens) error {
	if l.allowed[inference.FieldKey(f.Name)] {
		return nil
	}
	at := l.sent.of(f.Name)
	return invalidRequest("field_not_allowed", at.Path,
		"%s is not passed on to a paid model: %s. Leave it out, or have %s allowed by the setting serve.allow_fields.",
		at.Name, f.Why, f.Name)
}

// SentAs says what a client of another wire sent, where this body has a field or a type of a part.
type SentAs struct {
	Path string // in the client's body
	Name string // as an error's subject
}

// naming finds what a client of another wire sent, by the name that it has in the body; nil: it is as the client sent it.
type naming func(name string) SentAs

// NameAs has errors about a body name what the client sent. sent finds it by the name that it has in the body.
func NameAs(b *Body, sent func(name string) SentAs) { b.sent = sent }

func (n naming) of(name string) SentAs {
	if n == nil {
		return SentAs{Path: name, Name: name}
	}
	return n(name)
}

// mostName is the field that bounds the answer of a body, as the client names it.
func mostName(b *Body) string {
	if b.form.most != "" {
		return b.form.most
	}
	return b.sent.of("max_tokens").Name
}

// plainText reports whether a list of modalities asks for text alone.
func plainText(v []byte) bool {
	if v[0] != '[' {
		return false
	}
	s := &jsonscan.Scanner{Body: v}
	only := true
	err := s.Array(func() error {
		each, err := s.Value()
		only = only && jsonscan.Unquoted(each.Of(v)) == "text"
		return err
	})
	return err == nil && only
}

// ownTools reports whether all tools are the client's own, which only the client runs.
func ownTools(v []byte) (bool, error) {
	if v[0] != '[' {
		return false, nil
	}
	s := &jsonscan.Scanner{Body: v}
	own := true
	err := s.Array(func() error {
		if s.Peek() != '{' {
			own = false
			_, err := s.Value()
			return err
		}
		kind := ""
		seen := once{of: "tools"}
		err := s.Object(func(key span) error {
			each, err := s.Value()
			if err != nil {
				return err
			}
			name, err := seen.name(key.Of(v), toolMembers)
			if name == "type" {
				kind = jsonscan.Unquoted(each.Of(v))
			}
			own = own && (toolMembers.has(name) || string(each.Of(v)) == "null")
			return err
		})
		own = own && (kind == "function" || kind == "custom")
		return err
	})
	return own, err
}

// answers computes how much may be answered.
func (b *Body) answers(l *limits, d *costBound) error {
	visible, all, err := int64(0), int64(0), error(nil)
	asksToThink := false
	budget := int64(0)
	for _, name := range b.names {
		v := b.given(name)
		if len(v) == 0 {
			continue
		}
		switch key := inference.FieldKey(name); {
		case maxima.has(key):
			n, err := b.bounded(l, name)
			if err != nil {
				return err
			}
			d.named = d.named || name == "max_tokens" || name == "max_completion_tokens"
			if name == "max_completion_tokens" {
				all = n
			} else {
				visible = max(visible, n)
			}
		case numbers.has(key):
			n, err := b.wholeNumber(name)
			if err != nil {
				return err
			}
			if n > mostChoices {
				return invalidRequest(badValue, name, "%s is %s; it must be a whole number from 1 to %d.", name,
					shownNumber(v), mostChoices)
			}
			d.choices = max(d.choices, n)
		case thinks.has(key):
			if !thinkingOff(v) {
				asksToThink, budget = true, max(budget, greatest(v))
			}
		case name == "prediction":
			d.beside = int64(len(v))
		}
	}
	n, err := b.wholeNumber("n")
	if err != nil {
		return err
	}
	d.choices = max(d.choices, n)
	if asksToThink || l.spec.Reasoning {
		d.thinks = max(l.thinking, budget)
	}
	if visible > 0 {
		d.answer = plus(visible, d.thinks)
	}
	if all > 0 {
		beside := d.thinks
		if l.spec.Reasoning { // for models that think by themselves it bounds thinking and answer together
			beside = budget
		}
		d.answer = max(d.answer, plus(all, beside))
	}
	return nil
}

// bounded reads a maximum of tokens, which the window bounds.
func (b *Body) bounded(l *limits, name string) (int64, error) {
	n, err := b.wholeNumber(name)
	if err != nil {
		return 0, err
	}
	if window := l.window(); window > 0 && n > window {
		at := b.sent.of(name)
		return 0,
			invalidRequest(badValue, at.Path,
				"%s is %s; it must be at most %d, which is the window of the model %s, prompt and answer together.",
				at.Name, shownNumber(b.given(name)), window, l.spec.Name)
	}
	return n, nil
}

// thinkingOff reports whether a field for thinking turns it off.
func thinkingOff(v []byte) bool {
	switch string(bytes.Join(bytes.Fields(v), nil)) {
	case `false`, `0`, `"none"`, `"off"`, `"disabled"`, `{"type":"disabled"}`, `{"enabled":false}`, `{"effort":"none"}`,
		`{"enable_thinking":false}`, `{"thinking":false}`:
		return true
	}
	return false
}

// greatest is the greatest whole number anywhere in a value; one with an exponent counts as the greatest of all.
func greatest(v []byte) int64 {
	best, n := int64(0), int64(0)
	for i, c := range v {
		if c >= '0' && c <= '9' {
			n = plus(times(n, 10), int64(c-'0'))
			best = max(best, n)
			continue
		}
		if c|0x20 == 'e' && i > 0 && v[i-1] >= '0' && v[i-1] <= '9' {
			return math.MaxInt64
		}
		n = 0
	}
	return best
}

// plus and times saturate; neither takes negative numbers.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func times(a, b int64) int64 {
	if b > 0 && a > math.MaxInt64/b {
		return math.MaxInt64
	}
	return a * b
}
