package redisstore

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/store"
	"github.com/seed-56a03226/oneiros/internal/store/rooms"
)

// How much one step of an import writes at most: some milliseconds of the server.
const (
	wordsAtOnce = 4000
	bytesAtOnce = 1 << 20
)

// importer is an import in progress. After its first fault it writes nothing more.
type importer struct {
	archives
	parser
	ctx   context.Context
	token string
	step  int
	now   string // the current mark, as far as known
	next  string // the mark of a step whose outcome is unknown

	words          []any // waiting commands
	bytes          int
	counters       memory.KeptCounters
	batch          batch
	vectorRevision int64
	kept           rooms.Importer // records of rooms

	attempted int64
	groupOf   store.SumGroup // of the sums that wait
	group     []store.Sum
}

// do adds a command to the step.
func (f *importer) do(words ...any) {
	f.words = append(append(f.words, len(words)), words...)
	for i, w := range words {
		if plain, ok := w.(asJSON); ok {
			body, err := json.Marshal(plain.value)
			f.fail(err)
			f.words[len(f.words)-len(words)+i] = body
			w = body
		}
		switch w := w.(type) {
		case string:
			f.bytes += len(w)
		case []byte:
			f.bytes += len(w)
		}
	}
	if f.err == nil && (len(f.words) >= wordsAtOnce || f.bytes >= bytesAtOnce) {
		f.fail(f.flush())
	}
}

// flush writes the waiting commands.
func (f *importer) flush() error {
	if err := f.flushBatch(); err != nil || len(f.words) == 0 {
		return err
	}
	words := f.words
	f.words, f.bytes = nil, 0
	return f.advance(func(before, after string) (any, error) {
		return f.run(f.ctx, fillScript, nil, append([]any{before, after}, words...)...)
	})
}

// end writes everything that waits.
func (f *importer) end() error {
	f.flushSums()
	f.do("DEL", f.root(summedKey)) // the totals of these rows are added up when they are first asked for
	if f.err != nil {
		return f.err
	}
	return f.flush()
}

// advance runs a step under the current mark, which leaves the next one.
func (f *importer) advance(do func(before, after string) (any, error)) error {
	f.step++
	f.next = f.token + " " + strconv.Itoa(f.step)
	return f.checkMark(do(f.now, f.next))
}

func (f *importer) checkMark(reply any, err error) error {
	if err != nil {
		return err
	}
	args, _ := reply.([]any)
	if text(args, 0) != "ok" {
		return fmt.Errorf("%w: their mark is %q", errLost, text(args, 1))
	}
	f.now, f.next = f.next, ""
	return nil
}

// recoverMark finds out which mark is current after a step whose outcome is unknown, and drops the waiting commands.
func (f *importer) recoverMark() error {
	f.words, f.bytes, f.batch = nil, 0, batch{}
	if f.next == "" {
		return nil
	}
	stands, err := f.currentMark(f.ctx)
	if err != nil {
		return err
	}
	if stands != f.now && stands != f.next {
		return errLost
	}
	f.now, f.next = stands, ""
	return nil
}

// mark ends the import: the keys are complete, or empty.
func (f *importer) mark(last string) error {
	f.next = last
	reply, err := f.run(f.ctx, fillScript, nil, f.now, last)
	return f.checkMark(reply, err)
}

