package psyche

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/access"
)

// Owner is who said something in a talk: a user of a principal. User is empty for what was said without naming one.
type Owner struct {
	Principal string // as people write it: access.Local for clients without a key
	User      string
	Every     bool // every user of the principal, the empty one too; User is empty then
}

// ParseOwner parses "principal", which is every user of it, "principal/user", or "principal/", which is what was said
// without naming a user.
func ParseOwner(text string) (Owner, error) {
	principal, user, named := strings.Cut(text, "/")
	if err := access.ValidPrincipal(principal); err != nil {
		return Owner{}, fmt.Errorf("owner %q is no principal or principal/user: %w", text, err)
	}
	return Owner{Principal: principal, User: user, Every: !named}, nil
}

// SelectedOwner parses principal/user and returns the origin of its memories. What begins with "talk/" is an origin
// already.
func SelectedOwner(text string) (string, error) {
	rest := strings.TrimPrefix(text, dream.TalkOrigin)
	if strings.HasPrefix(rest, "/") { // of a client without a key
		rest = access.Local + rest
	}
	o, err := ParseOwner(rest)
	if err != nil {
		return "", err
	}
	if o.Every {
		return "",
			fmt.Errorf("owner %q names no user; write %s/USER, or %s/ for what was said without naming a user", text,
				rest, rest)
	}
	return o.origin(), nil
}

// OwnerOf parses the origin of an episode; false when it was not said in a talk.
func OwnerOf(origin string) (Owner, bool) {
	rest, ok := strings.CutPrefix(origin, dream.TalkOrigin)
	principal, user, cut := strings.Cut(rest, "/")
	if !ok || !cut {
		return Owner{}, false
	}
	return Owner{Principal: cmp.Or(principal, access.Local), User: user}, true
}

// String is the form that ParseOwner parses.
func (o Owner) String() string {
	if o.Every {
		return o.Principal
	}
	return o.Principal + "/" + o.User
}

// Includes reports whether what another single owner said is included.
func (o Owner) Includes(other Owner) bool {
	return o.Principal == other.Principal && (o.Every || o.User == other.User)
}

// as is the new owner of what a single owner said: users keep their names where the receiver names none.
func (o Owner) as(from Owner) Owner {
	if o.Every {
		return Owner{Principal: o.Principal, User: from.User}
	}
	return o
}

// origin is the origin of a single owner's episodes.
func (o Owner) origin() string {
	return Caller{Key: access.Key{Principal: o.Principal}, User: o.User}.Owner()
}

// OwnedMemories is how much an agent keeps of what one owner said.
type OwnedMemories struct {
	Principal string    `json:"principal"`
	User      string    `json:"user,omitempty"`
	Memories  int       `json:"memories"` // live
	Others    int       `json:"others"`   // superseded, archived and proposed
	Newest    time.Time `json:"newest"`
}

// Owner is whose they are.
func (o OwnedMemories) Owner() Owner { return Owner{Principal: o.Principal, User: o.User} }

// everyState are the states in which episodes change their owner: what was archived may be restored.
var everyState = []dream.State{dream.Live, dream.Superseded, dream.Archived, dream.Proposed}

