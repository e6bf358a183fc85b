package redisstore

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/store"
	"github.com/seed-56a03226/oneiros/internal/store/packed"
)

var commitScript = script("money", "book", "memory", "commit")

// Commit applies a Write in one script. The server runs nothing else meanwhile and writes the effects to the
// append-only file as one transaction. The script checks everything before it writes anything. Compared with WATCH and
// MULTI it needs one round trip instead of two, and never starts over because of other writers.
func (s items) Commit(ctx context.Context, w memory.Write) (memory.Receipt, error) {
	var p preparedWrite
	var args []any
	err := w.Validate()
	if err == nil {
		p, err = s.planWrite(w)
	}
	if err == nil {
		args, err = s.apply(ctx, commitScript, w.Agent, p.plan, p.blobs...)
	}
	if err == nil {
		s.acknowledged.note(p.plan.Token)
	}
	if err == nil && len(w.Events) > 0 {
		s.log.waiters.Notify(w.Agent)
	}
	r := memory.Receipt{
		Added: int(integer(args, 1)), Existing: int(integer(args, 2)),
		Changed: int(integer(args, 3)), LastSeq: integer(args, 4),
	}
	return store.Result(r, err, "commit to the memory of ", w.Agent)
}

// holder is a fence in the form that scripts read.
type holder struct {
	Dream string `json:"dream"`
	Run   string `json:"run"`
	Epoch int64  `json:"epoch"`
}

func asHolder(f memory.Fence) *holder {
	if f.Awake() {
		return nil
	}
	return &holder{f.Dream, f.Run, f.Epoch}
}

// forgettingsOf is a reading in the form that scripts read: the agent's forgettings at that time, or nil.
func forgettingsOf(r memory.SeenForgettings) *int64 {
	if !r.Set {
		return nil
	}
	return &r.Forgettings
}

type change struct {
	ID   string `json:"id"`
	Read int    `json:"read"`
	Same bool   `json:"same,omitempty"` // add a revision even if it equals the newest
}

type vectorPlan struct {
	Item  string `json:"item"`
	Space string `json:"space"`
	Dim   int    `json:"dim"`
}

// writePlan is a Write in the form that commit.lua reads. Rows of Add and Change follow in that order, then vectors,
// the affect, two values for each event, and the mood.
type writePlan struct {
	Token   string       `json:"token"`
	Agent   string       `json:"agent"`
	At      string       `json:"at"` // a score of replacedOrder
	Fence   *holder      `json:"fence,omitempty"`
	Read    *int64       `json:"read,omitempty"`
	Late    bool         `json:"late,omitempty"`
	Add     []string     `json:"add,omitempty"`
	Change  []change     `json:"change,omitempty"`
	Vectors []vectorPlan `json:"vectors,omitempty"`
	Affect  bool         `json:"affect,omitempty"`
	Events  []string     `json:"events,omitempty"`
	Waking  bool         `json:"waking,omitempty"`
	Mood    bool         `json:"mood,omitempty"`
	Digest  []string     `json:"digest,omitempty"`
	Keep    int          `json:"keep"`
	// Undo writes only if there were no writes since it read: the agent's pulse, and the number of affects.
	Version *int64 `json:"pulse,omitempty"`
	Affects int64  `json:"affects"`
	// Channel is where new events are announced.
	Channel string `json:"channel"`
}

type preparedWrite struct {
	parser
	plan  writePlan
	blobs []any
}

func (s *server) planWrite(w memory.Write) (preparedWrite, error) {
	now := s.set.now()
	p := preparedWrite{plan: writePlan{
		Token:   rand.Text(),
		Agent:   w.Agent,
		At:      micros(now),
		Fence:   asHolder(w.Fence),
		Read:    forgettingsOf(w.Fence.Read),
		Late:    w.Late,
		Affect:  w.Affect != nil,
		Channel: s.channel(eventChannel),
		Waking:  w.OnWake != nil,
		Keep:    presence.Digested,
	}}
	for _, item := range w.Add {
		p.plan.Add = append(p.plan.Add, p.row(w, item, now).id)
	}
	for _, item := range w.Change {
		r := p.row(w, item, now)
		p.plan.Change = append(p.plan.Change, change{ID: r.id, Read: r.read})
	}
	for _, v := range w.Vectors {
		p.plan.Vectors = append(p.plan.Vectors, vectorPlan{v.Item, v.Space, len(v.V)})
		p.blobs = append(p.blobs, packed.PlainVector(v.V))
	}
	if w.Affect != nil {
		p.blob(store.Affect{Cause: w.CauseOf(), Affect: *w.Affect})
	}
	for _, e := range w.Events {
		envelope, data, err := encodeEvent(e)
		p.fail(store.Wrap(err, "event ", e.ID))
		p.plan.Events = append(p.plan.Events, e.ID)
		p.blobs = append(p.blobs, envelope, data)
	}
	if w.OnWake != nil {
		p.plan.Digest = w.OnWake.Digest
		if mood := w.OnWake.MoodOnWake(); mood != nil {
			p.plan.Mood = true
			p.blob(mood)
		}
	}
	return p, p.err
}

// row adds the row of an item.
func (p *preparedWrite) row(w memory.Write, item dream.Item, now time.Time) row {
	r, err := encodeItem(w.Agent, item, w.CauseOf(), now)
	p.fail(err)
	short, err := r.packed()
	p.fail(err)
	p.blobs = append(p.blobs, short)
	return r
}

// blob adds a value as JSON.
func (p *preparedWrite) blob(value any) {
	body, err := json.Marshal(value)
	p.fail(err)
	p.blobs = append(p.blobs, body)
}
