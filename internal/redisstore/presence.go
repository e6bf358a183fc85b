package redisstore

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/store"
)

var (
	arriveScript     = script("awake", "arrive")
	departScript     = script("awake", "depart")
	dismissScript    = script("awake", "dismiss")
	statusScript     = script("awake", "standing")
	recordedScript   = script("told")
	unrecordedScript = script("untold")
)

// storedWake is a stored wake, with the affects before and after, from which Delta is computed.
type storedWake struct {
	Agent  string             `json:"agent"`
	Epoch  int64              `json:"epoch"`
	Cause  presence.Cause     `json:"cause"`
	Client string             `json:"client"`
	At     string             `json:"at"`
	Dream  string             `json:"dream"`
	Before *store.Affect      `json:"before"` // the newest of the agent's affects; nil when there was none
	After  *memory.MoodOnWake `json:"after"`  // what the dream would leave; nil when the affect did not change
	Digest []string           `json:"digest"`
	// For an imported wake: its affect and delta, instead of Before and After.
	Affect *importedAffect `json:"told,omitempty"`
}

// importedAffect is the affect and delta of an imported wake.
type importedAffect struct {
	Affect mood.PAD `json:"affect"`
	Delta  float64  `json:"delta"`
}

// storedLease is a presence.Lease with times that scripts can compare.
type storedLease struct {
	Client string         `json:"client"`
	Cause  presence.Cause `json:"cause"`
	Since  string         `json:"since"`
	Until  string         `json:"until"`
}

// visits keeps who holds agents awake, and their epochs.
type visits struct {
	*server
	bus   *wakeBus
	queue *visitQueue
}

// Arrive carries out a visit in one script (decision 16). When the reply is lost it asks again with the same token, so
// that the visit that raised the epoch still returns Raised.
func (s visits) Arrive(ctx context.Context, v presence.Visit) (presence.Arrival, error) {
	err := v.Validate()
	var a presence.Arrival
	if err == nil {
		err = requireRights(ctx, s.server)
	}
	if err == nil {
		a, err = s.arrive(ctx, v)
	}
	return store.Result(a, err, fmt.Sprintf("visit of %q to %s", v.Client, v.Agent))
}

func (s visits) arrive(ctx context.Context, v presence.Visit) (a presence.Arrival, err error) {
	began, ringer := time.Now(), ""
	if v.Notify {
		ringer = s.self
	}
	keys := []string{
		s.key(v.Agent, countersPart), s.key(v.Agent, slotPart), s.key(v.Agent, leasesPart),
		s.key(v.Agent, affectsPart), s.root(unrecordedKey),
	}
	values, err := s.queue.send(ctx, s.server, keys, v.Agent, v.Client, string(v.Cause),
		date(v.Now), date(v.Now.Add(v.For)), date(v.Now.Add(v.Lock)), rand.Text(), escaped.Replace(v.Agent),
		v.Handle, ringer, s.channel(wakeChannel))
	if err == nil && len(values) == 0 {
		err = fmt.Errorf("no agent %s has the handle %q: %w", v.Agent, v.Handle, memory.ErrNotFound)
	}
	if err != nil {
		return a, err
	}
	a.Wake, err = readWake(values[1])
	a.Raised = values[0] == "1"
	if err == nil && a.Raised && v.Notify { // the script has notified the other processes
		a.Notified = true
		s.bus.local.Deliver(presence.WakeNotice{
			Agent:  v.Agent,
			Epoch:  a.Epoch,
			Cause:  v.Cause,
			At:     v.Now,
			Raised: v.Now.Add(time.Since(began)),
			Local:  true,
		})
	}
	return a, err
}

func readWake(text string) (presence.Wake, error) {
	var p parser
	var k storedWake
	p.json(text, &k)
	w := presence.Wake{
		Agent:  k.Agent,
		Epoch:  k.Epoch,
		Cause:  k.Cause,
		Client: k.Client,
		At:     p.time(k.At),
		Dream:  k.Dream,
		Digest: k.Digest,
	}
	if w.Digest == nil { // there was no digest
		w.Digest = []string{}
	}
	if k.Before != nil {
		w.Affect = k.Before.Affect.At(w.At)
	}
	if k.After != nil {
		before := w.Affect
		w.Affect = k.After.Affect(k.Dream, w.At).At(w.At)
		w.Delta = before.Distance(w.Affect)
	}
	if k.Affect != nil {
		w.Affect, w.Delta = k.Affect.Affect, k.Affect.Delta
	}
	return store.Result(w, p.err, "read a kept wake")
}

