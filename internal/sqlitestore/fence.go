package sqlitestore

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/presence"
)

// checkFence refuses a write of a stretch that does not hold the slot or that was woken. Its last write (late) may come
// after the wake.
func (d tx) checkFence(agent string, f memory.Fence, late bool) error {
	if f.Awake() {
		return nil
	}
	var holder memory.Fence
	var epoch int64
	if _, err := d.one(
		`SELECT coalesce(s.dream, ''), coalesce(s.run, ''), coalesce(p.epoch, 0) FROM (SELECT ? AS agent) AS a
		LEFT JOIN slots AS s ON s.agent = a.agent LEFT JOIN presences AS p ON p.agent = a.agent`, []any{agent},
		&holder.Dream, &holder.Run, &epoch); err != nil {
		return err
	}
	if !holder.Same(f) || f.Same(memory.Fence{}) {
		return fmt.Errorf("dream %q run %q does not hold the slot, dream %q run %q does: %w",
			f.Dream, f.Run, holder.Dream, holder.Run, memory.ErrFenced)
	}
	if epoch > f.Epoch && !late {
		return fmt.Errorf("the stretch of dream %q began at epoch %d, and the agent's epoch is %d: %w", f.Dream,
			f.Epoch,
			epoch, memory.ErrWoken)
	}
	return nil
}

// checkReading refuses a write based on a reading that is older than the agent's last forgetting.
func (l agentCounters) checkReading(r memory.Reading) error {
	if r.Stale(l.scrubs) {
		return fmt.Errorf("it is based on memories that were read before forgetting %d of the agent: %w", l.scrubs,
			memory.ErrForgotten)
	}
	return nil
}

// checkWaking refuses a Waking that no wake could apply.
func checkWaking(w memory.Write) error {
	if w.Late && (w.Affect != nil || w.Waking != nil) {
		return errors.New("a late write must not set Affect or Waking: the wake has fixed both")
	}
	if w.Waking == nil || w.Waking.Mood == nil {
		return nil
	}
	if w.Fence.Awake() {
		return errors.New("a waking mood is stored with the dreaming slot; this write names no dream")
	}
	return w.Waking.Mood.Validate()
}

// foresee stores the mood and digest for the next wake.
func (d tx) foresee(agent string, f memory.Fence, w memory.Waking) error {
	if !f.Awake() {
		var affect any
		if mood := w.Foreseen(); mood != nil {
			body, err := json.Marshal(mood)
			if err != nil {
				return err
			}
			affect = string(body)
		}
		if _, err := d.exec("UPDATE slots SET mood = ? WHERE agent = ?", affect, agent); err != nil {
			return err
		}
	}
	if len(w.Digest) == 0 {
		return nil
	}
	v, err := d.presenceRow(agent)
	if err != nil {
		return err
	}
	v.digest = appendDigest(v.digest, w.Digest)
	return d.setPresenceRow(agent, v)
}

// appendDigest adds entries to a digest, each once and at its last position, and keeps the newest.
func appendDigest(digest, more []string) []string {
	for _, id := range more {
		digest = slices.DeleteFunc(digest, func(entry string) bool { return entry == id })
		digest = append(digest, id)
	}
	return digest[max(0, len(digest)-presence.Digested):]
}
