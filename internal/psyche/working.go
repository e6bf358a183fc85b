package psyche

import (
	"container/list"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/internal/dream"
)

// Bounds of working memory. It is this process's own: another replica recalls anew.
const (
	talkLasts   = 2 * time.Hour
	mostTalks   = 2048
	mostAnchors = 16       // backgrounds of a talk
	mostWorking = 16 << 10 // bytes of them
	mostSpoken  = 40       // messages of a talk that is held by Say
)

// talk is what a being has in mind of one conversation with one caller: what it put before the model and where, so that the
// same is there again in the next turn, and nothing twice. Of a conversation that Say holds it is the conversation itself.
type talk struct {
	key string

	mu      sync.Mutex
	last    time.Time
	anchors []anchor
	answers dream.Taint // the least trusted label of the answers given in this talk; empty: none was given
	spoken  []spoken
}

// anchor is a background and the message of a user that it stands before.
type anchor struct {
	at    int    // its place among the messages
	mark  uint64 // of its bytes
	text  string
	items []string    // ids of the memories in it
	taint dream.Taint // the least trusted label among what it quotes
}

type spoken struct{ role, text string }

var marks = maphash.MakeSeed()

func mark(b []byte) uint64 { return maphash.Bytes(marks, b) }

type talks struct {
	mu     sync.Mutex
	all    map[string]*list.Element
	lately list.List        // of *talk: whoever was silent for longest is last
	forgot map[string]int64 // by agent, as of when its talks hold nothing that was forgotten
}

// forget lets go of every talk of an agent of whom something was forgotten: it may be quoted in them (Z16).
func (t *talks) forget(agent string, times int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.forgot == nil {
		t.forgot = map[string]int64{}
	}
	if t.forgot[agent] == times {
		return
	}
	t.forgot[agent] = times
	for key, each := range t.all {
		if strings.HasPrefix(key, agent+"\x00") {
			t.lately.Remove(each)
			delete(t.all, key)
		}
	}
}

// of finds the talk of an owner with an agent under a name. No two owners share one.
func (t *talks) of(owner, agent, conversation string, now time.Time) *talk {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := agent + "\x00" + conversation + "\x00" + owner
	at := t.all[key]
	if at == nil {
		t.makeRoom()
		at = t.lately.PushFront(&talk{key: key})
		t.all[key] = at
	} else {
		t.lately.MoveToFront(at)
	}
	found := at.Value.(*talk)
	found.mu.Lock()
	defer found.mu.Unlock()
	if now.Sub(found.last) > talkLasts {
		found.anchors, found.spoken, found.answers = nil, nil, ""
	}
	found.last = now
	return found
}

// makeRoom lets go of the talk that was silent for longest, where there are as many as may be.
func (t *talks) makeRoom() {
	if t.all == nil {
		t.all = map[string]*list.Element{}
	}
	if len(t.all) < mostTalks {
		return
	}
	silent := t.lately.Back()
	delete(t.all, t.lately.Remove(silent).(*talk).key)
}

// standing gives the anchors whose message is where it was. The others are kept: under one name a client may hold several talks
// at once, such as one that only asks for a title.
func (t *talk) standing(b *body) []anchor {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []anchor
	for _, a := range t.anchors {
		if a.at < len(b.messages) && mark(b.messages[a.at].of(b.raw)) == a.mark {
			out = append(out, a)
		}
	}
	return out
}

// anchored keeps a background. Where there are too many, the older half goes: one at a time would change what stands before
// the newest in every turn.
func (t *talk) anchored(a anchor) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, each := range t.anchors {
		if each.at == a.at && each.mark == a.mark {
			return
		}
	}
	size := len(a.text)
	for _, each := range t.anchors {
		size += len(each.text)
	}
	if len(t.anchors) >= mostAnchors || size > mostWorking {
		t.anchors = slices.Clone(t.anchors[(len(t.anchors)+1)/2:])
	}
	t.anchors = append(t.anchors, a)
}

// labelled is the label of the next answer, given the label of what stands in its prompt. Where earlier answers stand there too,
// their label counts: what they quoted may be gone from the messages, and they are not.
func (t *talk) labelled(prompt dream.Taint, answers bool) dream.Taint {
	t.mu.Lock()
	defer t.mu.Unlock()
	label := prompt
	if answers && t.answers != "" {
		label = dream.LeastTrusted(prompt, t.answers)
	}
	t.answers = dream.LeastTrusted(label, or(t.answers, label))
	return label
}

// backgrounds are the texts that are put before the model in this talk.
func (t *talk) backgrounds() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []string
	for _, a := range t.anchors {
		out = append(out, a.text)
	}
	return out
}

// heard gives what was said so far in a talk that Say holds.
func (t *talk) heard() []spoken {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.spoken)
}

func (t *talk) say(lines ...spoken) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spoken = append(t.spoken, lines...)
	if more := len(t.spoken) - mostSpoken; more > 0 {
		t.spoken = slices.Clone(t.spoken[more+mostSpoken/2:]) // half of it, so that the beginning stays the same for a while
	}
}
