package redisstore

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/store"
	"github.com/seed-56a03226/oneiros/internal/store/rooms"
)

// Keys of the records of rooms.
const (
	roomRecordsKey  = "room_records"  // hash: name -> body
	roomNamesKey    = "room_names"    // sorted set of all names, also of those of indexes
	roomVersionsKey = "room_versions" // hash: part of the names -> how often something in it was written
)

var (
	roomScanScript   = script("roomscan")
	roomCommitScript = script("roomcommit")
)

// Rooms returns the rooms of the deployment.
func (s *Store) Rooms() room.Store { return rooms.New(roomRecords{s.server, s.eventLog}) }

// roomRecords keeps the records of rooms. A step reads first, and is then applied by one script, provided that no part
// of what it has read was written meanwhile; otherwise it is computed anew.
type roomRecords struct {
	*server
	log *eventLog
}

// roomKey is what waits for a room's events, beside agents.
func roomKey(id string) string { return "room/" + id }

// Update computes a step until nobody has interfered.
func (s roomRecords) Update(ctx context.Context, do func(rooms.View) (rooms.Changes, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.set.timeout, s.late)
	defer cancel()
	for {
		v := &roomView{server: s.server, ctx: ctx, read: map[string]string{}}
		c, err := do(v)
		torn := v.torn
		switch {
		case torn:
		case err == nil:
			torn, err = s.commit(ctx, v, c)
		default: // it may come from two reads of different moments
			var moved error
			torn, moved = v.moved()
			err = errors.Join(err, moved)
		}
		if !torn {
			return err
		}
		if ctx.Err() != nil {
			return asAway(context.Cause(ctx))
		}
	}
}

// roomPlan is what the script is told beside the records.
type roomPlan struct {
	Token   string            `json:"token"`
	Read    map[string]string `json:"read"`
	Written []string          `json:"written"`
	Agents  []string          `json:"agents"`
	Rooms   []string          `json:"rooms"`
	Put     int               `json:"put"`
	Channel string            `json:"channel"`
}

func (s roomRecords) commit(ctx context.Context, v *roomView, c rooms.Changes) (torn bool, err error) {
	if len(c.Put)+len(c.Delete) == 0 {
		return false, nil
	}
	plan := roomPlan{
		Token:   rand.Text(),
		Read:    v.read,
		Put:     len(c.Put),
		Agents:  []string{},
		Rooms:   []string{},
		Channel: s.channel(eventChannel),
	}
	for _, agent := range c.Agents {
		plan.Agents = append(plan.Agents, s.key(agent, countersPart))
	}
	for _, id := range c.Rooms {
		plan.Rooms = append(plan.Rooms, roomKey(id))
	}
	parts := map[string]bool{}
	args := []any{nil}
	for _, r := range c.Put {
		parts[rooms.Part(r.Name)] = true
		args = append(args, r.Name, r.Body)
	}
	for _, name := range c.Delete {
		parts[rooms.Part(name)] = true
		args = append(args, name)
	}
	plan.Written = slices.Sorted(maps.Keys(parts))
	args[0], err = json.Marshal(plan)
	if err != nil {
		return false, err
	}
	reply, err := s.run(ctx, roomCommitScript, nil, args...)
	if err != nil {
		return false, err
	}
	word, _ := reply.([]any)
	if text(word, 0) == "torn" {
		return true, nil
	}
	if err := refusal(word); err != nil {
		return false, err
	}
	for _, key := range plan.Rooms {
		s.log.waiters.Notify(key)
	}
	return false, nil
}

// View runs do; each of its reads is of a moment of its own.
func (s roomRecords) View(ctx context.Context, do func(rooms.View) error) error {
	return do(&roomView{server: s.server, ctx: ctx, read: map[string]string{}})
}

// AwaitRoom returns when changed does.
func (s roomRecords) AwaitRoom(ctx context.Context, id string, changed func() (bool, error)) error {
	return s.log.await(ctx, roomKey(id), changed)
}

// roomView reads records, and the versions of their parts with them.
type roomView struct {
	*server
	ctx  context.Context
	read map[string]string // version by part
	torn bool              // a part was written between two reads
}

// saw keeps the version of a part.
func (v *roomView) saw(part, version string) {
	if version == "" {
		version = "0"
	}
	if before, ok := v.read[part]; ok && before != version {
		v.torn = true
	}
	v.read[part] = version
}

// moved reports whether a part that was read has been written since.
func (v *roomView) moved() (bool, error) {
	if len(v.read) == 0 {
		return false, nil
	}
	parts := slices.Sorted(maps.Keys(v.read))
	now, err := ask(v.ctx, v.server, func(ctx context.Context) ([]any, error) {
		return v.client.HMGet(ctx, v.root(roomVersionsKey), parts...).Result()
	})
	for i, value := range now {
		version, _ := value.(string)
		v.saw(parts[i], version)
	}
	return v.torn, err
}

