package sqlitestore

import (
	"database/sql"
	"encoding/json"
	"math"
	"time"

	"github.com/seed-56a03226/oneiros/internal/presence"
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

func (d tx) presenceRow(agent string) (presenceRow, error) {
	var v presenceRow
	var lock, seen int64
	var wake, digest []byte
	var err error
	v.exists, err = d.one("SELECT epoch, told, lock, seen, wake, digest FROM presences WHERE agent = ?", []any{agent},
		&v.epoch, &v.recorded, &lock, &seen, &wake, &digest)
	if err != nil || !v.exists {
		return v, err
	}
	v.lock, v.seen = fromNanos(lock), fromNanos(seen)
	if len(wake) > 0 {
		var kept keptWake
		if err := json.Unmarshal(wake, &kept); err != nil {
			return v, err
		}
		v.last, v.visited = &kept.Wake, kept.Visited
		if v.last.Digest == nil { // it was imported
			v.last.Digest = []string{}
		}
	}
	return v, json.Unmarshal(digest, &v.digest)
}

func (d tx) setPresenceRow(agent string, v presenceRow) error {
	wake := ""
	if v.last != nil {
		body, err := json.Marshal(keptWake{*v.last, v.visited})
		if err != nil {
			return err
		}
		wake = string(body)
	}
	if v.digest == nil {
		v.digest = []string{}
	}
	digest, err := json.Marshal(v.digest)
	if err != nil {
		return err
	}
	_, err = d.exec(`INSERT INTO presences (agent, epoch, told, lock, seen, wake, digest) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (agent) DO UPDATE SET epoch = excluded.epoch, told = excluded.told, lock = excluded.lock, seen = excluded.seen,
		wake = excluded.wake, digest = excluded.digest`, agent, v.epoch, v.recorded, nanos(v.lock), nanos(v.seen), wake,
		string(digest))
	return err
}

// until is the time when the last lease and the lock have ended.
func (d tx) until(agent string, v presenceRow) (time.Time, error) {
	var latest sql.NullInt64
	var n int // counted only because SQLite plans a lone max anew at every call
	_, err := d.one("SELECT max(until), count(*) FROM leases WHERE agent = ?", []any{agent}, &latest, &n)
	if err != nil || !latest.Valid {
		return v.lock, err
	}
	return later(v.lock, fromNanos(latest.Int64)), nil
}

func (d tx) leases(agent string, now time.Time) ([]presence.Lease, error) {
	var out []presence.Lease
	err := d.each("SELECT client, cause, since, until FROM leases WHERE agent = ? AND until > ? ORDER BY client",
		[]any{agent, nanos(now)},
		func(scan func(...any) error) error {
			var l presence.Lease
			var since, until int64
			err := scan(&l.Client, &l.Cause, &since, &until)
			l.Since, l.Until = fromNanos(since), fromNanos(until)
			out = append(out, l)
			return err
		})
	return out, err
}

func (d tx) status(agent string, v presenceRow, now time.Time) (presence.Status, error) {
	leases, err := d.leases(agent, now)
	st := presence.Status{
		Epoch:    v.epoch,
		Leases:   leases,
		Lock:     v.lock,
		Last:     v.last,
		Recorded: v.recorded,
		Seen:     v.seen,
	}
	st.Visited = v.visited
	return st, err
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
