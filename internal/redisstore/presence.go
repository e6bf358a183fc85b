package redisstore

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/mood"
	"github.com/seed-56a03226/oneiros/internal/presence"
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
	Agent  string           `json:"agent"`
	Epoch  int64            `json:"epoch"`
	Cause  presence.Cause   `json:"cause"`
	Client string           `json:"client"`
	At     string           `json:"at"`
	Dream  string           `json:"dream"`
	Before *storedAffect    `json:"before"` // the newest of the agent's affects; nil when there was none
	After  *memory.Foreseen `json:"after"`  // what the dream would leave; nil when the affect did not change
	Digest []string         `json:"digest"`
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

// unrecordedKey is the key of the set of agents with a wake that no workflow has recorded.
func (s *Store) unrecordedKey() string { return s.set.prefix + "unheard" }

// Arrive carries out a visit in one script (decision 16). When the reply is lost it asks again with the same token, so
// that the visit that raised the epoch still returns Raised.
func (s *Store) Arrive(ctx context.Context, v presence.Visit) (presence.Arrival, error) {
	a, err := s.arrive(ctx, v)
	if err != nil {
		return presence.Arrival{}, fmt.Errorf("visit of %q to %s: %w", v.Client, v.Agent, err)
	}
	return a, nil
}

func (s *Store) arrive(ctx context.Context, v presence.Visit) (presence.Arrival, error) {
	if err := v.Validate(); err != nil {
		return presence.Arrival{}, err
	}
	began, ringer := time.Now(), ""
	if v.Notify {
		ringer = s.self
	}
	keys := []string{
		s.key(v.Agent, countersPart), s.key(v.Agent, slotPart), s.key(v.Agent, leasesPart),
		s.key(v.Agent, affectsPart), s.unrecordedKey(),
	}
	reply, err := s.run(ctx, again, arriveScript, keys, v.Agent, v.Client, string(v.Cause),
		date(v.Now), date(v.Now.Add(v.For)), date(v.Now.Add(v.Lock)), rand.Text(), escaped.Replace(v.Agent),
		v.Handle, ringer, s.channel())
	if err != nil {
		return presence.Arrival{}, err
	}
	values, err := texts(reply)
	if err != nil {
		return presence.Arrival{}, err
	}
	if len(values) == 0 {
		return presence.Arrival{}, fmt.Errorf("no agent %s has the handle %q: %w", v.Agent, v.Handle,
			memory.ErrNotFound)
	}
	w, err := readWake(values[1])
	a := presence.Arrival{Wake: w, Raised: values[0] == "1"}
	if err == nil && a.Raised && v.Notify { // the script has notified the other processes
		a.Notified = true
		s.bus.deliver(presence.WakeNotice{
			Agent:  v.Agent,
			Epoch:  w.Epoch,
			Cause:  v.Cause,
			At:     v.Now,
			Raised: v.Now.Add(time.Since(began)),
			Local:  true,
		})
	}
	return a, err
}

func readWake(text string) (presence.Wake, error) {
	var k storedWake
	if err := json.Unmarshal([]byte(text), &k); err != nil {
		return presence.Wake{}, fmt.Errorf("read a kept wake: %w", err)
	}
	if k.Digest == nil { // there was no digest
		k.Digest = []string{}
	}
	at, err := parseDate(k.At)
	if err != nil {
		return presence.Wake{}, err
	}
	w := presence.Wake{
		Agent:  k.Agent,
		Epoch:  k.Epoch,
		Cause:  k.Cause,
		Client: k.Client,
		At:     at,
		Dream:  k.Dream,
		Digest: k.Digest,
	}
	if k.Before != nil {
		w.Affect = k.Before.Affect.At(at)
	}
	if k.After != nil {
		before := w.Affect
		w.Affect = k.After.Affect(k.Dream, at).At(at)
		w.Delta = before.Distance(w.Affect)
	}
	if k.Affect != nil {
		w.Affect, w.Delta = k.Affect.Affect, k.Affect.Delta
	}
	return w, nil
}

// Depart ends a client's lease.
func (s *Store) Depart(ctx context.Context, agent, client string, now time.Time,
	lock time.Duration,
) (presence.Status, error) {
	st, err := presence.Status{}, error(nil)
	switch {
	case agent == "" || client == "":
		err = errors.New("agent and client must not be empty")
	case lock < 0:
		err = fmt.Errorf("lock is %v; it must not be negative", lock)
	default:
		st, err = s.runStatus(ctx, departScript, agent, now, client, date(now), date(now.Add(lock)))
	}
	return st, wrap(err, client, " leaves ", agent)
}

