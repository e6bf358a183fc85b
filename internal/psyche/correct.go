package psyche

import (
	"context"
	"slices"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/utterance"
)

// Limits on what one statement corrects.
const (
	mostCorrected = 3 // memories that say the same in other words
	mostReplaced  = 4 // earlier values that a memory carries: the newest, and the first, which names the subject
	ofOneTalk     = 8 // newest memories of a talk among which the last statement is searched
)

// correct finds what a person's new statement replaces, among the near memories and what the person said last in this
// talk. It writes the earlier value into the new memory and returns the old ones as superseded by it. Only statements
// of the same owner are corrected, and only by a person's own words.
func correct(ctx context.Context, store memory.Store, e *dream.Episode, near []nearby) ([]dream.Item, error) {
	if e.Taint != dream.FromHuman {
		return nil, nil
	}
	var ofTalk []dream.Item
	if e.Session != "" {
		var err error
		ofTalk, err = store.Find(ctx, memory.Query{
			Agent:   e.Agent,
			Kinds:   []dream.Kind{dream.KindEpisode},
			Owners:  []string{e.Origin},
			Session: e.Session,
			Limit:   ofOneTalk,
		})
		if err != nil {
			return nil, err
		}
	}
	theirs := func(item dream.Item) *dream.Episode {
		old, ok := item.(*dream.Episode)
		if !ok || old.ID == e.ID || old.State != dream.Live || old.Taint != dream.FromHuman ||
			old.Origin != e.Origin || old.Speaker != e.Speaker || old.At.After(e.At) {
			return nil
		}
		return old
	}
	var candidates []*dream.Episode
	last := ""
	for _, item := range ofTalk {
		if old := theirs(item); old != nil {
			if last == "" {
				last = old.ID
			}
			candidates = append(candidates, old)
		}
	}
	for _, n := range near {
		if old := theirs(n.item); old != nil &&
			!slices.ContainsFunc(candidates, func(c *dream.Episode) bool { return c.ID == old.ID }) {
			candidates = append(candidates, old)
		}
	}
	var changed []dream.Item
	for _, old := range candidates {
		if len(changed) == mostCorrected || !replaces(old, e.Content, old.ID == last) {
			continue
		}
		newer := *old
		newer.State, newer.NewerID = dream.Superseded, e.ID
		changed = append(changed, &newer)
		e.Replaces = append(e.Replaces, dream.EarlierVersion{ID: old.ID, Content: old.Content, Until: e.At})
		e.Replaces = append(e.Replaces, old.Replaces...)
	}
	if more := len(e.Replaces) - mostReplaced; more > 0 {
		e.Replaces = slices.Delete(e.Replaces, mostReplaced-1, len(e.Replaces)-1)
	}
	return changed, nil
}

// replaces reports whether a statement replaces a memory, in its own words or in those of what it had corrected.
func replaces(old *dream.Episode, text string, last bool) bool {
	if utterance.Corrects(old.Content, text, last) {
		return true
	}
	return slices.ContainsFunc(old.Replaces,
		func(r dream.EarlierVersion) bool { return utterance.Corrects(r.Content, text, last) })
}
