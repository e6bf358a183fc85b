package sqlitestore

import (
	"database/sql"
	"math"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/presence"
)

// presenceRow is what the store keeps about an agent being awake, without the leases.
type presenceRow struct {
	epoch, recorded int64
	lock, seen      time.Time
	last            *presence.Wake
	visited         bool     // a client connected while the last wake left the agent asleep
	digest          []string // journal entries for the next wake
	exists          bool
}

// keptWake is the newest wake as it is stored, with what followed it.
type keptWake struct {
	presence.Wake
	Visited bool `json:"visited,omitempty"`
}

func (d *tx) presenceRow(agent string) (v presenceRow) {
	var kept *keptWake
	v.exists = d.one("SELECT epoch, told, lock, seen, wake, digest FROM presences WHERE agent = ?", []any{agent},
		&v.epoch, &v.recorded, (*sortedTime)(&v.lock), (*sortedTime)(&v.seen), jsonText{&kept}, jsonText{&v.digest})
	if len(v.digest) == 0 {
		v.digest = nil
	}
	v.last, v.visited = kept.wake()
	return v
}

// wake is the wake that was kept, and whether a client connected since; nil when none was.
func (k *keptWake) wake() (last *presence.Wake, visited bool) {
	if k == nil {
		return nil, false
	}
	if k.Digest == nil { // it was imported
		k.Digest = []string{}
	}
	return &k.Wake, k.Visited
}

func (d *tx) setPresenceRow(agent string, v presenceRow) {
	var wake any = ""
	if v.last != nil {
		wake = jsonText{keptWake{*v.last, v.visited}}
	}
	if v.digest == nil {
		v.digest = []string{}
	}
	d.exec(`INSERT INTO presences (agent, epoch, told, lock, seen, wake, digest) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (agent) DO UPDATE SET epoch = excluded.epoch, told = excluded.told, lock = excluded.lock, seen = excluded.seen,
		wake = excluded.wake, digest = excluded.digest`, agent, v.epoch, v.recorded, sortedTime(v.lock),
		sortedTime(v.seen), wake, jsonText{v.digest})
}

// until is the time when the last lease and the lock have ended.
func (d *tx) until(agent string, v presenceRow) time.Time {
	var latest sql.NullInt64
	var n int // counted only because SQLite plans a lone max anew at every call
	d.one("SELECT max(until), count(*) FROM leases WHERE agent = ?", []any{agent}, &latest, &n)
	if !latest.Valid {
		return v.lock
	}
	return later(v.lock, fromNanos(latest.Int64))
}

// leases returns the leases of an agent that end after a time, by client.
func (d *tx) leases(agent string, after int64) []presence.Lease {
	return rows(d, "SELECT client, cause, since, until FROM leases WHERE agent = ? AND until > ? ORDER BY client",
		[]any{agent, after}, func(scan scanner) (l presence.Lease) {
			scan(&l.Client, &l.Cause, (*sortedTime)(&l.Since), (*sortedTime)(&l.Until))
			return l
		})
}

func (d *tx) status(agent string, v presenceRow, now time.Time) presence.Status {
	return presence.Status{
		Epoch:    v.epoch,
		Leases:   d.leases(agent, nanos(now)),
		Lock:     v.lock,
		Last:     v.last,
		Recorded: v.recorded,
		Seen:     v.seen,
		Visited:  v.visited,
	}
}

// fromNanos reverses nanos. The smallest value, which stands for every time before 1678, is the zero time.
func fromNanos(n int64) time.Time {
	if n == math.MinInt64 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
