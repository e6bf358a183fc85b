package psyche

import (
	"bytes"
	"cmp"
	"strconv"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/jsonscan"
)

// The most that parts of a prompt can cost.
const (
	// A picture of the largest size in the most expensive published table: 2833 and 5667 for each of 8 tiles.
	imageTokens = 48_169
	perMessage  = 16 // what a template adds to each
	// Tokens that providers put before the tools. The most that one publishes is 530, and newer tokenizers make a third
	// more of a text.
	perTools = 1024
	// In bytes: below, reserving one token a byte costs a cent or two for a moment; above, counting costs less than
	// it frees.
	countFrom = 4 << 10
	countUpTo = 64 << 10
)

// worst is the most that the turn can cost, with the changes of the body that bound it: a maximum where the client
// names none, and the provider's usage in streams. Free calls need neither.
func (t *turn) worst() (spend.Worst, []splice) {
	if t.free() {
		return spend.Worst{}, nil
	}
	b, o, d := t.Body, t.service.o, t.ceiling
	w := spend.Worst{In: plus(d.in, int64(t.added)), Text: d.text, Times: d.times}
	most := d.answer
	var changes []splice
	if !d.named {
		name, limit := "max_tokens", int64(o.Answer)
		if t.spec.Reasoning {
			name = "max_completion_tokens"
			limit += int64(o.Thinking)
		}
		name = cmp.Or(b.form.most, name)
		if room := int64(t.spec.Context) - w.In; room > 0 {
			limit = min(limit, room)
		}
		changes = append(changes, b.set(name, strconv.AppendInt(nil, limit, 10)))
		beside := d.thinks
		if t.spec.Reasoning {
			beside = max(0, d.thinks-int64(o.Thinking)) // the limit includes the usual allowance already
		}
		// A limit that the window's room has cut no longer includes all of a budget for thoughts.
		most = max(most, plus(limit, beside), d.thinks)
	}
	if window := t.limits().window(); window > 0 {
		most = min(most, window)
	}
	w.Out = plus(times(d.choices, most), times(d.choices, d.beside))
	if usage := b.counted(); usage != nil {
		t.hidden = true
		changes = append(changes, *usage)
	}
	return w, changes
}

// limits are those of the turn's model.
func (t *turn) limits() *limits {
	return &limits{spec: t.spec, free: t.free(), allowed: t.service.allowed, thinking: int64(t.service.o.Thinking)}
}

// free reports whether the turn costs nothing. The spend guard refuses a model without a price.
func (t *turn) free() bool { return costsNothing(&t.spec) }

func costsNothing(spec *inference.Spec) bool {
	return spec.Price == nil || *spec.Price == (budget.Price{})
}

// counted asks a stream for its usage when the client did not.
func (b *Body) counted() *splice {
	switch {
	case !b.stream || b.native(): // other wires state it unasked
		return nil
	case b.options == (span{}):
		s := b.set("stream_options", []byte(`{"include_usage":true}`))
		return &s
	case b.usage == (span{}):
		at := b.options.From + 1
		member := []byte(`"include_usage":true`)
		inside := jsonscan.Scanner{Body: b.raw, At: at}
		if inside.Peek() != '}' {
			member = append(member, ',')
		}
		s := inserted(at, member)
		return &s
	case string(b.usage.Of(b.raw)) != "true":
		return &splice{b.usage, []byte("true")}
	}
	return nil
}

// prompt is the most tokens of the body's prompt, and how many of its bytes are certainly text. No tokenizer makes
// more tokens than there are bytes; for texts of middling length the model's own tokenizer counts. Pictures in the
// body count by their size. What cannot be counted takes the whole window, such as what stands at a web address.
func (b *Body) prompt(l *limits, d *costBound) error {
	c := &promptCount{Body: b, limits: l, ceiling: d, rest: int64(len(b.raw))}
	c.byTokens = l.thorough || len(b.raw) >= countFrom && len(b.raw) <= countUpTo
	for _, name := range b.others {
		if err := c.other(name); err != nil {
			return err
		}
	}
	for i := range b.messages {
		if err := b.form.count(c, &b.messages[i]); err != nil {
			return err
		}
	}
	if len(b.given("tools")) > len("[]") || len(b.given("functions")) > len("[]") {
		d.in += perTools
	}
	if tools := b.fields["tools"].span; l.thorough && tools != (span{}) {
		c.rest -= int64(tools.To - tools.From)
		d.in += inference.CountText(l.spec, string(tools.Of(b.raw)))
	}
	d.in = plus(d.in, c.rest)
	if c.unknown == "" {
		d.in = plus(d.in, c.pictures*imageTokens)
		return nil
	}
	window := l.window()
	if window == 0 {
		path, unknown := "messages", b.sent.of(clippedText(c.unknown))
		if b.sent != nil {
			path = unknown.Path
		}
		return invalidRequest("uncountable_content", path,
			"The tokens of %s cannot be counted, and the window of the model %s is not known. State it as context under providers.%s.models, or leave that content out. A picture in the body itself, as a data: address, can be counted.",
			unknown.Name, l.spec.Name, l.spec.Provider)
	}
	d.in = plus(max(d.in, window), c.pictures*imageTokens)
	return nil
}