// Dismiss ends every lease and the lock.
func (s *Store) Dismiss(ctx context.Context, agent string, now time.Time) (presence.Status, error) {
	st, err := s.runStatus(ctx, dismissScript, agent, now)
	return st, wrap(err, "dismiss who holds ", agent, " awake")
}

// Status returns who holds the agent awake.
func (s *Store) Status(ctx context.Context, agent string, now time.Time) (presence.Status, error) {
	st, err := s.runStatus(ctx, statusScript, agent, now)
	return st, wrap(err, "standing of ", agent)
}

// runStatus runs a script that returns a status, and parses it.
func (s *Store) runStatus(ctx context.Context, script *redis.Script, agent string, now time.Time,
	args ...any,
) (presence.Status, error) {
	if agent == "" {
		return presence.Status{}, errors.New("agent is empty")
	}
	reply, err := s.run(ctx, again, script, []string{s.key(agent, countersPart), s.key(agent, leasesPart)}, args...)
	if err != nil {
		return presence.Status{}, err
	}
	values, err := texts(reply)
	if err != nil {
		return presence.Status{}, err
	}
	st, err := readStatus(values, now)
	if err != nil {
		return presence.Status{}, err
	}
	return st, nil
}

// readStatus parses epoch, recorded epoch, lock, seen, last wake, visited and leases.
func readStatus(texts []string, now time.Time) (presence.Status, error) {
	var st presence.Status
	for i := range 2 {
		if texts[i] == "" {
			texts[i] = "0"
		}
	}
	n, err := numbers(texts[:2])
	if err != nil {
		return st, err
	}
	st.Epoch, st.Recorded = n[0], n[1]
	st.Lock, err = parseDate(texts[2])
	if err != nil {
		return st, err
	}
	st.Seen, err = parseDate(texts[3])
	if err != nil {
		return st, err
	}
	if texts[4] != "" {
		w, err := readWake(texts[4])
		if err != nil {
			return st, err
		}
		st.Last = &w
	}
	st.Visited = texts[5] != ""
	for _, text := range texts[6:] {
		l, err := readLease(text)
		if err != nil {
			return st, err
		}
		if l.Until.After(now) {
			st.Leases = append(st.Leases, l)
		}
	}
	slices.SortFunc(st.Leases, func(a, b presence.Lease) int { return strings.Compare(a.Client, b.Client) })
	return st, nil
}

func readLease(text string) (presence.Lease, error) {
	var k storedLease
	if err := json.Unmarshal([]byte(text), &k); err != nil {
		return presence.Lease{}, fmt.Errorf("read a kept lease: %w", err)
	}
	since, err := parseDate(k.Since)
	if err != nil {
		return presence.Lease{}, err
	}
	until, err := parseDate(k.Until)
	return presence.Lease{Client: k.Client, Cause: k.Cause, Since: since, Until: until}, err
}

// Epoch returns the agent's current epoch.
func (s *Store) Epoch(ctx context.Context, agent string) (int64, error) {
	var epoch int64
	err := s.exchange(ctx, again, func(ctx context.Context, _ bool) error {
		var err error
		epoch, err = s.client.HGet(ctx, s.key(agent, countersPart), "epoch").Int64()
		return ignoreMissing(err)
	})
	return epoch, wrap(err, "epoch of ", agent)
}

// Recorded marks the wake of an epoch as recorded by the agent's workflow.
func (s *Store) Recorded(ctx context.Context, agent string, epoch int64) error {
	err := errors.New("agent is empty")
	if agent != "" {
		var reply any
		reply, err = s.run(ctx, again, recordedScript, []string{s.key(agent, countersPart), s.unrecordedKey()},
			escaped.Replace(agent), epoch)
		if newest, ok := reply.(int64); err == nil && ok && newest < epoch {
			err = fmt.Errorf("the agent's epoch is %d", newest)
		}
	}
	return wrap(err, fmt.Sprintf("note epoch %d of agent %s as recorded", epoch, agent))
}

// Unrecorded lists the newest wakes that no workflow has recorded yet.
func (s *Store) Unrecorded(ctx context.Context) (map[string]presence.Wake, error) {
	wakes := map[string]presence.Wake{}
	reply, err := s.run(ctx, again, unrecordedScript, []string{s.unrecordedKey()})
	var values []string
	if err == nil {
		values, err = texts(reply)
	}
	for _, text := range values {
		w, bad := readWake(text)
		if bad != nil {
			return nil, fmt.Errorf("list wakes that no workflow has recorded: %w", bad)
		}
		wakes[w.Agent] = w
	}
	if err != nil {
		return nil, fmt.Errorf("list wakes that no workflow has recorded: %w", err)
	}
	return wakes, nil
}
