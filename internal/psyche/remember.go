package psyche

import (
	"context"
	"errors"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/internal/utterance"
)

// Limits on what is remembered of a turn.
const (
	longestKept  = 4000 // characters of one episode
	longestTool  = 1000 // of what a tool said
	mostOfTools  = 3    // of their newest answers
	mostNear     = 8    // memories near to a line that are held against it
	rememberFor  = 30 * time.Second
	waitForStore = 10 * time.Minute      // how long what follows a turn waits for a store that is away or takes no writes
	firstWait    = 50 * time.Millisecond // before it is tried again; each later wait is twice as long
	longestWait  = 2 * time.Second
	byTalk       = "talk" // cause of the writes
	rememberedBy = "remember"
)

// task is work that follows a turn, with the values of that turn's context. It may be done twice.
type task struct {
	from  context.Context
	agent dream.Agent
	do    func(ctx context.Context) error
	lost  string // what the log says when it fails
}

// rememberWorkers store exchanges in parallel, each for agents of its own: a slow embedder delays only these, and
// what is said to one agent is stored in order.
const rememberWorkers = 8

// rememberLoop runs queued tasks, one after the other, until Close.
func (b *memoryWriter) rememberLoop(queue <-chan task) {
	for d := range queue {
		if b.running.Err() != nil {
			b.counts.add("dropped", 1)
			continue
		}
		err := b.perform(d)
		if err != nil {
			b.counts.add("failed", 1)
			b.Log.WarnContext(d.from, d.lost, "agent", d.agent.Handle, "error", err)
		}
	}
}

// perform does a task, again and again while the store is away or takes no writes: the client has its answer already.
// Those behind it wait, and would fail alike.
func (b *memoryWriter) perform(d task) error {
	waiting, cancel := context.WithTimeout(b.running, waitForStore)
	defer cancel()
	for wait := firstWait; ; wait = min(2*wait, longestWait) {
		err := b.attempt(d)
		if !errors.Is(err, memory.ErrAway) && !errors.Is(err, memory.ErrUnwritable) {
			return err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-waiting.Done():
			timer.Stop()
			return err
		}
	}
}

func (b *memoryWriter) attempt(d task) error {
	ctx, cancel := context.WithTimeout(d.from, rememberFor)
	defer cancel()
	stop := context.AfterFunc(b.running, cancel)
	defer stop()
	return d.do(ctx)
}

// enqueue queues a task for an agent. When too many wait it is dropped and counted: no turn waits for memory.
func (b *memoryWriter) enqueue(d task) {
	b.gate.RLock()
	defer b.gate.RUnlock()
	if b.closed {
		b.counts.add("dropped", 1)
		return
	}
	select {
	case b.queues[maphash.String(workerSeed, d.agent.ID)%rememberWorkers] <- d:
	default:
		b.counts.add("dropped", 1)
		b.Log.Warn("an exchange is not remembered: too many wait", "agent", d.agent.Handle)
	}
}

// workerSeed is the seed of the hash that assigns agents to workers.
var workerSeed = maphash.MakeSeed()

// line is something that was said in a turn, with its speaker.
type line struct {
	text    string
	by      dream.Taint
	speaker string
}

// spoken is what may be remembered of a request: the user's message, and the results of tools since. However many
// rounds of tools there are, the same words are one memory.
func (t *turn) spoken() []line {
	at := t.Body.lastUserMessage()
	if !t.on.store || at < 0 {
		return nil
	}
	var lines []line
	for _, words := range t.Body.words(t.Body.messages[at]) {
		lines = append(lines, line{words, dream.FromHuman, "user"})
	}
	own := len(lines)
	for _, m := range slices.Backward(t.Body.messages[at+1:]) {
		if m.role == picturesRole {
			continue
		}
		if !result(m.role) || len(lines)-own == mostOfTools {
			break
		}
		lines = append(lines, line{clipped(t.Body.text(m), longestTool), dream.FromTool, "tool"})
	}
	return lines
}