// promptCount is a prompt being counted.
type promptCount struct {
	*Body
	limits   *limits
	ceiling  *costBound
	byTokens bool
	rest     int64 // bytes that count one token each
	pictures int64
	unknown  string // names the first content that cannot be counted
}

func (c *promptCount) text(at span) {
	text := jsonscan.Unquoted(at.Of(c.raw))
	c.ceiling.text += int64(len(text))
	if c.byTokens {
		c.rest -= int64(at.To - at.From)
		c.ceiling.in += inference.CountText(c.limits.spec, text)
	}
}

func (c *promptCount) message(m *message) error {
	c.ceiling.in += perMessage
	if raw := m.content.Of(c.raw); len(raw) == 0 || raw[0] != '[' && raw[0] != '{' {
		c.text(m.content)
		return nil
	}
	return c.eachPart(*m, c.part)
}

// other is content that is neither text nor a picture.
func (c *promptCount) other(name string) error {
	if f, listed := inference.FieldBeyondTokens(name); listed {
		if err := c.limits.allows(f); err != nil {
			return err
		}
	}
	if c.unknown == "" {
		c.unknown = name
	}
	return nil
}

func (c *promptCount) part(p part) error {
	if p.doubt != nil {
		return p.doubt
	}
	for _, name := range p.others {
		if err := c.other(name); err != nil {
			return err
		}
	}
	if c.form.texts[p.kind] {
		c.text(p.text)
	}
	url := p.picture.Of(c.raw)
	shown := len(url) > 0 && string(url) != "null"
	switch {
	case shown && pictureParts[p.kind] && c.picture(url):
		c.rest -= int64(len(url))
		c.pictures++
	case p.kind != "" && p.kind != "image_url" && !textParts.has(p.kind):
		return c.other(p.kind)
	case shown:
		return c.other("image_url")
	}
	return nil
}

// picture reports whether the value of an image_url counts as one picture: its bytes, in a format that holds one. What
// stands at a web address may be a film, or be replaced by one before the provider reads it: it counts as a picture
// only for a client that asks how long its prompt is.
func (c *promptCount) picture(v []byte) bool {
	url := jsonscan.Unquoted(v)
	if v[0] == '{' {
		s := &jsonscan.Scanner{Body: v}
		seen := once{of: "image_url"}
		found := true
		err := s.Object(func(key span) error {
			each, err := s.Value()
			if err != nil {
				return err
			}
			name, err := seen.name(key.Of(v), pictureMembers)
			found = found && pictureMembers.has(name)
			if name == "url" {
				url = jsonscan.Unquoted(each.Of(v))
			}
			return err
		})
		if err != nil || !found {
			return false
		}
	}
	scheme, rest, _ := strings.Cut(url, ":")
	switch strings.ToLower(scheme) {
	case "data":
		return bytesOfPicture(rest)
	case "http", "https":
		return c.limits.thorough
	}
	return false
}

// bytesOfPicture reports whether a data: address, without its scheme, holds the bytes of one picture. Other formats
// hold text, such as SVG, or many pages, such as TIFF.
func bytesOfPicture(rest string) bool {
	end := strings.IndexAny(rest, ";,")
	if end < 0 || end > len("image/jpeg") {
		return false
	}
	switch strings.ToLower(rest[:end]) {
	case "image/png", "image/jpeg", "image/jpg", "image/webp", "image/gif":
		return true
	}
	return false
}

var (
	pictureMembers = set("url detail")
	// Types of parts whose image_url is read as a picture. A part of another type may be about something else.
	pictureParts = map[string]bool{"": true, "text": true, "image_url": true, "input_image": true}
)

// places is the most that an embedder can be asked: a text has no more tokens than bytes, a list of token numbers
// fewer. Anything else in the input takes a window each.
func (b *Body) places(l *limits) (costBound, error) {
	d := costBound{choices: 1, times: 1}
	if _, err := b.wholeNumber("dimensions"); err != nil {
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
	if b.caches {
		d.times = 2
	}
	if err := b.prompt(l, &d); err != nil {
		return d, err
	}
	objects := int64(bytes.Count(b.given("input"), []byte("{")))
	if objects > 0 && l.window() == 0 {
		return d,
			invalidRequest("uncountable_content", "input",
				"input holds an object, whose tokens cannot be counted, and the window of the model %s is not known. Send text.",
				l.spec.Name)
	}
	if objects > 0 {
		d.in = plus(d.in, times(objects, l.window()))
	}
	return d, nil
}
