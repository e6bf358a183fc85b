package sqlitestore

import (
	"fmt"
	"math"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/store"
	"github.com/seed-56a03226/oneiros/internal/store/packed"
	"github.com/seed-56a03226/oneiros/internal/store/rooms"
)

// importer inserts records into empty tables.
type importer struct {
	book
	counters memory.KeptCounters // of the agent whose records come
	rooms    rooms.Importer
}

func (f *importer) record(r memory.Record) {
	switch {
	case r.Feed != nil:
		f.put("feeds (name, body)", r.Feed.Name, string(r.Feed.Body))
	case r.Agent != nil:
		f.fail(store.CheckAgent(*r.Agent))
		f.put("agents (id, handle, body)", r.Agent.ID, r.Agent.Handle, string(r.Agent.Body))
	case r.Key != nil:
		f.requireKeys(true)
		f.put("keys (id, hash, body)", r.Key.ID, r.Key.Hash, string(r.Key.Body))
	case r.Access != nil:
		f.requireKeys(r.Access.KeysRequired)
	case r.Counters != nil:
		f.importCounters(*r.Counters)
	case r.Lease != nil:
		l := r.Lease
		f.sortable(l.Since, l.Until)
		f.put("leases (agent, client, cause, since, until)", l.Agent, l.Client, l.Cause, nanos(l.Since), nanos(l.Until))
	case r.Slot != nil:
		k := r.Slot
		f.put("slots (agent, dream, run, workflow, cluster, since, epoch, mood)", k.Agent, k.Dream, k.Run, k.Workflow,
			k.Cluster, date(k.Since), k.Epoch, moodText(k.Mood))
	case r.Affect != nil:
		a := r.Affect
		f.put("affects (agent, number, cause, body)", a.Agent, a.Number, a.Cause, jsonText{a.Affect})
	case r.Item != nil:
		f.item(*r.Item)
	case r.Event != nil:
		e := store.EventOf(*r.Event)
		short, err := packEvent(e)
		f.fail(err)
		f.putEvent(e, short)
	case r.Note != nil:
		n := r.Note
		f.put("notes (agent, dream, name, value)", n.Agent, n.Dream, n.Key, n.Value)
	case r.Room != nil:
		f.roomRecord(*r.Room)
	case r.Attempt != nil:
		f.attempt(*r.Attempt)
	case r.Sum != nil:
		f.sum(*r.Sum)
	case r.Account != nil: // the accounts are computed from the attempts and sums
	case r.Answer != nil:
		f.put("answers (step, answer)", r.Answer.Step, r.Answer.Answer)
	case r.Allowance != nil:
		a := r.Allowance
		f.put("allowances (dream, agent, day, amount)", a.Dream, a.Agent, a.Day, int64(a.Amount))
	}
}

// put inserts a row; into names a table with its columns.
func (f *importer) put(into string, values ...any) {
	f.exec("INSERT INTO "+into+" VALUES "+valuesOf(into), values...)
}

func (f *importer) importCounters(k memory.KeptCounters) {
	f.counters = k
	f.setCounters(k.Agent, agentCounters{
		seq:            k.Seq,
		dreams:         k.Dreams,
		dim:            int64(k.Dim),
		scrubs:         k.Scrubs,
		space:          k.Space,
		vectorRevision: filledVectorRevision,
		removed:        k.Removed,
		aged:           k.Aged,
	})
	for _, c := range k.Collecting {
		f.put("moves (agent, space, dim)", k.Agent, c.Space, c.Dim)
	}
	if k.Epoch == 0 && k.Lock.IsZero() && k.Seen.IsZero() && len(k.Digest) == 0 {
		return
	}
	f.sortable(k.Lock, k.Seen)
	v := presenceRow{
		epoch:    k.Epoch,
		recorded: k.RecordedEpoch,
		lock:     k.Lock,
		seen:     k.Seen,
		digest:   k.Digest,
	}
	if w := k.Wake; w != nil {
		v.last = &presence.Wake{
			Agent:  k.Agent,
			Epoch:  w.Epoch,
			Cause:  presence.CauseOf(w.Cause),
			Client: w.Client,
			At:     w.At,
			Dream:  w.Dream,
			Affect: w.Affect,
			Delta:  w.Delta,
			Digest: append([]string{}, w.Digest...),
		}
	}
	f.setPresenceRow(k.Agent, v)
}

// filledVectorRevision is the vector revision of every imported item.
const filledVectorRevision = 1

// sortable refuses times that the file could store only as its earliest or latest one.
func (f *importer) sortable(times ...time.Time) {
	for _, t := range times {
		if !t.IsZero() && !fromNanos(nanos(t)).Equal(t) {
			f.fail(fmt.Errorf("the time %s lies outside of what a SQLite store can sort, 1678 to 2262",
				t.Format(time.RFC3339)))
		}
	}
}

func (f *importer) item(k memory.KeptItem) {
	numbers := k.Numbers()
	for i, r := range k.Revisions {
		f.doing(fmt.Sprintf("item %s, revision %d", k.ID, numbers[i]), func() {
			f.sortable(r.At)
			item, err := store.ItemOf(k, r)
			if err != nil {
				f.fail(err)
				return
			}
			row := rowOf(item, string(r.Body)) // the body stays as it is
			if i+1 == len(numbers) {
				bare := f.vectors(k, row)
				f.putItem(row, numbers[i], bare, r.Cause, r.At.UnixNano(), filledVectorRevision)
				return
			}
			kept := storeText(row.body, row.head.Dream, k.ID)
			f.put("revisions (agent, id, number, kind, cause, at, body, packed)", k.Agent, k.ID, numbers[i], k.Kind,
				r.Cause, r.At.UnixNano(), kept.text, kept.packed)
		})
	}
}

// vectors inserts the vectors of an item, and reports whether it has none in the agent's space.
func (f *importer) vectors(k memory.KeptItem, r row) (bare bool) {
	bare = true
	for _, v := range k.Vectors {
		bare = bare && (v.Space != f.counters.Space || k.Agent != f.counters.Agent)
		numbers := make([]float32, len(v.V)/4)
		f.fail(packed.ReadPlainVector(v.V, numbers))
		kept := storeVector(numbers, r.head.Dream)
		f.put("vectors (agent, id, space, kind, live, v, numbers)", k.Agent, k.ID, v.Space, k.Kind,
			r.head.State == dream.Live, kept.v, kept.numbers)
	}
	return bare
}

func (f *importer) attempt(a store.Attempt) {
	accounts, err := storeAccounts(a)
	f.fail(err)
	f.putAttempt(a, accounts)
	column := "spent"
	if a.State == memory.OpenAttempt {
		column = "reserved"
	}
	for scope := range f.balances(a.Accounts) {
		f.count(scope, column, a.Counted)
	}
}

// count adds an amount to an account; column is reserved or spent.
func (f *importer) count(scope, column string, amount budget.Micros) {
	f.exec("INSERT INTO accounts (scope, reserved, spent) VALUES (?, 0, 0) ON CONFLICT DO NOTHING", scope)
	f.exec("UPDATE accounts SET "+column+" = min(?, "+column+") + ? WHERE scope = ?",
		math.MaxInt64-int64(amount), int64(amount), scope)
}