func (f *importer) importRecord(r memory.Record) error {
	switch {
	case r.Feed != nil:
		f.do("HSET", f.root(feedsKey), r.Feed.Name, []byte(r.Feed.Body))
	case r.Agent != nil:
		k := r.Agent
		f.fail(store.CheckAgent(*k))
		f.do("HSET", f.root(agentsKey), k.ID, []byte(k.Body))
		f.do("HSET", f.root(handlesKey), k.Handle, k.ID)
	case r.Key != nil:
		k := r.Key
		f.do("HSET", f.root(keysKey), k.ID, []byte(k.Body))
		f.do("HSET", f.root(keyHashesKey), k.Hash, k.ID)
	case r.Access != nil:
		f.do("SET", f.root(keysRequiredKey), map[bool]string{true: "1", false: "0"}[r.Access.KeysRequired])
	case r.Counters != nil:
		f.importCounters(*r.Counters)
	case r.Lease != nil:
		l := r.Lease
		f.do("HSET", f.key(l.Agent, leasesPart), l.Client,
			asJSON{storedLease{l.Client, presence.CauseOf(l.Cause), date(l.Since), date(l.Until)}})
	case r.Slot != nil:
		f.slot(*r.Slot)
	case r.Affect != nil:
		a := r.Affect
		f.do("RPUSH", f.key(a.Agent, affectsPart), asJSON{store.Affect{Cause: a.Cause, Affect: a.Affect}})
	case r.Item != nil:
		f.fail(f.item(*r.Item))
	case r.Event != nil:
		e := r.Event
		envelope, data, err := encodeEvent(store.EventOf(*e))
		f.fail(err)
		f.do("XADD", f.key(e.Agent, "events"), fmt.Sprintf("%d-0", e.Seq), "e", envelope, "d", data)
		f.do("SADD", f.key(e.Agent, "announced"), e.ID)
	case r.Note != nil:
		f.do("HSET", f.notesKey(r.Note.Agent, r.Note.Dream), r.Note.Key, r.Note.Value)
	case r.Room != nil:
		f.roomRecord(*r.Room)
	default:
		f.ledger(r)
	}
	return f.err
}

// asJSON is a word of a command that is sent as JSON.
type asJSON struct{ value any }

func (f *importer) importCounters(k memory.KeptCounters) {
	f.fail(f.flushBatch()) // the waiting items belong to the agent before
	f.counters, f.vectorRevision = k, 0
	words := []any{"HSET", f.key(k.Agent, countersPart), "pulse", 1, "fed", 1, "tallied", 1, "unsettled", 1}
	set := func(name string, value any) { words = append(words, name, value) }
	for _, n := range []struct {
		name  string
		value any
	}{
		{"seq", k.Seq},
		{"dreams", k.Dreams},
		{"scrubs", k.Scrubs},
		{"dim", int64(k.Dim)},
		{"epoch", k.Epoch},
		{"told", k.RecordedEpoch},
		{"space", k.Space},
		{"lock", date(k.Lock)},
		{"seen", date(k.Seen)},
		{undoFromField, date(k.Undo)},
		{detailsFromField, date(k.Details)},
	} {
		if n.value != int64(0) && n.value != "" {
			set(n.name, n.value)
		}
	}
	if k.Removed {
		set("removed", 1)
	}
	if len(k.Digest) > 0 {
		set("digest", asJSON{k.Digest})
	}
	if w := k.Wake; w != nil {
		set("last", asJSON{storedWake{
			Agent:  k.Agent,
			Epoch:  w.Epoch,
			Cause:  presence.CauseOf(w.Cause),
			Client: w.Client,
			At:     date(w.At),
			Dream:  w.Dream,
			Digest: w.Digest,
			Affect: &importedAffect{w.Affect, w.Delta},
		}})
	}
	f.do(words...)
	for _, c := range k.Collecting {
		f.do("HSET", f.key(k.Agent, "spaces"), c.Space, c.Dim)
	}
	if k.RecordedEpoch < k.Epoch {
		f.do("SADD", f.root(unrecordedKey), escaped.Replace(k.Agent))
	}
}

func (f *importer) slot(k memory.KeptSlot) {
	key := f.key(k.Agent, slotPart)
	words := []any{
		"HSET", key, "dream", k.Dream, "run", k.Run, "epoch", k.Epoch, "workflow", k.Workflow, "cluster",
		k.Cluster, "since", date(k.Since),
	}
	if k.Mood != nil {
		words = append(words, "mood", asJSON{k.Mood})
	}
	f.do(words...)
	f.do("HSET", f.root("slots"), k.Agent, key)
}
