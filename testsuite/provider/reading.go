package provider

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
)

// Reading is how a provider parses the fields of a body. JSON does not say which of two fields of one name counts,
// and parsers differ.
type Reading string

// The readings.
const (
	ReadFirst   Reading = "first"    // the first field of exactly this name
	ReadLast    Reading = "last"     // the last field of exactly this name
	ReadAnyCase Reading = "any-case" // the last field of this name, whatever its case, as encoding/json reads
)

// Readings returns all of them.
func Readings() []Reading { return []Reading{ReadFirst, ReadLast, ReadAnyCase} }

// What a greedy provider charges beside its price list.
const (
	picture = 48_169             // tokens of the largest picture
	extra   = 10 * budget.Dollar // for searches, plugins and tools of its own
	unknown = 1000               // times the price of a model that was not requested
	huge    = int64(1) << 40     // tokens; a larger number changes nothing
)

// Bill is the most that a provider of one reading could charge for a body at list price.
type Bill struct {
	Model   string
	In, Out int64
	Price   budget.Price // of a token of this call
	Extra   budget.Micros
	Stream  bool
	Usage   bool // wanted in the stream
}

// Cost is the sum.
func (b Bill) Cost() budget.Micros {
	cost := b.Price.Worst(b.In, b.Out)
	if cost > budget.Unlimited-b.Extra {
		return budget.Unlimited
	}
	return cost + b.Extra
}

// reader gets fields of an object.
type reader struct {
	how    Reading
	names  []string
	values []json.RawMessage
}

func (how Reading) object(raw []byte) reader {
	r := reader{how: how}
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return r
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return r
		}
		var v json.RawMessage
		if d.Decode(&v) != nil {
			return r
		}
		text, _ := name.(string)
		r.names, r.values = append(r.names, text), append(r.values, v)
	}
	return r
}

// get is a field's value; nil where there is none, or null.
func (r reader) get(name string) json.RawMessage {
	var found json.RawMessage
	for i, each := range r.names {
		if each != name && (r.how != ReadAnyCase || !strings.EqualFold(each, name)) {
			continue
		}
		found = r.values[i]
		if r.how == ReadFirst {
			break
		}
	}
	if string(found) == "null" {
		return nil
	}
	return found
}

func (r reader) text(name string) string {
	var s string
	_ = json.Unmarshal(r.get(name), &s)
	return s
}

func (r reader) list(name string) []json.RawMessage {
	var all []json.RawMessage
	_ = json.Unmarshal(r.get(name), &all)
	return all
}

// number parses what any parser could take for a number above 0, also one written as text; 0 for none.
func number(raw json.RawMessage) int64 {
	f, err := strconv.ParseFloat(strings.Trim(string(raw), `" `), 64)
	if err != nil && f == 0 || f <= 0 || f != f {
		return 0
	}
	if f > float64(huge) {
		return huge
	}
	return max(1, int64(f))
}

func bounded(a, b int64) int64 {
	if b > 0 && a > huge/b {
		return huge
	}
	return min(a*b, huge)
}

// Bill parses a body and returns the most that this reading allows to charge. thinking is what a reasoning model may
// use beside an answer whose limit is not named.
func (how Reading) Bill(raw []byte, models []Model, window, thinking int64) Bill {
	r := how.object(raw)
	b := Bill{Model: r.text("model"), Stream: string(r.get("stream")) == "true"}
	b.Usage = string(how.object(r.get("stream_options")).get("include_usage")) == "true"
	for _, other := range r.list("models") {
		_ = json.Unmarshal(other, &b.Model)
	}
	var thinks bool
	b.Price, thinks = priceOf(models, b.Model)
	if tier := r.text("service_tier"); tier != "" && tier != "default" && tier != "standard" {
		b.Price = times(b.Price, 2)
	}
	if bytes.Contains(raw, []byte(`"cache_control"`)) {
		b.Price = b.Price.Dearer(2)
	}
	b.Extra = r.extras()
	texts, prompts := r.completed()
	b.In = min(r.prompt(window)+texts, huge)
	budget := int64(0)
	requested := false
	for _, name := range []string{"reasoning", "thinking"} {
		if v := r.get(name); len(v) > 0 && v[0] == '{' {
			requested = true
			o := how.object(v)
			budget = max(budget, number(o.get("max_tokens")), number(o.get("budget_tokens")))
		}
	}
	requested = requested || r.text("reasoning_effort") != "" && r.text("reasoning_effort") != "none"
	allowance := int64(0)
	if thinks || requested {
		allowance = max(thinking, budget)
	}
	b.Out = 0
	for _, name := range []string{"max_tokens", "max_output_tokens", "max_new_tokens"} {
		if n := number(r.get(name)); n > 0 {
			b.Out = max(b.Out, n+allowance)
		}
	}
	if n := number(r.get("max_completion_tokens")); n > 0 {
		b.Out = max(b.Out, n)
	}
	if b.Out == 0 {
		b.Out = window
	}
	b.Out = min(b.Out, window)
	answers := max(1, number(r.get("n")), number(r.get("best_of")))
	b.Out = bounded(answers*prompts, b.Out+int64(len(r.get("prediction"))))
	return b
}

