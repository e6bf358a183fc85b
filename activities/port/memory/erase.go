package memory

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory/erasure"
)

// Selection names what is to be forgotten of an agent: items by id, plus every item that matches all of Owner, User,
// Session, Since and Until that are set. These filters match what was said and imported, never what dreams made.
type Selection struct {
	IDs          []string
	Texts        []string // also forget what repeats these texts
	Owner        string   // of conversations: "talk/<principal>/<user>", with or without "talk/"
	User         string   // of conversations, with any API key
	Session      string   // id of one conversation
	Since, Until time.Time

	Derived   bool // also forget what dreams made of it in other words
	ItemsOnly bool // forget the items alone, not what repeats them
}

// Empty reports whether the selection names nothing.
func (s Selection) Empty() bool {
	return len(s.IDs) == 0 && len(s.Texts) == 0 && !s.filters()
}

func (s Selection) filters() bool {
	return s.Owner != "" || s.User != "" || s.Session != "" || !s.Since.IsZero() || !s.Until.IsZero()
}

// fits reports whether the filters match an item.
func (s Selection) fits(item dream.Item) bool {
	h, marks := item.Header(), item.Marks()
	if !s.filters() || h.Dream != "" || h.Kind != dream.KindEpisode && h.Kind != dream.KindSemantic {
		return false
	}
	owner, talked := strings.CutPrefix(marks.Owner, ofTalks)
	_, user, _ := strings.Cut(owner, "/")
	return (s.Owner == "" || talked && owner == strings.TrimPrefix(s.Owner, ofTalks)) &&
		(s.User == "" || talked && user == s.User) &&
		(s.Session == "" || marks.Session == s.Session) &&
		(s.Since.IsZero() || !h.At.Before(s.Since)) &&
		(s.Until.IsZero() || h.At.Before(s.Until))
}

// ofTalks is the prefix of the owner of what was said in a conversation with the server.
const ofTalks = "talk/"

// PlanErasure finds the effects of an erasure: the selected items, items made from nothing else, and what repeats them.
func PlanErasure(ctx context.Context, s Store, agent string, sel Selection) (erasure.Plan, error) {
	entries, err := entriesOf(ctx, s, agent)
	if err != nil {
		return erasure.Plan{}, err
	}
	request := erasure.Request{
		IDs:       slices.Clone(sel.IDs),
		Texts:     sel.Texts,
		Derived:   sel.Derived,
		ItemsOnly: sel.ItemsOnly,
	}
	for _, e := range entries {
		if sel.fits(e.Item) {
			request.IDs = append(request.IDs, e.Item.Header().ID)
		}
	}
	plan, err := erasure.Find(entries, request)
	if err != nil {
		return plan, fmt.Errorf("plan what to forget of %s: %w", agent, err)
	}
	return plan, nil
}

func entriesOf(ctx context.Context, s Store, agent string) ([]erasure.Entry, error) {
	items, err := s.Find(ctx, Query{Agent: agent, States: dream.States, Sort: Oldest})
	if err != nil {
		return nil, fmt.Errorf("read the memories of %s: %w", agent, err)
	}
	entries := make([]erasure.Entry, len(items))
	for i, item := range items {
		entries[i].Item = item
		if item.Header().Revision <= 1 {
			continue
		}
		revisions, err := s.Revisions(ctx, agent, item.Header().ID)
		if err != nil {
			return nil, fmt.Errorf("read the revisions of %s: %w", item.Header().ID, err)
		}
		for _, r := range revisions {
			if r.Number != item.Header().Revision {
				entries[i].Earlier = append(entries[i].Earlier, r.Item)
			}
		}
	}
	return entries, nil
}

// erasedAtOnce is how many items one step erases or scrubs at most. A store serves no other request during a step.
const erasedAtOnce = 500

// CarryOut carries out a plan in steps. After an interruption, the same selection finds what is left, until the last
// step is done.
func CarryOut(ctx context.Context, s Store, agent string, plan erasure.Plan) (EraseResult, error) {
	var all EraseResult
	step := func(e Erasure) error {
		if plan.Scrubber != nil {
			e.Words = plan.Scrubber
		}
		e.Dreams = plan.Dreams
		done, err := s.Erase(ctx, agent, e)
		all.Items += done.Items
		all.Scrubbed += done.Scrubbed
		return err
	}
	scrub := make([]string, len(plan.Scrub))
	for i, f := range plan.Scrub {
		scrub[i] = f.Item.Header().ID
	}
	for part := range slices.Chunk(scrub, erasedAtOnce) {
		if err := step(Erasure{Scrub: part, More: true}); err != nil {
			return all, err
		}
	}
	removed := slices.Clone(plan.Absent)
	for _, f := range plan.Erase {
		removed = append(removed, f.Item.Header().ID)
	}
	for len(removed) > erasedAtOnce {
		if err := step(Erasure{IDs: removed[:erasedAtOnce], More: true}); err != nil {
			return all, err
		}
		removed = removed[erasedAtOnce:]
	}
	return all, step(Erasure{IDs: removed})
}

// ForgetAll carries out a plan, and then repeats it for what was written meanwhile, until nothing more is found.
func ForgetAll(ctx context.Context, s Store, agent string, plan erasure.Plan) (EraseResult, error) {
	all, err := CarryOut(ctx, s, agent, plan)
	for round := 0; err == nil && plan.Scrubber != nil && round < forgettingRounds; round++ {
		var more EraseResult
		entries, readErr := entriesOf(ctx, s, agent)
		if readErr != nil {
			return all, readErr
		}
		next, found, findErr := erasure.Again(entries, plan)
		if findErr != nil || !found {
			return all, findErr
		}
		more, err = CarryOut(ctx, s, agent, next)
		all.Items += more.Items
		all.Scrubbed += more.Scrubbed
	}
	return all, err
}

// forgettingRounds is how often ForgetAll looks for what was written meanwhile.
const forgettingRounds = 3
