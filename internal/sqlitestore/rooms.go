package sqlitestore

import (
	"context"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/store/rooms"
)

// Rooms returns the rooms of the deployment.
func (s *Store) Rooms() room.Store { return rooms.New(roomRecords{s.file, s.eventLog}) }

// roomRecords keeps the records of rooms in a table.
type roomRecords struct {
	*file
	log *eventLog
}

// Update runs do in a transaction, which steps of rooms that come at once share. They are not urgent: a flood of posts
// must not keep a dream from writing.
func (s roomRecords) Update(ctx context.Context, do func(rooms.View) (rooms.Changes, error)) error {
	var done rooms.Changes
	err := s.enqueue(ctx, &s.roomWrites, false, func(d *tx) { done = updateRooms(d, do) })
	if err == nil {
		s.announce(done)
	}
	return err
}

// announce notifies those of this process who wait for events of the rooms.
func (s roomRecords) announce(done rooms.Changes) {
	for _, id := range done.Rooms {
		s.log.waiters.Notify(roomKey(id))
	}
}

// roomKey is what waits for a room's events, beside agents.
func roomKey(id string) string { return "room/" + id }

// View runs do on one snapshot of the file.
func (s roomRecords) View(ctx context.Context, do func(rooms.View) error) error {
	return s.read(ctx, func(d *tx) { d.fail(do(roomView{d})) })
}

// AwaitRoom returns when changed does.
func (s roomRecords) AwaitRoom(ctx context.Context, id string, changed func() (bool, error)) error {
	return s.log.await(ctx, roomKey(id), changed)
}

// updateRooms runs do and applies its changes.
func updateRooms(d *tx, do func(rooms.View) (rooms.Changes, error)) rooms.Changes {
	c, err := do(roomView{d})
	d.fail(err)
	for _, agent := range c.Agents {
		d.writable(agent)
	}
	for _, name := range c.Delete {
		d.exec("DELETE FROM room_records WHERE name = ?", name)
	}
	for _, r := range c.Put {
		d.exec("INSERT INTO room_records (name, body) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET body = excluded.body",
			r.Name, string(r.Body))
	}
	return c
}

// roomView reads the records in a transaction.
type roomView struct{ *tx }

// Get returns records by name.
func (d roomView) Get(names ...string) ([][]byte, error) {
	bodies := make([][]byte, len(names))
	for i, name := range names {
		var body string
		if d.one("SELECT body FROM room_records WHERE name = ?", []any{name}, &body) {
			bodies[i] = []byte(body)
		}
	}
	return bodies, d.err
}

// Scan returns the records of a range.
func (d roomView) Scan(r rooms.Range) ([]rooms.Record, error) {
	from, open, to := r.Bounds()
	query := "SELECT name, body FROM room_records WHERE name >= ? AND name < ? ORDER BY name LIMIT ?"
	switch {
	case open && r.Back:
		query = "SELECT name, body FROM room_records WHERE name > ? AND name < ? ORDER BY name DESC LIMIT ?"
	case open:
		query = "SELECT name, body FROM room_records WHERE name > ? AND name < ? ORDER BY name LIMIT ?"
	case r.Back:
		query = "SELECT name, body FROM room_records WHERE name >= ? AND name < ? ORDER BY name DESC LIMIT ?"
	}
	limit := r.Limit
	if limit == 0 {
		limit = -1
	}
	found := rows(d.tx, query, []any{from, to, limit}, func(scan scanner) (record rooms.Record) {
		var body string
		scan(&record.Name, &body)
		record.Body = []byte(body)
		return record
	})
	return found, d.err
}

// roomRecords exports the records of rooms.
func (x *exporter) roomRecords() {
	x.fail(rooms.Export(roomView{x.tx}, func(r rooms.Record) error {
		return x.put(memory.Record{Room: &memory.KeptRoomRecord{Name: r.Name, Body: memory.Raw(r.Body)}})
	}))
}

// roomRecord imports a record of rooms with its indexes.
func (f *importer) roomRecord(k memory.KeptRoomRecord) {
	found, err := f.rooms.Import(k)
	f.fail(err)
	for _, r := range found {
		f.put("room_records (name, body)", r.Name, string(r.Body))
	}
}
