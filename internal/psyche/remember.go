package psyche

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash/maphash"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/mood"
)

// Bounds of what is remembered of a turn.
const (
	longestKept  = 4000 // characters of one episode
	longestTool  = 1000 // of what a tool said
	mostOfTools  = 3    // of their newest answers
	sameAs       = .97  // cosine from which on two texts are the same
	rememberFor  = 30 * time.Second
	byTalk       = "talk" // cause of the writes
	rememberedBy = "remember"
)

// deed is something that is done after a turn, with the values of that turn's context.
type deed struct {
	from context.Context
	do   func(ctx context.Context)
}

// keepers remember side by side, each what is said to agents of its own: an embedder far away holds only these up, and what is
// said to one agent is remembered in its order.
const keepers = 8

// keepUp does what is queued, one after the other, until Close.
func (b *Being) keepUp(queue <-chan deed) {
	for d := range queue {
		if b.hear.Err() != nil {
			b.counts.dropped.Add(1)
			continue
		}
		ctx, cancel := context.WithTimeout(d.from, rememberFor)
		stop := context.AfterFunc(b.hear, cancel)
		d.do(ctx)
		stop()
		cancel()
	}
}

// later queues a deed for an agent. Where too many wait it is dropped and counted: no turn waits for memory to keep up.
func (b *Being) later(agent string, d deed) {
	b.gate.RLock()
	defer b.gate.RUnlock()
	if b.closed {
		b.counts.dropped.Add(1)
		return
	}
	select {
	case b.queues[maphash.String(lots, agent)%keepers] <- d:
	default:
		b.counts.dropped.Add(1)
		b.Log.Warn("an exchange is not remembered: too many wait", "agent", agent)
	}
}

// lots says which keeper remembers for an agent.
var lots = maphash.MakeSeed()

// line is something that was said in a turn, by whom.
type line struct {
	text    string
	by      dream.Taint
	speaker string
}

// spoken is what may be remembered of a request: the user's message, and what tools have answered since. However many requests a
// round of tools takes, the same words are one memory.
func (t *turn) spoken() []line {
	at := t.body.asked()
	if !t.on.store || at < 0 {
		return nil
	}
	lines := []line{{clipped(t.body.text(t.body.messages[at]), longestKept), dream.FromHuman, "user"}}
	for i := len(t.body.messages) - 1; i > at && result(t.body.messages[i].role) && len(lines) <= mostOfTools; i-- {
		lines = append(lines, line{clipped(t.body.text(t.body.messages[i]), longestTool), dream.FromTool, "tool"})
	}
	return lines
}

// keep queues what was said in a turn, the reply too if it came to its end.
func (t *turn) keep(h heard, ended bool) {
	if len(t.lines) == 0 {
		return
	}
	lines := t.lines
	if ended && h.finish != "" {
		lines = append(lines, line{clipped(h.text, longestKept), t.taint, t.agent.Handle})
	}
	shown := t.talk.backgrounds()
	b, agent, caller, session, now := t.being, t.agent, t.Caller, t.told.Conversation, t.being.now()
	b.later(agent.ID, deed{t.from, func(ctx context.Context) {
		if err := b.remember(ctx, agent, caller, session, lines, shown, now); err != nil {
			b.counts.failed.Add(1)
			b.Log.WarnContext(ctx, "an exchange could not be remembered", "agent", agent.Handle, "error", err)
		}
	}})
}

// remember keeps those lines that matter, are new, and are not what was put before the model.
func (b *Being) remember(ctx context.Context, a dream.Agent, c Caller, session string, lines []line, shown []string, now time.Time) error {
	var wanted []line
	for _, l := range lines {
		switch {
		case weigh(l.text, l.by, 1) < worthKeeping:
			b.counts.trivial.Add(1)
		case repeats(l.text, shown):
			b.counts.repeated.Add(1)
		default:
			wanted = append(wanted, l)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	if err := b.room(ctx, a, c); err != nil {
		if full(err) {
			return nil // no turn fails by it; it was counted and logged
		}
		return err
	}
	affect, err := b.Memory.Affect(ctx, a.ID)
	if err != nil {
		return err
	}
	placed, err := b.place(ctx, a, c, wanted)
	if err != nil {
		return err
	}
	w := memory.Write{Agent: a.ID, Cause: byTalk}
	feels := mood.Settled(affect.PAD, b.o.Baseline, now.Sub(affect.Since))
	for i, l := range wanted {
		novelty := placed.novelty[i]
		weight := weigh(l.text, l.by, novelty)
		if weight < worthKeeping || 1-novelty >= sameAs {
			b.counts.known.Add(1)
			continue
		}
		e := &dream.Episode{
			Head: dream.Head{
				ID: idOf(a.ID, c.Owner(), l.speaker, l.text), Agent: a.ID, Kind: dream.KindEpisode, At: now.Add(time.Duration(i) * time.Microsecond).UTC(),
				State: dream.Live, Taint: l.by, Derived: []string{"salience", "surprise", "affect"},
			},
			Content: l.text, Salience: weight, Surprise: novelty, Affect: feels, Session: session, Origin: c.Owner(), Speaker: l.speaker,
		}
		w.Add = append(w.Add, e)
		if placed.v != nil {
			w.Vectors = append(w.Vectors, memory.Vector{Item: e.ID, Space: placed.space, V: placed.v[i]})
		}
	}
	return b.keepTalk(ctx, a, c, w)
}

// commit writes; items whose vectors are of another space than the agent's are kept without, and placed when it moves.
func (b *Being) commit(ctx context.Context, w memory.Write) (memory.Receipt, error) {
	receipt, err := b.Memory.Commit(ctx, w)
	if errors.Is(err, memory.ErrSpace) && w.Vectors != nil {
		w.Vectors = nil
		receipt, err = b.Memory.Commit(ctx, w)
	}
	b.counts.stored.Add(int64(receipt.Added))
	b.counts.known.Add(int64(receipt.Known))
	return receipt, err
}

// placement is where lines lie among what is remembered.
type placement struct {
	v       [][]float32 // nil: the embedder could not be asked
	space   string
	novelty []float64 // 1 less the nearest cosine among what the caller may see
}

func (b *Being) place(ctx context.Context, a dream.Agent, c Caller, lines []line) (placement, error) {
	p := placement{novelty: make([]float64, len(lines))}
	texts := make([]string, len(lines))
	for i, l := range lines {
		texts[i], p.novelty[i] = l.text, 1
	}
	v, space, err := b.embed(ctx, a, c, texts)
	if err != nil {
		b.Log.WarnContext(ctx, "what was said is kept without its place among memories", "agent", a.Handle, "error", err)
		return p, nil
	}
	p.v, p.space = v, space
	filter, err := b.visible(ctx, a, c)
	if err != nil {
		return p, err
	}
	for i := range lines {
		hits, err := b.Memory.Near(ctx, memory.Near{Agent: a.ID, Space: space, V: v[i], Limit: 1, Filter: filter})
		if errors.Is(err, memory.ErrSpace) {
			p.v = nil
			return p, nil
		}
		if err != nil {
			return p, err
		}
		for _, hit := range hits {
			p.novelty[i] = max(0, 1-max(0, hit.Cosine))
		}
	}
	return p, nil
}

// idOf is the id of what somebody said: the same words of the same speaker to the same agent are one memory.
func idOf(agent, owner, speaker, text string) string {
	sum := sha256.New()
	for _, part := range []string{agent, owner, speaker, strings.TrimSpace(text)} {
		sum.Write([]byte(part))
		sum.Write([]byte{0})
	}
	return "ep_" + hex.EncodeToString(sum.Sum(nil)[:12])
}
