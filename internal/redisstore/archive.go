package redisstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/store"
)

// archives copies the whole content of the keys to an archive and from one.
type archives struct {
	*server
	bus *wakeBus
}

// ErrUnfinished is returned by Open for keys that an import has begun to fill and not completed. Refill accepts them.
var ErrUnfinished = errors.New("an import into these keys has not come to its end")

// Refill opens keys of an unfinished import, for Import only, which empties them and starts over. If that import is
// still running, it fails.
func Refill() Option { return func(s *settings) { s.refill = true } }

// importing is the prefix of the mark that replaces the schema number during an import. All programs, older ones too,
// refuse keys whose schema is not a number, so that an incomplete import is never opened.
const importing = "importing"

var (
	beginScript  = script("begin")
	sweepScript  = script("sweep")
	fillScript   = script("fill")
	refillScript = script("memory", "refill")
)

// Import fills the keys under a mark that keeps other programs out, exports them again, and removes the mark when the
// result is the same. Each step needs the mark that the step before has left: it runs once, and only while this import
// owns the keys. When anything fails the keys are emptied; when the process dies they stay marked until the next
// Import.
func (s archives) Import(ctx context.Context, records memory.Records) (memory.Tally, error) {
	given, err := s.importAll(ctx, records)
	return store.Result(given, err, "import into ", s.name)
}

func (s archives) importAll(ctx context.Context, records memory.Records) (memory.Tally, error) {
	f := &importer{archives: s, ctx: ctx, token: importing + " " + rand.Text()}
	if err := s.takeKeys(ctx, f); err != nil {
		return memory.Tally{}, err
	}
	given, err := store.Import(ctx, records, f.importRecord, f.end, s.exportAll(ctx))
	if err == nil {
		err = f.mark(strconv.Itoa(schema))
	}
	if err == nil || errors.Is(err, errLost) { // lost keys belong to the other import
		return given, err
	}
	if clearing := s.empty(context.WithoutCancel(ctx), f); clearing != nil {
		err = errors.Join(err,
			fmt.Errorf("and the keys could not be emptied; they stay unusable until the next import: %w", clearing))
	}
	return given, err
}

// errLost says that another import has taken the keys.
var errLost = errors.New("another import has taken these keys over")

// takeKeys takes the keys for this import. The remains of an unfinished import are deleted if the store was opened with
// Refill; any other content is refused.
func (s archives) takeKeys(ctx context.Context, f *importer) error {
	stands, err := s.currentMark(ctx)
	if err != nil {
		return err
	}
	litter := strings.HasPrefix(stands, importing)
	if !litter {
		if err := s.checkEmpty(ctx); err != nil {
			return err
		}
	}
	take := 0
	if litter && s.set.refill {
		take = 1
	}
	f.next = f.token
	reply, err := s.run(ctx, beginScript, nil, f.token, strconv.Itoa(schema), take)
	if err != nil {
		return err
	}
	f.now, f.next = f.token, ""
	args, _ := reply.([]any)
	switch {
	case text(args, 0) == "occupied":
		return occupied(text(args, 1))
	case text(args, 0) == "marked" && strings.HasPrefix(text(args, 1), importing):
		return ErrUnfinished
	case text(args, 0) == "marked":
		return fmt.Errorf("the keys under %q are of schema %q, which this program does not know", s.set.prefix,
			text(args, 1))
	case litter:
		return s.sweep(ctx, f)
	}
	if err := s.checkEmpty(ctx); err != nil { // another program wrote in between, and its keys must not be deleted
		return errors.Join(err, f.mark(strconv.Itoa(schema)))
	}
	return nil
}

// currentMark returns the mark of the keys: the number of their schema, or that of an import.
func (s *server) currentMark(ctx context.Context) (string, error) {
	mark, err := ask(ctx, s, func(ctx context.Context) (string, error) {
		return s.client.Get(ctx, s.root(schemaKey)).Result()
	})
	return mark, ignoreMissing(err)
}

func occupied(key string) error {
	return fmt.Errorf("the store is not empty (key %s); only an empty store imports: %w", key, memory.ErrOccupied)
}

// checkEmpty returns an error when there are any keys.
func (s archives) checkEmpty(ctx context.Context) error {
	return s.scan(ctx, s.set.prefix, func(keys []string) error {
		for _, key := range keys {
			if s.lasting(key) {
				return occupied(key)
			}
		}
		return nil
	})
}

