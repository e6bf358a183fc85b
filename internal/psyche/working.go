package psyche

import (
	"cmp"
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// Limits of what this process holds of talks. Backgrounds are in the store as well, and are read from there when
// another process has answered a turn of the talk; the messages of Say are only in this process.
const (
	talkLasts  = 2 * time.Hour
	mostTalks  = 2048
	mostSpoken = 40 // messages of a talk for Say

	// The backgrounds of a talk may take a quarter of the model's window, at four bytes a token: as many bytes as it
	// has tokens.
	leastBackgrounds = 16 << 10  // bytes, of a model with a small window or with none that is known
	mostBackgrounds  = 256 << 10 // bytes, whatever the window

	// mostKept is how many bytes of backgrounds this process holds of all talks together, those used last.
	mostKept = 64 << 20
)

// talk is one conversation with one caller: what was put before the model and where, so that the next turn repeats it
// in place, and nothing twice. For Say it holds the messages, too.
type talk struct {
	agent string // id of the agent
	id    string // id in the store
	kept  *atomic.Int64

	mu     sync.Mutex
	last   time.Time
	all    []memory.Background // in the order in which they were written
	turns  places              // the questions whose background, or lack of one, this process knows
	label  dream.Taint         // the least trusted label of the answers in this talk; empty: no answers
	spoken []spoken
}

type spoken struct{ role, text string }

type talks struct {
	mu     sync.Mutex
	all    map[string]*list.Element
	lately list.List        // *talk, the last used in front
	forgot map[string]int64 // by agent: the number of forgettings when its talks were last dropped
	kept   atomic.Int64     // bytes of backgrounds
}

// forget drops every talk of an agent when something of it was forgotten since, which a talk may quote.
func (t *talks) forget(agent string, times int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.forgot == nil {
		t.forgot = map[string]int64{}
	}
	if n, seen := t.forgot[agent]; seen && n == times {
		return
	}
	t.forgot[agent] = times
	for key, each := range t.all {
		if strings.HasPrefix(key, agent+"\x00") {
			t.lately.Remove(each).(*talk).empty()
			delete(t.all, key)
		}
	}
}

// seenForgettings is the number of forgettings as of which a turn with an agent reads: the last one seen.
func (t *talks) seenForgettings(agent string) memory.SeenForgettings {
	t.mu.Lock()
	defer t.mu.Unlock()
	n, seen := t.forgot[agent]
	return memory.SeenForgettings{Set: seen, Forgettings: n}
}

// of finds the talk of an owner with an agent under a name. No two owners share one.
func (t *talks) of(owner, agent, conversation string, now time.Time) *talk {
	t.mu.Lock()
	defer t.mu.Unlock()
	id := talkID(owner, conversation)
	key := agent + "\x00" + id
	at := t.all[key]
	if at == nil {
		t.makeRoom()
		at = t.lately.PushFront(&talk{agent: agent, id: id, kept: &t.kept})
		t.all[key] = at
	} else {
		t.lately.MoveToFront(at)
	}
	found := at.Value.(*talk)
	for each := t.lately.Back(); t.kept.Load() > mostKept && each != at; each = each.Prev() {
		each.Value.(*talk).empty()
	}
	found.mu.Lock()
	silent := now.Sub(found.last)
	found.last = now
	found.mu.Unlock()
	if silent > talkLasts {
		found.empty()
		found.clearSpoken()
	}
	return found
}

// empty drops the backgrounds that this process holds of the talk.
func (t *talk) empty() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept.Add(-t.size())
	t.all, t.turns = nil, nil
}

// clearSpoken drops the messages of Say.
func (t *talk) clearSpoken() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spoken, t.label = nil, ""
}

// size is how many bytes the backgrounds take. Its caller holds the lock.
func (t *talk) size() int64 {
	n := int64(0)
	for _, a := range t.all {
		n += int64(len(a.Text))
	}
	return n
}

// talkID names a talk in the store. It reveals neither the owner nor the client's name for the conversation.
func talkID(owner, conversation string) string { return digest(owner, conversation) }

func digest(parts ...string) string {
	sum := sha256.New()
	for _, part := range parts {
		sum.Write([]byte(part))
		sum.Write([]byte{0})
	}
	return hex.EncodeToString(sum.Sum(nil)[:12])
}

// makeRoom drops the talk that was used longest ago when the limit is reached.
func (t *talks) makeRoom() {
	if t.all == nil {
		t.all = map[string]*list.Element{}
	}
	if len(t.all) < mostTalks {
		return
	}
	oldest := t.lately.Remove(t.lately.Back()).(*talk)
	oldest.empty()
	delete(t.all, oldest.agent+"\x00"+oldest.id)
}

