package psyche

import (
	"fmt"

	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/inference"
	"github.com/seed-56a03226/oneiros/internal/purse"
)

// What a prompt comes to at worst.
const (
	imageTokens = 48_169  // a picture of the largest size, as the dearest published table counts it: 2833 and 5667 for each of 8 tiles
	perMessage  = 16      // what a template wraps around each
	countFrom   = 4 << 10 // bytes: below, one token a byte reserves a cent or two for a moment; above, counting costs less than it frees
	countUpTo   = 64 << 10
)

// worst is what the turn can come to, with the changes of the body without which that would have no bound: a maximum where the
// client names none, and the provider's usage in streams. Calls that cost nothing need neither.
func (t *turn) worst() (purse.Worst, []splice) {
	if t.free() {
		return purse.Worst{}, nil
	}
	b, o := t.body, t.being.o
	w := purse.Worst{}
	w.In, w.Text = b.prompt(t.spec)
	w.In += int64(t.added)
	most, thinks := b.most, b.thinks
	var changes []splice
	if most == 0 {
		most, thinks = int64(o.Answer), true
		name := "max_tokens"
		if t.spec.Reasoning {
			name = "max_completion_tokens"
			most += int64(o.Thinking)
		}
		if room := int64(t.spec.Context) - w.In; room > 0 {
			most = min(most, room)
		}
		changes = append(changes, b.first(fmt.Appendf(nil, `"%s":%d`, name, most)))
	}
	if t.spec.Reasoning && !thinks {
		most += int64(o.Thinking)
	}
	w.Out = most*b.choices + b.foretold
	if usage := b.counted(); usage != nil {
		t.hidden = true
		changes = append(changes, *usage)
	}
	return w, changes
}

// free says whether the turn costs nothing, whatever it comes to. A model without a price is refused by the purse.
func (t *turn) free() bool { return t.spec.Price == nil || *t.spec.Price == (budget.Price{}) }

// counted asks a stream for its usage, where the client did not.
func (b *body) counted() *splice {
	switch {
	case !b.stream:
		return nil
	case b.options == (span{}):
		s := b.first([]byte(`"stream_options":{"include_usage":true}`))
		return &s
	case b.usage == (span{}):
		at := b.options.from + 1
		member := []byte(`"include_usage":true`)
		inside := scanner{b: b.raw, at: at}
		if inside.peek() != '}' {
			member = append(member, ',')
		}
		return &splice{span{at, at}, member}
	case string(b.usage.of(b.raw)) != "true":
		return &splice{b.usage, []byte("true")}
	}
	return nil
}

// prompt is the most tokens that the body can make of a prompt, and how many bytes of it are certainly text. No tokenizer makes
// more tokens than there are bytes; of texts of a middling length the model's own counts. Pictures count by their size.
func (b *body) prompt(spec inference.Spec) (tokens, certain int64) {
	count := len(b.raw) >= countFrom && len(b.raw) <= countUpTo
	rest := int64(len(b.raw))
	text := func(at span) {
		said := unquoted(at.of(b.raw))
		certain += int64(len(said))
		if count {
			rest -= int64(at.to - at.from)
			tokens += inference.CountText(spec, said)
		}
	}
	for _, m := range b.messages {
		tokens += perMessage
		if raw := m.content.of(b.raw); len(raw) == 0 || raw[0] != '[' {
			text(m.content)
			continue
		}
		b.parts(m, func(kind string, said, whole span) {
			switch kind {
			case "text":
				text(said)
			case "image_url":
				rest -= int64(whole.to - whole.from)
				tokens += imageTokens
			}
		})
	}
	return tokens + rest, certain
}
