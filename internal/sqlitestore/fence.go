package sqlitestore

import (
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
)

// checkFence refuses a write of a stretch that does not hold the slot or that was woken. Its last write (late) may come
// after the wake.
func (d *tx) checkFence(agent string, f memory.Fence, late bool) {
	if f.Awake() {
		return
	}
	var holder memory.Fence
	var epoch int64
	d.one(`SELECT coalesce(s.dream, ''), coalesce(s.run, ''), coalesce(p.epoch, 0) FROM (SELECT ? AS agent) AS a
		LEFT JOIN slots AS s ON s.agent = a.agent LEFT JOIN presences AS p ON p.agent = a.agent`, []any{agent},
		&holder.Dream, &holder.Run, &epoch)
	d.fail(f.Check(holder, epoch, late))
}

// setMoodOnWake stores the mood and digest for the next wake.
func (d *tx) setMoodOnWake(agent string, f memory.Fence, w memory.OnWake) {
	if !f.Awake() {
		d.exec("UPDATE slots SET mood = ? WHERE agent = ?", moodText(w.MoodOnWake()), agent)
	}
	if len(w.Digest) == 0 {
		return
	}
	v := d.presenceRow(agent)
	v.digest = presence.AppendDigest(v.digest, w.Digest)
	d.setPresenceRow(agent, v)
}

// moodText is the stored form of the mood that a wake would leave; NULL for none.
func moodText(mood *memory.MoodOnWake) any {
	if mood == nil {
		return nil
	}
	return jsonText{mood}
}
