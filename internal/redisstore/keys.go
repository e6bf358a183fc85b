package redisstore

import (
	"fmt"
	"strings"
	"time"
)

// Keys of an agent. Together they are "<prefix>a:<agent>:<part>":
//
//	life     hash    seq, dreams, space, dim, tide, scrubs, epoch, told, lock, seen, last, by, digest, removing, removed
//	slot     hash    dream, run, epoch, workflow, cluster, since, mood
//	leases   hash    client -> JSON of storedLease
//	affects  list    JSON of storedAffect: {"cause": cause of the write, "affect": dream.Affect}, newest last
//
// In life, digest is a JSON list of ids, lock and seen are dates, last is JSON of storedWake; in slot, mood is JSON of
// memory.Foreseen. Keys of the ledger are "<prefix>m:...", named in lua/book.lua.
const (
	countersPart = "life"
	slotPart     = "slot"
	leasesPart   = "leases"
	affectsPart  = "affects"
)

// key names a part of an agent. Colons in the agent's id are escaped, so that no two agents share a key.
func (s *Store) key(agent, part string) string {
	return s.set.prefix + "a:" + escaped.Replace(agent) + ":" + part
}

var escaped = strings.NewReplacer("%", "%25", ":", "%3A")

// timeFormat is the stored form of a time: UTC, of fixed width, so that scripts may compare it as text.
const timeFormat = "2006-01-02T15:04:05.000000000Z"

// date formats a time; the zero time is empty.
func date(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(timeFormat)
}

func parseDate(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(timeFormat, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("kept time %q: %w", text, err)
	}
	return t, nil
}
