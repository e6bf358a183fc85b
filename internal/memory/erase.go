package memory

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory/erasure"
)

// Selection names what is to be forgotten of an agent: by id, or everything that fits all that is set of Owner, User,
// Session, Since and Until. These find what was said and imported, never what dreams made.
type Selection struct {
	IDs          []string
	Texts        []string // what repeats these, although nothing is named
	Owner        string   // of talks: "talk/<principal>/<user>", with or without "talk/"
	User         string   // of talks, whatever key they came with
	Session      string   // a conversation
	Since, Until time.Time

	Derived bool // what dreams made of it in words of their own, too
	Bare    bool // the items alone
}

// Empty says whether nothing is selected.
func (s Selection) Empty() bool {
	return len(s.IDs) == 0 && len(s.Texts) == 0 && !s.filters()
}

func (s Selection) filters() bool {
	return s.Owner != "" || s.User != "" || s.Session != "" || !s.Since.IsZero() || !s.Until.IsZero()
}

// fits says whether an item is what the filters ask for.
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

// ofTalks begins the origin of what was said in a talk with the server.
const ofTalks = "talk/"

// PlanErasure finds what an erasure would do: what is selected, what was made from nothing else, and what repeats it.
func PlanErasure(ctx context.Context, s Store, agent string, sel Selection) (erasure.Plan, error) {
	entries, err := entriesOf(ctx, s, agent)
	if err != nil {
		return erasure.Plan{}, err
	}
	request := erasure.Request{IDs: slices.Clone(sel.IDs), Texts: sel.Texts, Derived: sel.Derived, Bare: sel.Bare}
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
	items, err := s.Find(ctx, Query{Agent: agent, States: dream.States, Order: Oldest})
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

// At most so many items are erased or scrubbed in one step: a store answers nobody else meanwhile.
const erasedAtOnce = 500

// CarryOut does what a plan says, in steps that may be cut off after any of them: until the last, the same selection
// finds what is left.
func CarryOut(ctx context.Context, s Store, agent string, plan erasure.Plan) (Erased, error) {
	var all Erased
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

// ForgetAll carries out a plan, and then again what was written meanwhile, until nothing of it is found.
func ForgetAll(ctx context.Context, s Store, agent string, plan erasure.Plan) (Erased, error) {
	all, err := CarryOut(ctx, s, agent, plan)
	for round := 0; err == nil && plan.Scrubber != nil && round < forgettingRounds; round++ {
		var more Erased
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

// forgettingRounds bounds how often what was written meanwhile is looked for.
const forgettingRounds = 3