func priceOf(models []Model, name string) (budget.Price, bool) {
	var dearest budget.Price
	for _, m := range models {
		if m.Price == nil {
			continue
		}
		if m.Name == name {
			return *m.Price, m.Thinks > 0
		}
		dearest.In = max(dearest.In, m.Price.In, m.Price.LongIn)
		dearest.Out = max(dearest.Out, m.Price.Out, m.Price.LongOut)
	}
	return times(dearest, unknown), true
}

func times(p budget.Price, n budget.Micros) budget.Price {
	p.In, p.CachedIn, p.Out = p.In*n, p.CachedIn*n, p.Out*n
	p.LongIn, p.LongCachedIn, p.LongOut = p.LongIn*n, p.LongCachedIn*n, p.LongOut*n
	return p
}

// extras is what the call is charged beside tokens.
func (r reader) extras() budget.Micros {
	for _, name := range []string{
		"web_search_options", "plugins", "search_parameters", "route", "provider",
		"extra_body",
	} {
		if v := string(r.get(name)); v != "" && v != "[]" && v != "{}" && v != "false" {
			return extra
		}
	}
	for _, tool := range r.list("tools") {
		if kind := r.how.object(tool).text("type"); kind != "function" && kind != "custom" {
			return extra
		}
	}
	for _, kind := range r.list("modalities") {
		if string(kind) != `"text"` {
			return extra
		}
	}
	return 0
}

// prompt counts a token for each byte of text. What is neither text nor a picture fills the window, which includes
// all of the text.
func (r reader) prompt(window int64) int64 {
	text, pictures, fills := int64(len(r.get("tools"))), int64(0), false
	for _, raw := range r.list("messages") {
		m := r.how.object(raw)
		text += 10 + int64(len(m.text("content")))
		for _, name := range m.names {
			fills = fills || strings.EqualFold(name, "audio") || strings.EqualFold(name, "images")
		}
		for _, part := range m.list("content") {
			p := r.how.object(part)
			text += int64(len(p.text("text")))
			switch kind, shown := p.text("type"), p.get("image_url") != nil; {
			case shown && pictureParts[kind] && p.picture():
				pictures++
			case shown || kind != "text" && kind != "" && kind != "refusal":
				fills = true
			}
		}
	}
	if fills {
		text = max(text, window)
	}
	return text + pictures*picture
}

// completed counts the tokens of texts that are to be completed, one for each byte or number, and how many there are;
// at least one.
func (r reader) completed() (tokens, prompts int64) {
	tokens = int64(len(r.text("suffix")) + len(r.text("prompt")))
	for _, raw := range r.list("prompt") {
		var text string
		var numbers []json.RawMessage
		switch {
		case json.Unmarshal(raw, &text) == nil:
			tokens += int64(len(text))
			prompts++
		case json.Unmarshal(raw, &numbers) == nil:
			tokens += int64(len(numbers))
			prompts++
		default:
			tokens++
		}
	}
	return tokens, max(1, prompts)
}

// pictureParts are the types of parts whose image_url is read as a picture.
var pictureParts = map[string]bool{"": true, "text": true, "image_url": true, "input_image": true}

// ofPicture begins an address that holds the bytes of one picture. Elsewhere there may be anything.
var ofPicture = regexp.MustCompile(`(?i)^data:image/(png|jpe?g|webp|gif)[;,]`)

// picture reports whether the image_url of a part is certainly one picture.
func (r reader) picture() bool {
	url := r.text("image_url")
	if url == "" {
		url = r.how.object(r.get("image_url")).text("url")
	}
	return ofPicture.MatchString(url)
}

// greedy answers with a few words, and bills the most that its reading allows before the first of them is sent.
func (s *Server) greedy(w http.ResponseWriter, r *http.Request, raw []byte) {
	bill := s.options.Reading.Bill(raw, s.options.Models, s.options.window(), s.options.Thinking)
	number := s.Billing.arrive(Call{
		Path:   r.URL.Path,
		Key:    r.Header.Get("Idempotency-Key"),
		Model:  bill.Model,
		Stream: bill.Stream,
		Prompt: bill.In,
		Header: r.Header.Clone(),
		extra:  bill.Extra,
	}, &bill.Price)
	completed := false
	defer func() { s.Billing.end(number, completed) }()
	s.Billing.begin(number)
	s.Billing.serve(number, bill.Out)
	s.Billing.status(number, http.StatusOK)
	pieces := Pieces("It is noted, and nothing more is said of it today.")
	a := answer{
		number: number,
		id:     "till-" + strconv.Itoa(number),
		model:  bill.Model,
		pieces: pieces,
		prompt: bill.In,
		usage:  bill.Usage,
		finish: "stop",
	}
	a.billed = bill.Out
	if bill.Stream {
		completed = s.stream(w, r.Context(), a)
	} else {
		completed = s.whole(w, r.Context(), a)
	}
}

func (o Options) window() int64 {
	if o.Window > 0 {
		return o.Window
	}
	return 128_000
}
