package presence

import (
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// Raises reports whether a visit at that time raises the epoch: the agent was not held awake, or a dream that has not
// been woken holds its slot. until is when the last lease and the lock end.
func Raises(slot memory.Slot, epoch int64, until, now time.Time) bool {
	dreams := !slot.Same(memory.Fence{}) && slot.Epoch >= epoch
	return dreams || !until.After(now)
}

// Before is what a store holds of an agent when a visit raises its epoch.
type Before struct {
	Dream  string             // the dream that holds the slot; empty for none
	Affect dream.Affect       // the agent's
	Mood   *memory.MoodOnWake // that the dream would leave, taken from its slot; nil for none
	Digest []string
}

// Rise returns the wake of a visit that raises the epoch to this one, and the affect to store under the dream's id; nil
// when the affect stays. The store clears the slot's mood, the digest and Status.Visited in the same step.
func (v Visit) Rise(epoch int64, b Before) (Wake, *dream.Affect) {
	w := Wake{
		Agent:  v.Agent,
		Epoch:  epoch,
		Cause:  v.Cause,
		Client: v.Client,
		At:     v.Now,
		Dream:  b.Dream,
		Affect: b.Affect.At(v.Now),
		Digest: append([]string{}, b.Digest...),
	}
	if b.Dream == "" || b.Mood == nil || v.Cause == Alarm {
		return w, nil
	}
	after := b.Mood.Affect(b.Dream, v.Now)
	before := w.Affect
	w.Affect = after.At(v.Now)
	w.Delta = before.Distance(w.Affect)
	return w, &after
}

// AppendDigest adds entries to a digest, each once and at its last position, and keeps the newest.
func AppendDigest(digest, more []string) []string {
	for _, id := range more {
		digest = slices.DeleteFunc(digest, func(entry string) bool { return entry == id })
		digest = append(digest, id)
	}
	return digest[max(0, len(digest)-Digested):]
}
