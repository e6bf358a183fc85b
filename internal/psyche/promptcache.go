package psyche

import (
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
)

// bytesAToken is how many bytes of a prompt a token has at least, as a rule. Where it has fewer, the prompt is cached
// though it seems too short, or the other way round: what is reserved covers both.
const bytesAToken = 4

// cached has a request marked for the provider's prompt cache, where that pays, and reserves what writing to it costs.
// A token that is written costs a quarter more, and one that is read a tenth, so a talk must go on: it has tools, or
// was answered before. A client that marks its prompt itself is left alone.
func (t *turn) cached(w *spend.Worst, r *inference.RelayRequest) {
	b := t.Body
	goesOn := b.answered() || len(b.given("tools")) > len("[]")
	switch {
	case t.free(), b.native(), b.caches, !goesOn:
	case t.Path == "/chat/completions" && t.spec.CacheFrom > 0 && len(r.Body) >= bytesAToken*t.spec.CacheFrom:
		r.Caches = true
		w.In = plus(w.In, (w.In+3)/4) // what is written is billed as a surcharge of a quarter of its tokens, rounded up
	}
}
