package redisstore

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Keys of an agent. Together they are "<prefix>a:<agent>:<part>":
//
//	life     hash    seq, dreams, space, dim, tide, scrubs, epoch, told, lock, seen, last, by, digest, removing, removed
//	slot     hash    dream, run, epoch, workflow, cluster, since, mood
//	leases   hash    client -> JSON of storedLease
//	affects  list    JSON of store.Affect: {"cause": cause of the write, "affect": dream.Affect}, newest last
//
// In life, digest is a JSON list of ids, lock and seen are dates, last is JSON of storedWake; in slot, mood is JSON of
// memory.MoodOnWake. Keys of the ledger are "<prefix>m:...", named in lua/book.lua.
const (
	countersPart = "life"
	slotPart     = "slot"
	leasesPart   = "leases"
	affectsPart  = "affects"
)

// root names a key of the deployment.
func (s *server) root(name string) string { return s.set.prefix + name }

// Channels are those of the whole server, whichever database a process has selected. Database 0 has the names that all
// databases had before, so that processes of both builds hear each other there.
const (
	wakeChannel  = "bell"   // wake notices
	eventChannel = "events" // names of agents and rooms of which there is something new to read
)

// channel names a channel of the deployment.
func (s *server) channel(name string) string {
	if s.db == 0 {
		return s.root(name)
	}
	return s.root("db" + strconv.Itoa(s.db) + ":" + name)
}

// ledgerKey names a key of the ledger.
func (s *server) ledgerKey(parts ...string) string {
	return s.set.prefix + "m:" + strings.Join(parts, "")
}

// Keys of the deployment: hashes, but for the set of unrecorded wakes and the mark.
const (
	agentsKey       = "agents"       // id -> JSON of dream.Agent
	handlesKey      = "handles"      // handle -> id
	feedsKey        = "feeds"        // name -> JSON of dream.Feed
	embedJobsKey    = "embed_jobs"   // agent -> JSON of memory.EmbedJob
	keysKey         = "keys"         // id -> JSON of access.Key
	keyHashesKey    = "keyhashes"    // hash of a key -> id
	unrecordedKey   = "unheard"      // set of the agents with a wake that no workflow has recorded
	schemaKey       = "schema"       // number of the schema, or the mark of an import
	sortedKey       = "sorted"       // 1 once the orders of schema 6 are whole
	summedKey       = "summed"       // 1 once the totals by day of schema 7 are whole
	raisedKey       = "raised"       // for an hour after keys of an older schema were opened
	keysRequiredKey = "keysrequired" // 1 or 0; when it is missing, keys are required if there are any
)

// key names a part of an agent. Colons in the agent's id are escaped, so that no two agents share a key.
func (s *server) key(agent, part string) string {
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

// parser reads stored values and keeps the first fault.
type parser struct{ err error }

func (p *parser) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}

// time reads what date wrote.
func (p *parser) time(text string) time.Time {
	if text == "" {
		return time.Time{}
	}
	t, err := time.Parse(timeFormat, text)
	if err != nil {
		p.fail(fmt.Errorf("kept time %q: %w", text, err))
	}
	return t
}

// number reads a decimal integer; an empty text is 0.
func (p *parser) number(text string) int64 {
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		p.fail(fmt.Errorf("the server replied with %q; expected a number", text))
	}
	return n
}

// json decodes a value; an empty text leaves it as it is.
func (p *parser) json(text string, into any) {
	if text != "" {
		p.fail(json.Unmarshal([]byte(text), into))
	}
}