// empty deletes what was imported and releases the keys.
func (s archives) empty(ctx context.Context, f *importer) error {
	f.ctx = ctx
	if err := f.recoverMark(); err != nil {
		return err
	}
	if err := s.sweep(ctx, f); err != nil {
		return err
	}
	return f.mark(strconv.Itoa(schema))
}

// sweep deletes every lasting key while the import owns the keys.
func (s archives) sweep(ctx context.Context, f *importer) error {
	return s.scan(ctx, s.set.prefix, func(keys []string) error {
		args := []any{f.now}
		for _, key := range keys {
			if s.lasting(key) {
				args = append(args, key)
			}
		}
		reply, err := s.run(ctx, sweepScript, nil, args...)
		if args, _ := reply.([]any); err == nil && text(args, 0) != "ok" {
			err = fmt.Errorf("%w: their mark is %q", errLost, text(args, 1))
		}
		return err
	})
}

// keysAtOnce is about how many keys the server visits in one step of a scan.
const keysAtOnce = 1000

// scan calls see with the keys that begin with start; some may come twice.
func (s *server) scan(ctx context.Context, start string, see func(keys []string) error) error {
	pattern := literal.Replace(start) + "*"
	for cursor := uint64(0); ; {
		keys, err := ask(ctx, s, func(ctx context.Context) (keys []string, err error) {
			keys, next, err := s.client.Scan(ctx, cursor, pattern, keysAtOnce).Result()
			if err == nil {
				cursor = next
			}
			return keys, err
		})
		if err == nil {
			err = see(keys)
		}
		if err != nil || cursor == 0 {
			return err
		}
	}
}

// literal escapes the characters that have a meaning in patterns of SCAN.
var literal = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`)

// roots, parts and books are the keys that last: after the prefix, after "a:<agent>:" and after "m:". A part that ends
// with a colon is followed by a name. Claims ("claim:") and responses ("response:") do not last: they are answers that
// are kept for a while. Only these keys are ever deleted, because another deployment's prefix may begin with this one's.
var (
	roots = []string{
		"agents", "handles", "feeds", "keys", "keyhashes", "keysrequired", "slots", "unheard",
		roomRecordsKey, roomNamesKey, roomVersionsKey,
	}
	parts = []string{
		countersPart, slotPart, leasesPart, affectsPart, "items", "revisions", "events", "announced", "spaces",
		"notes:", "vectors:", "tides:",
		"by:", "bare:", "dream:", "session:", "owner:", "owners", "live:", "changes", "cause:", "refers:",
	}
	books = []string{
		"rows", "open", "row:", "asks", "step:", "dream:", "day:", "awake:", "opens:", "account:",
		"answer:", "allowed:", "allowance:", sumsKey, "folded", unfoldedKey,
		"spent:", "spenders", changesKey,
	}
)

func (s *server) lasting(key string) bool {
	name := strings.TrimPrefix(key, s.set.prefix)
	if _, part, ok := agentPart(name); ok {
		return matchesAny(parts, part)
	}
	if book, ok := strings.CutPrefix(name, "m:"); ok {
		return matchesAny(books, book)
	}
	return matchesAny(roots, name)
}

func matchesAny(names []string, name string) bool {
	for _, pattern := range names {
		if name == pattern || strings.HasSuffix(pattern, ":") && strings.HasPrefix(name, pattern) {
			return true
		}
	}
	return false
}

// agentPart splits "a:<agent>:<part>".
func agentPart(name string) (agent, part string, ok bool) {
	rest, ok := strings.CutPrefix(name, "a:")
	if !ok {
		return "", "", false
	}
	agent, part, ok = strings.Cut(rest, ":")
	return unescaped.Replace(agent), part, ok
}

var unescaped = strings.NewReplacer("%3A", ":", "%25", "%")

// Listeners counts the subscribers of the wake channel, without this process.
func (s archives) Listeners(ctx context.Context) (int, error) {
	counts, err := ask(ctx, s.server, func(ctx context.Context) (map[string]int64, error) {
		return s.client.PubSubNumSub(ctx, s.channel(wakeChannel)).Result()
	})
	n := int(counts[s.channel(wakeChannel)])
	s.bus.starting.Lock()
	defer s.bus.starting.Unlock()
	if s.bus.cancel != nil && n > 0 {
		n--
	}
	return n, store.Wrap(err, "who listens to ", s.name)
}