// loadBackgrounds reads the talk's backgrounds from the store when one of its earlier questions was answered by
// another process, or by this one before a restart.
func (t *talk) loadBackgrounds(ctx context.Context, s *Service, b *Body, requests int) error {
	if s.Talks == nil || t.knowsQuestions(b, requests) {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.o.TalkWithin, errors.New("the store took too long"))
	defer cancel()
	kept, err := readOnOwnStack(func() ([]memory.Background, error) { return s.Talks.Backgrounds(ctx, t.agent, t.id) })
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.size()
	defer func() { t.kept.Add(t.size() - before) }()
	for _, k := range kept {
		if !slices.ContainsFunc(t.all,
			func(a memory.Background) bool { return a.Place == k.Place && a.Mark == k.Mark && a.At.Equal(k.At) }) {
			t.all = append(t.all, k)
			t.label = dream.LeastTrusted(k.Taint, cmp.Or(t.label, k.Taint))
		}
	}
	slices.SortStableFunc(t.all, func(a, b memory.Background) int { return a.At.Compare(b.At) })
	for i, m := range b.messages[:requests] {
		if m.role == "user" {
			t.answered(i)
		}
	}
	return nil
}

// knowsQuestions reports whether this process answered every question before the last one.
func (t *talk) knowsQuestions(b *Body, requests int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, m := range b.messages[:requests] {
		if m.role == "user" && !t.turns.has(i) {
			return false
		}
	}
	return true
}

// labelled is the label of the next answer, from the label of its prompt. Earlier answers in the prompt count with
// their label, since what they quoted may have been removed from the messages.
func (t *talk) labelled(prompt dream.Taint, answers bool) dream.Taint {
	t.mu.Lock()
	defer t.mu.Unlock()
	label := prompt
	if answers && t.label != "" {
		label = dream.LeastTrusted(prompt, t.label)
	}
	t.label = dream.LeastTrusted(label, cmp.Or(t.label, label))
	return label
}

// answered notes that this process knows the background of the message at a place. Its caller holds the lock.
func (t *talk) answered(place int) {
	t.turns = t.turns.with(place)
}

// places is a set of indices of messages, a bit each, since a talk may be very long.
type places []uint64

func (p places) has(i int) bool { return i/64 < len(p) && p[i/64]&(1<<(i%64)) != 0 }

func (p places) with(i int) places {
	for len(p) <= i/64 {
		p = append(p, 0)
	}
	p[i/64] |= 1 << (i % 64)
	return p
}

// earlierBackgrounds lists the backgrounds whose message is where it was, the newest of each place, by place. The
// others are kept: under one name a client may hold several talks at once, such as one that only asks for a title. When
// they exceed what a prompt may spend on them, the older half is left out, repeatedly: this changes seldom, and is the
// same in every process.
func (t *talk) earlierBackgrounds(b *Body, most int) []memory.Background {
	t.mu.Lock()
	defer t.mu.Unlock()
	newest := map[int]memory.Background{}
	marks := map[int]string{}
	for _, a := range t.all {
		if a.Place >= len(b.messages) {
			continue
		}
		if marks[a.Place] == "" {
			marks[a.Place] = b.mark(a.Place)
		}
		if marks[a.Place] == a.Mark {
			newest[a.Place] = a
		}
	}
	all := make([]memory.Background, 0, len(newest))
	for _, a := range newest {
		all = append(all, a)
	}
	slices.SortFunc(all, func(a, b memory.Background) int { return cmp.Compare(a.Place, b.Place) })
	return bounded(all, most)
}

// bounded leaves out the older half whenever the texts so far exceed the limit in bytes.
func bounded(all []memory.Background, most int) []memory.Background {
	from, size := 0, 0
	for i := range all {
		size += len(all[i].Text)
		for size > most && from < i {
			for half := (i - from + 1) / 2; half > 0; half-- {
				size -= len(all[from].Text)
				from++
			}
		}
	}
	return all[from:]
}

// spendable is how many bytes the backgrounds of a talk may take in a window of so many tokens.
func spendable(window int) int { return min(max(window, leastBackgrounds), mostBackgrounds) }

// mark identifies the message at a place by its text, however its client has encoded it.
func (b *Body) mark(place int) string {
	m := b.messages[place]
	return digest(m.role, b.text(m))
}

// put holds a background in this process.
func (t *talk) put(a memory.Background) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = append(t.all, a)
	t.kept.Add(int64(len(a.Text)))
}

// markAnswered notes that the question at a place was answered here.
func (t *talk) markAnswered(place int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.answered(place)
}

// backgrounds are the texts that were put before the model in this talk.
func (t *talk) backgrounds() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []string
	for _, a := range t.all {
		out = append(out, a.Text)
	}
	return out
}

// lines are the messages so far of a talk for Say.
func (t *talk) lines() []spoken {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.spoken)
}

func (t *talk) say(lines ...spoken) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spoken = append(t.spoken, lines...)
	if more := len(t.spoken) - mostSpoken; more > 0 {
		// half of it, so that the beginning stays the same for a while
		t.spoken = slices.Clone(t.spoken[more+mostSpoken/2:])
	}
}
