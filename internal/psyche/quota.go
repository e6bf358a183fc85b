package psyche

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// How old the counts of an agent's memories by owner may be. Between two readings what this process adds is counted;
// several processes may exceed a quota by what each adds in the meantime. When a quota is reached, counts are read
// again sooner, to find memories that were removed.
const (
	countsLast     = 10 * time.Minute
	countsLastFull = 10 * time.Second
)

// Kept is what an agent keeps of what a caller said.
type Kept struct {
	Memories int `json:"memories"`        // live ones
	Limit    int `json:"limit,omitempty"` // the most there may be; 0: no limit but the principal's
	// nothing more of the caller's is remembered: its limit or its principal's is reached
	Full bool `json:"full"`
}

// quotas bound how many live memories an agent has of one principal, and of one user of it.
type quotas struct {
	memory                 memory.Store
	now                    func() time.Time
	ofPrincipal, ofOneUser int // 0: no bound

	mu     sync.Mutex
	held   map[string]*ownerCounts // by agent
	writes int64                   // number of additions
	warned map[[2]string]time.Time // last warning, by agent and owner
}

// ownerCounts are the numbers of an agent's live memories by owner.
type ownerCounts struct {
	at     time.Time
	counts map[Owner]int
}

func (o *ownerCounts) total() int {
	n := 0
	for _, each := range o.counts {
		n += each
	}
	return n
}

func newQuotas(s memory.Store, now func() time.Time, o Options) *quotas {
	return &quotas{
		memory:      s,
		now:         now,
		ofPrincipal: o.MemoriesPerPrincipal,
		ofOneUser:   o.MemoriesPerUser,
		held:        map[string]*ownerCounts{},
		warned:      map[[2]string]time.Time{},
	}
}

// ofCaller is the caller as a single owner.
func ofCaller(c Caller) Owner {
	return Owner{Principal: c.Key.PrincipalName(), User: c.User}
}

// countKept counts an agent's memories of what a caller said.
func (q *quotas) countKept(ctx context.Context, agent string, c Caller) (k Kept, err error) {
	q.mu.Lock()
	if held := q.held[agent]; held != nil {
		k = q.keptOf(held, c)
		age := q.now().Sub(held.at)
		if age >= 0 && (age < countsLastFull || age < countsLast && !k.Full) {
			q.mu.Unlock()
			return k, nil
		}
	}
	writes := q.writes
	q.mu.Unlock()
	counts, err := q.read(ctx, agent)
	if err != nil {
		return k, err
	}
	k = q.keptOf(counts, c)
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.held) >= mostRead {
		clear(q.held)
	}
	if q.writes == writes { // otherwise additions meanwhile may be missing, and the next caller reads again
		q.held[agent] = counts
	}
	return k, nil
}

// read counts an agent's memories.
func (q *quotas) read(ctx context.Context, agent string) (*ownerCounts, error) {
	read := &ownerCounts{at: q.now(), counts: map[Owner]int{}}
	byOrigin, err := q.memory.Owners(ctx, agent)
	if err != nil {
		return nil, err
	}
	for origin, n := range byOrigin {
		if o, ok := OwnerOf(origin); ok {
			read.counts[o] = n
		}
	}
	return read, nil
}

// drop has an agent's counts read again.
func (q *quotas) drop(agent string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.writes++
	delete(q.held, agent)
}

// warnsEach is how often a warning about one owner's quota is repeated.
const warnsEach = time.Minute

// warns reports whether a warning about an owner's quota is due.
func (q *quotas) warns(agent, owner string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	key, now := [2]string{agent, owner}, q.now()
	if last, ok := q.warned[key]; ok && now.Sub(last) < warnsEach {
		return false
	}
	if len(q.warned) >= mostRead {
		clear(q.warned)
	}
	q.warned[key] = now
	return true
}