// Depart ends a client's lease.
func (s visits) Depart(ctx context.Context, agent, client string, now time.Time,
	lock time.Duration,
) (presence.Status, error) {
	var st presence.Status
	err := store.CheckDeparture(agent, client, lock)
	if err == nil {
		st, err = s.status(ctx, departScript, agent, now, client, date(now), date(now.Add(lock)))
	}
	return st, store.Wrap(err, client, " leaves ", agent)
}

// Dismiss ends every lease and the lock.
func (s visits) Dismiss(ctx context.Context, agent string, now time.Time) (presence.Status, error) {
	st, err := s.status(ctx, dismissScript, agent, now)
	return st, store.Wrap(err, "dismiss the clients of ", agent)
}

// Status returns who holds the agent awake.
func (s visits) Status(ctx context.Context, agent string, now time.Time) (presence.Status, error) {
	st, err := s.status(ctx, statusScript, agent, now)
	return st, store.Wrap(err, "status of ", agent)
}

// status runs a script that returns a status: epoch, recorded epoch, lock, seen, last wake, visited and leases.
func (s visits) status(ctx context.Context, script *redis.Script, agent string, now time.Time,
	args ...any,
) (st presence.Status, err error) {
	if agent == "" {
		return st, errNoAgent
	}
	values, err := s.runTexts(ctx, script, []string{s.key(agent, countersPart), s.key(agent, leasesPart)}, args...)
	if err != nil {
		return st, err
	}
	var p parser
	st.Epoch, st.Recorded = p.number(values[0]), p.number(values[1])
	st.Lock, st.Seen = p.time(values[2]), p.time(values[3])
	if values[4] != "" {
		w, err := readWake(values[4])
		p.fail(err)
		st.Last = &w
	}
	st.Visited = values[5] != ""
	for _, text := range values[6:] {
		l, err := readLease(text)
		p.fail(err)
		if l.Until.After(now) {
			st.Leases = append(st.Leases, l)
		}
	}
	slices.SortFunc(st.Leases, func(a, b presence.Lease) int { return strings.Compare(a.Client, b.Client) })
	return store.Result(st, p.err, "read a kept status")
}

func readLease(text string) (presence.Lease, error) {
	var p parser
	var k storedLease
	p.json(text, &k)
	l := presence.Lease{Client: k.Client, Cause: k.Cause, Since: p.time(k.Since), Until: p.time(k.Until)}
	return store.Result(l, p.err, "read a kept lease")
}

// Epoch returns the agent's current epoch.
func (s visits) Epoch(ctx context.Context, agent string) (int64, error) {
	epoch, err := s.counter(ctx, agent, "epoch")
	return epoch, store.Wrap(err, "epoch of ", agent)
}

// Recorded marks the wake of an epoch as recorded by the agent's workflow.
func (s visits) Recorded(ctx context.Context, agent string, epoch int64) error {
	err := errNoAgent
	if agent != "" {
		var reply any
		reply, err = s.run(ctx, recordedScript, []string{s.key(agent, countersPart), s.root(unrecordedKey)},
			escaped.Replace(agent), epoch)
		if newest, ok := reply.(int64); err == nil && ok && newest < epoch {
			err = fmt.Errorf("epoch %d cannot have been recorded; the agent's newest is %d", epoch, newest)
		}
	}
	return store.Wrap(err, "note the epoch that the workflow of ", agent, " has recorded")
}

// Unrecorded lists the newest wakes that no workflow has recorded yet.
func (s visits) Unrecorded(ctx context.Context) (map[string]presence.Wake, error) {
	wakes := map[string]presence.Wake{}
	values, err := s.runTexts(ctx, unrecordedScript, []string{s.root(unrecordedKey)})
	for i := 0; err == nil && i < len(values); i++ {
		var w presence.Wake
		w, err = readWake(values[i])
		wakes[w.Agent] = w
	}
	return store.Result(wakes, err, "wakes that no workflow has recorded")
}