// Owners lists the owners of an agent's talks, by principal, then user.
func Owners(ctx context.Context, s memory.Store, agent string) ([]OwnedMemories, error) {
	found := map[Owner]*OwnedMemories{}
	err := eachSaid(ctx, s, agent, func(e *dream.Episode, o Owner) error {
		at := found[o]
		if at == nil {
			at = &OwnedMemories{Principal: o.Principal, User: o.User}
			found[o] = at
		}
		if e.State == dream.Live {
			at.Memories++
		} else {
			at.Others++
		}
		if e.At.After(at.Newest) {
			at.Newest = e.At
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	list := make([]OwnedMemories, 0, len(found))
	for _, o := range found {
		list = append(list, *o)
	}
	slices.SortFunc(list, func(a, b OwnedMemories) int {
		return cmp.Or(cmp.Compare(a.Principal, b.Principal), cmp.Compare(a.User, b.User))
	})
	return list, nil
}

// pageOfEpisodes is how many episodes are read at once.
const pageOfEpisodes = 500

// eachSaid calls do for every episode that was said in a talk, oldest first. An episode that is added meanwhile may
// be left out.
func eachSaid(ctx context.Context, s memory.Store, agent string, do func(*dream.Episode, Owner) error) error {
	q := memory.Query{
		Agent:  agent,
		Kinds:  []dream.Kind{dream.KindEpisode},
		States: everyState,
		Sort:   memory.Oldest,
		Limit:  pageOfEpisodes,
	}
	seen := map[string]bool{} // ids at the time with which the page begins
	for {
		items, err := s.Find(ctx, q)
		if err != nil {
			return fmt.Errorf("read what was said: %w", err)
		}
		fresh := 0
		for _, e := range memory.As[*dream.Episode](items) {
			if seen[e.ID] {
				continue
			}
			fresh++
			if !e.At.Equal(q.Since) {
				clear(seen)
				q.Since = e.At
			}
			seen[e.ID] = true
			if o, ok := OwnerOf(e.Origin); ok {
				if err := do(e, o); err != nil {
					return err
				}
			}
		}
		switch {
		case len(items) < q.Limit:
			return nil
		case fresh == 0: // more than a page at one time
			q.Limit *= 2
		default:
			q.Limit = pageOfEpisodes
		}
	}
}

// TransferResult says what one owner's talk became.
type TransferResult struct {
	From, To Owner
	Memories int // of every state
}

// causeOfGift is what the revisions name that a change of owner makes.
const causeOfGift = "own"

// Transfer makes what from said to an agent what to said, and answers how much of whom it was; with dry it only counts.
// Users keep their names where to names none. What is said while it goes on may stay from's; giving it again takes
// that, too.
func Transfer(ctx context.Context, s memory.Store, agent string, from, to Owner, dry bool) ([]TransferResult, error) {
	if from == to || to.Every && from.Principal == to.Principal {
		return nil, fmt.Errorf("%s and %s are the same", from, to)
	}
	counts := map[Owner]int{}
	var batch []string
	flush := func() error {
		ids := batch
		batch = nil
		if dry {
			return nil
		}
		return transfer(ctx, s, agent, from, to, ids)
	}
	err := eachSaid(ctx, s, agent, func(e *dream.Episode, o Owner) error {
		if !from.Includes(o) || to.as(o) == o {
			return nil
		}
		counts[o]++
		batch = append(batch, e.ID)
		if len(batch) == pageOfEpisodes {
			return flush()
		}
		return nil
	})
	if err == nil && len(batch) > 0 {
		err = flush()
	}
	given := make([]TransferResult, 0, len(counts))
	for o, n := range counts {
		given = append(given, TransferResult{From: o, To: to.as(o), Memories: n})
	}
	slices.SortFunc(given, func(a, b TransferResult) int { return cmp.Compare(a.From.String(), b.From.String()) })
	if err == nil && !dry {
		err = dropNotes(ctx, s, agent, given)
	}
	return given, err
}

// transferTries is how often a batch is read again because something else changed one of its episodes meanwhile.
const transferTries = 5

func transfer(ctx context.Context, s memory.Store, agent string, from, to Owner, ids []string) error {
	for try := 1; ; try++ {
		forgettings, err := s.Forgettings(ctx, agent)
		if err != nil {
			return fmt.Errorf("read what was said: %w", err)
		}
		items, err := s.Get(ctx, agent, ids...)
		if err != nil {
			return fmt.Errorf("read what was said: %w", err)
		}
		w := memory.Write{Agent: agent, Cause: causeOfGift}
		w.Fence.Read = memory.SeenForgettings{Set: true, Forgettings: forgettings}
		noted := map[Owner]bool{}
		for _, e := range memory.As[*dream.Episode](items) {
			o, ok := OwnerOf(e.Origin)
			if !ok || !from.Includes(o) {
				continue
			}
			receiver := to.as(o)
			if !noted[receiver] { // before the first of its words, as with talk
				if err := putKnownOwner(ctx, s, agent, receiver.origin()); err != nil {
					return err
				}
				noted[receiver] = true
			}
			e.Origin = receiver.origin()
			w.Change = append(w.Change, e)
		}
		if len(w.Change) == 0 {
			return nil
		}
		_, err = s.Commit(ctx, w)
		if err == nil {
			return nil
		}
		if !errors.Is(err, memory.ErrStale) && !errors.Is(err, memory.ErrForgotten) || try == transferTries {
			return fmt.Errorf("transfer what was said: %w", err)
		}
	}
}

// dropNotes drops the notes of owners of whom nothing is left. A server that stores something of one at this moment
// notes it before and checks again after; what it stored before the note was dropped is found here, and noted again.
func dropNotes(ctx context.Context, s memory.Store, agent string, given []TransferResult) error {
	left, err := Owners(ctx, s, agent)
	if err != nil {
		return err
	}
	for _, g := range given {
		if leftOf(left, g.From) {
			continue
		}
		if err := s.DropNotes(ctx, agent, "", []string{ownerNotes + short(g.From.origin())}); err != nil {
			return fmt.Errorf("note who talked: %w", err)
		}
	}
	left, err = Owners(ctx, s, agent)
	if err != nil {
		return err
	}
	for _, g := range given {
		if !leftOf(left, g.From) {
			continue
		}
		if err := putKnownOwner(ctx, s, agent, g.From.origin()); err != nil {
			return err
		}
	}
	return nil
}

func leftOf(left []OwnedMemories, o Owner) bool {
	return slices.ContainsFunc(left, func(each OwnedMemories) bool { return each.Owner() == o })
}

// putKnownOwner notes that an agent remembers a talk of an owner.
func putKnownOwner(ctx context.Context, s memory.Store, agent, owner string) error {
	if _, err := s.PutNote(ctx, agent, memory.Fence{}, ownerNotes+short(owner), nil); err != nil {
		return fmt.Errorf("note who talked: %w", err)
	}
	return nil
}