// keptOf returns how many memories there are of a caller, and whether the quota is reached.
func (q *quotas) keptOf(held *ownerCounts, c Caller) Kept {
	who, all := ofCaller(c), 0
	for o, n := range held.counts {
		if o.Principal == who.Principal {
			all += n
		}
	}
	k := Kept{Memories: held.counts[who], Limit: q.ofPrincipal, Full: q.ofPrincipal > 0 && all >= q.ofPrincipal}
	if who.User != "" {
		k.Limit = q.ofOneUser
		k.Full = k.Full || q.ofOneUser > 0 && k.Memories >= q.ofOneUser
	}
	return k
}

// added counts what was just stored.
func (q *quotas) added(agent string, c Caller, n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.writes++
	if held := q.held[agent]; held != nil {
		held.counts[ofCaller(c)] += n
	}
}

// errQuota says that a caller's quota of memories is reached.
var errQuota = errors.New("the quota of memories is reached")

// checkQuota returns errQuota when an agent has as many memories of a caller as it may. It is called before any paid
// call for a new memory.
func (b *memoryWriter) checkQuota(ctx context.Context, a dream.Agent, c Caller) error {
	if b.quotas.ofPrincipal == 0 && (c.User == "" || b.quotas.ofOneUser == 0) {
		return nil
	}
	kept, err := b.quotas.countKept(ctx, a.ID, c)
	if err != nil || !kept.Full {
		return err
	}
	b.counts.add("full", 1)
	if b.quotas.warns(a.ID, c.Owner()) {
		b.Log.WarnContext(ctx, "an exchange is not remembered: a quota of memories is reached", "agent",
			a.Handle,
			"principal", c.Key.PrincipalName(), "per_principal", b.quotas.ofPrincipal, "per_user", b.quotas.ofOneUser)
	}
	return errQuota
}

// keepTalk stores what a caller said, with a note of its owner before and after.
func (b *memoryWriter) keepTalk(ctx context.Context, a dream.Agent, c Caller, w memory.Write) error {
	if len(w.Add) == 0 {
		return nil
	}
	if err := b.knownOwners.note(ctx, a.ID, c.Owner()); err != nil {
		return err
	}
	added, err := b.commitOwned(ctx, c.Owner(), w)
	if err != nil {
		return err
	}
	b.quotas.added(a.ID, c, added)
	return b.knownOwners.note(ctx, a.ID, c.Owner())
}

// commitOwned commits a write. Where a memory of the same words under the same id belongs to another owner by now, the
// new one gets another id: an id derives from who said it first.
func (b *memoryWriter) commitOwned(ctx context.Context, owner string, w memory.Write) (int, error) {
	receipt, err := b.commit(ctx, w)
	if err != nil || receipt.Existing == 0 {
		return receipt.Added, err
	}
	ids := make([]string, len(w.Add))
	for i, item := range w.Add {
		ids[i] = item.Header().ID
	}
	items, err := b.Memory.Get(ctx, w.Agent, ids...)
	if err != nil {
		return receipt.Added, err
	}
	given := map[string]bool{}
	for _, e := range memory.As[*dream.Episode](items) {
		given[e.ID] = e.Origin != owner
	}
	again := memory.Write{Agent: w.Agent, Cause: w.Cause, Fence: w.Fence}
	for _, e := range memory.As[*dream.Episode](w.Add) {
		if !given[e.ID] {
			continue
		}
		old := e.ID
		e.ID = idOf(w.Agent, owner, old, e.Content)
		again.Add = append(again.Add, e)
		for _, v := range w.Vectors {
			if v.Item == old {
				v.Item = e.ID
				again.Vectors = append(again.Vectors, v)
			}
		}
	}
	if len(again.Add) == 0 {
		return receipt.Added, nil
	}
	more, err := b.commit(ctx, again)
	return receipt.Added + more.Added, err
}

// quotaFault is the fault for a request beyond the caller's quota.
func quotaFault() *Fault {
	return Refuse(http.StatusForbidden, "memory_quota", "",
		"the agent keeps as many memories of this principal or user as serve.memories_per_principal and serve.memories_per_user allow; "+
			"forget some, or raise the limit")
}

// full reports whether an error is a reached quota, which fails no turn.
func full(err error) bool { return errors.Is(err, errQuota) }