// Get returns records by name.
func (v *roomView) Get(names ...string) ([][]byte, error) {
	parts := make([]string, len(names))
	for i, name := range names {
		parts[i] = rooms.Part(name)
	}
	var found, versions *redis.SliceCmd
	err := v.together(v.ctx, func(ctx context.Context, p redis.Pipeliner) {
		found = p.HMGet(ctx, v.root(roomRecordsKey), names...)
		versions = p.HMGet(ctx, v.root(roomVersionsKey), parts...)
	})
	if err != nil {
		return nil, err
	}
	bodies := make([][]byte, len(names))
	for i, value := range found.Val() {
		if body, ok := value.(string); ok {
			bodies[i] = []byte(body)
		}
		version, _ := versions.Val()[i].(string)
		v.saw(parts[i], version)
	}
	return bodies, nil
}

// Scan returns the records of a range.
func (v *roomView) Scan(r rooms.Range) ([]rooms.Record, error) {
	from, open, to := r.Bounds()
	from = map[bool]string{false: "[", true: "("}[open] + from
	back, limit := 0, r.Limit
	if r.Back {
		back = 1
	}
	if limit == 0 {
		limit = -1
	}
	part := rooms.Part(r.Prefix)
	reply, err := v.runTexts(v.ctx, roomScanScript, nil, from, "("+to, back, limit, part)
	if err != nil || len(reply) == 0 {
		return nil, err
	}
	v.saw(part, reply[0])
	found := make([]rooms.Record, 0, len(reply)/2)
	for pair := range slices.Chunk(reply[1:], 2) {
		found = append(found, rooms.Record{Name: pair[0], Body: []byte(pair[1])})
	}
	return found, nil
}

// removeFromRooms removes an agent whose removal has begun.
func (s *Store) removeFromRooms(ctx context.Context, agent string, now time.Time) error {
	return roomRecords{s.server, s.eventLog}.Update(ctx, func(v rooms.View) (rooms.Changes, error) {
		return rooms.RemoveAgent(v, agent, now)
	})
}

// scrubRooms removes what an agent forgets from the records of rooms.
func (s eraser) scrubRooms(ctx context.Context, agent string, words memory.Words) error {
	if words == nil {
		return nil
	}
	return roomRecords{s.server, s.log}.Update(ctx, func(v rooms.View) (rooms.Changes, error) {
		return rooms.Scrub(v, agent, words, s.set.now())
	})
}

// rooms exports the records of rooms.
func (r *reader) rooms() {
	r.watch(r.root(roomRecordsKey), r.root(roomNamesKey))
	r.fail(rooms.Export(watchedRooms{r}, func(record rooms.Record) error {
		k := memory.KeptRoomRecord{Name: record.Name, Body: memory.Raw(record.Body)}
		r.hold(memory.Record{Room: &k}, len(record.Body))
		return r.err
	}))
}

// watchedRooms reads the records on the connection that watches them.
type watchedRooms struct{ *reader }

// Get is never called by an export.
func (w watchedRooms) Get(...string) ([][]byte, error) {
	return nil, errors.New("an export reads ranges only")
}

// Scan returns a page of a range.
func (w watchedRooms) Scan(r rooms.Range) ([]rooms.Record, error) {
	from, open, to := r.Bounds()
	from = map[bool]string{false: "[", true: "("}[open] + from
	names, err := w.tx.ZRangeArgs(w.ctx, redis.ZRangeArgs{
		Key:   w.root(roomNamesKey),
		Start: from,
		Stop:  "(" + to,
		ByLex: true,
		Count: int64(r.Limit),
	}).Result()
	if err != nil || len(names) == 0 {
		return nil, err
	}
	bodies, err := w.tx.HMGet(w.ctx, w.root(roomRecordsKey), names...).Result()
	if err != nil {
		return nil, err
	}
	found := make([]rooms.Record, len(names))
	for i, value := range bodies {
		body, _ := value.(string)
		found[i] = rooms.Record{Name: names[i], Body: []byte(body)}
	}
	return found, nil
}

// roomRecord imports a record of rooms with its indexes.
func (f *importer) roomRecord(k memory.KeptRoomRecord) {
	found, err := f.kept.Import(k)
	f.fail(err)
	for _, r := range found {
		f.do("ZADD", f.root(roomNamesKey), 0, r.Name)
		if len(r.Body) > 0 {
			f.do("HSET", f.root(roomRecordsKey), r.Name, r.Body)
		}
	}
}

// verifyRooms checks the records of rooms. A step that was written meanwhile may look like a fault, so the check is
// made again when a fault was found.
func (s archives) verifyRooms(ctx context.Context) (faults []string, err error) {
	for range exportTries {
		var before, after string
		before, err = s.roomsVersion(ctx)
		if err == nil {
			err = roomRecords{server: s.server}.View(ctx, func(v rooms.View) error {
				faults, err = rooms.Verify(v)
				return err
			})
		}
		if err == nil {
			after, err = s.roomsVersion(ctx)
		}
		if err != nil || len(faults) == 0 || before == after {
			return faults, err
		}
	}
	return faults, err
}

// roomsVersion changes with every write to the records of rooms.
func (s archives) roomsVersion(ctx context.Context) (string, error) {
	versions, err := s.hash(ctx, s.root(roomVersionsKey))
	var all strings.Builder
	for _, part := range slices.Sorted(maps.Keys(versions)) {
		fmt.Fprintln(&all, part, versions[part])
	}
	return all.String(), store.Wrap(err, "versions of rooms")
}