// keep queues what was said in a turn for storing, the reply too if it is complete.
func (t *turn) keep(h spokenAnswer, ended bool) {
	if len(t.lines) == 0 {
		return
	}
	lines := t.lines
	if ended && h.finish != "" {
		lines = append(lines, line{clipped(h.text, longestKept), t.taint, t.agent.Handle})
	}
	shown := t.talk.backgrounds()
	s := t.service
	agent := t.agent
	caller := t.Caller
	session := t.report.Conversation
	seen := t.seen
	now := t.service.now()
	s.enqueue(task{t.from, agent, func(ctx context.Context) error {
		err := s.remember(ctx, agent, caller, session, lines, shown, seen, now)
		if errors.Is(err, memory.ErrForgotten) {
			// The answer may repeat what was forgotten while it was written; what a person said does not.
			s.counts.add("forgotten", 1)
			lines = slices.DeleteFunc(lines, func(l line) bool { return l.by != dream.FromHuman })
			err = s.remember(ctx, agent, caller, session, lines, shown, memory.SeenForgettings{}, now)
		}
		return err
	}, "an exchange could not be remembered"})
}

// remember stores those lines that are worth it, are new, and do not repeat what the prompt quoted. ErrForgotten when
// something of the agent was forgotten since seen was read.
func (b *memoryWriter) remember(ctx context.Context, a dream.Agent, c Caller, session string, lines []line,
	shown []string,
	seen memory.SeenForgettings, now time.Time,
) error {
	var wanted []line
	for _, l := range lines {
		switch {
		case !utterance.Worth(l.text, l.by).Kept():
			b.counts.add("trivial", 1)
		case onlyRepeats(l, shown):
			b.counts.add("repeated", 1)
		default:
			wanted = append(wanted, l)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	if err := b.checkQuota(ctx, a, c); err != nil {
		if full(err) {
			return nil // no turn fails by it; it was counted and logged
		}
		return err
	}
	affect, err := b.Memory.Affect(ctx, a.ID)
	if err != nil {
		return err
	}
	compared, err := b.embedAndCompare(ctx, a, c, wanted)
	if err != nil {
		return err
	}
	surprises, err := b.surprises(ctx, a.ID, c.Owner(), wanted, compared)
	if err != nil {
		return err
	}
	w := memory.Write{Agent: a.ID, Cause: byTalk, Fence: memory.Fence{Read: seen}}
	current := mood.Settled(affect.PAD, b.o.Baseline, now.Sub(affect.Since))
	for i, l := range wanted {
		if compared.isRemembered(i, l.text) {
			b.counts.add("existing", 1)
			continue
		}
		at := now.Add(time.Duration(i) * time.Microsecond).UTC()
		id, err := freeID(ctx, b.Memory, a.ID, c.Owner(), idOf(a.ID, c.Owner(), l.speaker, l.text), at)
		if err != nil {
			return err
		}
		e := &dream.Episode{
			Head: dream.Head{
				ID:      id,
				Agent:   a.ID,
				Kind:    dream.KindEpisode,
				At:      at,
				State:   dream.Live,
				Taint:   l.by,
				Derived: []string{"salience", "surprise", "affect"},
			},
			Content: l.text, Salience: weigh(l.text, l.by, compared.novelty[i]), Surprise: surprises[i],
			Affect:  current,
			Session: session, Origin: c.Owner(), Speaker: l.speaker,
		}
		corrected, err := correct(ctx, b.Memory, e, compared.near[i])
		if err != nil {
			return err
		}
		w.Add, w.Change = append(w.Add, e), append(w.Change, corrected...)
		v, err := b.vectorOf(ctx, a, c, e, &compared, i)
		if err != nil {
			return err
		}
		w.Vectors = append(w.Vectors, v...)
	}
	return b.keepTalk(ctx, a, c, w)
}

// freeID is the id for new words. A memory of the same words that was corrected, has faded or belongs to another
// owner by now stays as it is, and the new words get a memory of their own.
func freeID(ctx context.Context, store memory.Store, agent, owner, id string, at time.Time) (string, error) {
	items, err := store.Get(ctx, agent, id)
	if err != nil {
		return "", err
	}
	for _, item := range items {
		if item.Header().State != dream.Live || item.Marks().Owner != owner {
			return id + "_" + strconv.FormatInt(at.Unix(), 36), nil
		}
	}
	return id, nil
}

// vectorOf is the vector of a new memory: that of its words, or, for a correction, of the new and the earlier value
// together.
func (b *memoryWriter) vectorOf(ctx context.Context, a dream.Agent, c Caller, e *dream.Episode, p *comparison,
	i int,
) ([]memory.Vector, error) {
	if p.v == nil {
		return nil, nil
	}
	if len(e.Replaces) == 0 {
		return []memory.Vector{{Item: e.ID, Space: p.space, V: p.v[i]}}, nil
	}
	v, space, err := b.embed(ctx, a, c, []string{e.Text()})
	if err != nil || space != p.space {
		b.Log.WarnContext(ctx, "a correction is stored without its vector", "agent", a.Handle, "error", err)
		return nil, nil //nolint:nilerr // it is embedded when the memory moves
	}
	return []memory.Vector{{Item: e.ID, Space: space, V: v[0]}}, nil
}

// commit writes. Items whose vectors are of another space than the agent's are stored without them, and embedded when
// its memory is.
func (b *memoryWriter) commit(ctx context.Context, w memory.Write) (memory.Receipt, error) {
	receipt, err := b.Memory.Commit(ctx, w)
	if errors.Is(err, memory.ErrStale) { // what is corrected was changed meanwhile: both stay
		w.Change = nil
		for _, item := range w.Add {
			if e, ok := item.(*dream.Episode); ok {
				e.Replaces = nil
			}
		}
		receipt, err = b.Memory.Commit(ctx, w)
	}
	if errors.Is(err, memory.ErrSpace) && w.Vectors != nil {
		w.Vectors = nil
		receipt, err = b.Memory.Commit(ctx, w)
	}
	b.counts.add("stored", receipt.Added)
	b.counts.add("existing", receipt.Existing)
	b.counts.add("corrected", receipt.Changed)
	return receipt, err
}

// comparison is the vectors of lines and the memories near to them.
type comparison struct {
	v       [][]float32 // nil: the embedder could not be asked
	space   string
	novelty []float64 // 1 less the nearest cosine among what the caller may see
	near    [][]nearby
	scale   inference.Calibration // of the space
}

// nearby is a memory that the caller may see, near to a line.
type nearby struct {
	item   dream.Item
	cosine float64
}

// isRemembered reports whether a line is remembered already: a near memory says the same in the same words, and by
// the embedder's calibration the line adds nothing. Words that differ in a name or a number are another memory,
// however near they are.
func (p *comparison) isRemembered(i int, text string) bool {
	return slices.ContainsFunc(p.near[i], func(n nearby) bool {
		e, ok := n.item.(*dream.Episode)
		return ok && n.cosine >= p.scale.Novel && utterance.Same(e.Content, text)
	})
}

// embedAndCompare embeds lines and compares them with the memories that the caller may see. Lines that cannot be
// embedded are compared with none, and are stored without vectors.
func (b *memoryWriter) embedAndCompare(ctx context.Context, a dream.Agent, c Caller,
	lines []line,
) (comparison, error) {
	p := comparison{novelty: make([]float64, len(lines)), near: make([][]nearby, len(lines))}
	texts := make([]string, len(lines))
	for i, l := range lines {
		texts[i], p.novelty[i] = l.text, 1
	}
	v, space, err := b.embed(ctx, a, c, texts)
	if err != nil {
		b.Log.WarnContext(ctx, "what was said is stored without its vectors", "agent", a.Handle, "error",
			err)
		return p, nil
	}
	p.v, p.space = v, space
	spec, err := b.embedderOf(ctx, &a)
	if err != nil {
		return p, err
	}
	p.scale = b.calibration(ctx, &a, &c, spec)
	filter, err := b.visible(ctx, a, c)
	if err != nil {
		return p, err
	}
	for i := range lines {
		hits, err := b.Memory.Near(ctx, memory.Near{
			Agent:  a.ID,
			Space:  space,
			V:      v[i],
			Limit:  mostNear,
			Filter: filter,
		})
		if errors.Is(err, memory.ErrSpace) {
			p.v = nil
			return p, nil
		}
		if err != nil {
			return p, err
		}
		ids := make([]string, len(hits))
		cosines := map[string]float64{}
		for j, hit := range hits {
			ids[j], cosines[hit.Item] = hit.Item, hit.Cosine
			p.novelty[i] = min(p.novelty[i], 1-p.scale.Closeness(hit.Cosine))
		}
		items, err := b.Memory.Get(ctx, a.ID, ids...)
		if err != nil {
			return p, err
		}
		for _, item := range items {
			p.near[i] = append(p.near[i], nearby{item, cosines[item.Header().ID]})
		}
	}
	return p, nil
}

// idOf is the id of a statement: the same words of the same speaker to the same agent are one memory.
func idOf(agent, owner, speaker, text string) string {
	return "ep_" + digest(agent, owner, speaker, strings.TrimSpace(text))
}
