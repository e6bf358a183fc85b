package redisstore

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/memory/past"
	"github.com/seed-56a03226/oneiros/internal/presence"
)

var commitScript = script("money", "book", "memory", "commit")

// Commit applies a Write in one script. The server runs nothing else meanwhile and writes the effects to the
// append-only file as one transaction. The script checks everything before it writes anything. Compared with WATCH and
// MULTI it needs one round trip instead of two, and never starts over because of other writers.
func (s *Store) Commit(ctx context.Context, w memory.Write) (memory.Receipt, error) {
	r, err := s.commit(ctx, w)
	if err != nil {
		return memory.Receipt{}, fmt.Errorf("commit to the memory of %s: %w", w.Agent, err)
	}
	return r, nil
}

func (s *Store) commit(ctx context.Context, w memory.Write) (memory.Receipt, error) {
	if strings.HasPrefix(w.CauseOf(), past.UndoCause) {
		return memory.Receipt{},
			fmt.Errorf("cause %q begins with %q, which only Undo may write", w.CauseOf(), past.UndoCause)
	}
	p, err := planWrite(w, s.set.now())
	if err != nil {
		return memory.Receipt{}, err
	}
	args, err := s.runMemory(ctx, commitScript, w.Agent, p.plan, p.blobs...)
	if err == nil {
		err = refusal(args)
	}
	if err != nil {
		return memory.Receipt{}, err
	}
	if len(w.Events) > 0 {
		s.local.notice(w.Agent)
	}
	return memory.Receipt{
		Added: int(integer(args, 1)), Existing: int(integer(args, 2)),
		Changed: int(integer(args, 3)), LastSeq: integer(args, 4),
	}, nil
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
func forgettingsOf(r memory.Reading) *int64 {
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
}

type preparedWrite struct {
	plan  writePlan
	blobs []any
}

func planWrite(w memory.Write, now time.Time) (preparedWrite, error) {
	p := preparedWrite{plan: writePlan{
		Token: rand.Text(),
		Agent: w.Agent,
		Fence: asHolder(w.Fence),
		Read:  forgettingsOf(w.Fence.Read),
		Late:  w.Late,
		Keep:  presence.Digested,
	}}
	if w.Late && (w.Affect != nil || w.Waking != nil) {
		return p,
			errors.New("a late write must not set Affect or Waking: the wake has fixed both")
	}
	if err := p.items(w, now); err != nil {
		return p, err
	}
	for _, v := range w.Vectors {
		if err := checkVector(v); err != nil {
			return p, err
		}
		p.plan.Vectors = append(p.plan.Vectors, vectorPlan{v.Item, v.Space, len(v.V)})
		p.blobs = append(p.blobs, packVector(v.V))
	}
	if w.Affect != nil {
		if err := p.affect(w.CauseOf(), *w.Affect); err != nil {
			return p, err
		}
	}
	for _, e := range w.Events {
		if err := p.event(w.Agent, e); err != nil {
			return p, err
		}
	}
	return p, p.waking(w)
}

func (p *preparedWrite) items(w memory.Write, now time.Time) error {
	for i, item := range w.Add {
		r, err := p.row(w, item, now)
		if err != nil {
			return fmt.Errorf("add item %d: %w", i, err)
		}
		p.plan.Add = append(p.plan.Add, r.id)
	}
	for i, item := range w.Change {
		r, err := p.row(w, item, now)
		if err != nil {
			return fmt.Errorf("change item %d: %w", i, err)
		}
		p.plan.Change = append(p.plan.Change, change{ID: r.id, Read: r.read})
	}
	return nil
}

func (p *preparedWrite) row(w memory.Write, item dream.Item, now time.Time) (row, error) {
	r, err := encodeItem(w.Agent, item, w.CauseOf(), now)
	if err != nil {
		return r, err
	}
	packed, err := r.packed()
	p.blobs = append(p.blobs, packed)
	return r, err
}

func (p *preparedWrite) event(agent string, e event.Event) error {
	if e.Agent != agent || e.ID == "" || !utf8.ValidString(e.ID) {
		return fmt.Errorf("event %q of agent %q: it needs an id of UTF-8 text, and the agent %q", e.ID, e.Agent, agent)
	}
	envelope, data, err := encodeEvent(e)
	if err != nil {
		return fmt.Errorf("event %s: %w", e.ID, err)
	}
	p.plan.Events = append(p.plan.Events, e.ID)
	p.blobs = append(p.blobs, envelope, data)
	return nil
}

func (p *preparedWrite) waking(w memory.Write) error {
	if w.Waking == nil {
		return nil
	}
	p.plan.Waking, p.plan.Digest = true, w.Waking.Digest
	if w.Waking.Mood == nil {
		return nil
	}
	if p.plan.Fence == nil {
		return errors.New("a waking mood is stored with the dreaming slot; this write names no dream")
	}
	if err := w.Waking.Mood.Validate(); err != nil {
		return fmt.Errorf("the waking mood: %w", err)
	}
	mood, err := json.Marshal(w.Waking.Foreseen())
	p.plan.Mood = true
	p.blobs = append(p.blobs, mood)
	return err
}

// storedAffect is an affect with the cause of its write, as the list of affects stores it; presence appends to that
// list too.
type storedAffect struct {
	Cause  string       `json:"cause"`
	Affect dream.Affect `json:"affect"`
}

func (p *preparedWrite) affect(cause string, a dream.Affect) error {
	if err := a.PAD.Validate(); err != nil {
		return fmt.Errorf("affect: %w", err)
	}
	body, err := json.Marshal(storedAffect{cause, a})
	p.plan.Affect = true
	p.blobs = append(p.blobs, body)
	return err
}
