package psyche

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/memory/erasure"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/review"
)

// Memories are the operations on an agent's memory beside talk. Agents are named by handle or id. Every method checks
// the caller's role and reach and returns a *Fault.
type Memories interface {
	// Recall returns the memories nearest to a query, best first.
	Recall(ctx context.Context, c Caller, agent string, r RecallRequest) ([]Memory, error)
	// Add stores a person's words. The caller's own need role client, those of another owner role owner.
	Add(ctx context.Context, c Caller, agent string, a AddRequest) (AddedMemory, error)
	// Forget erases memories and what repeats them for good, or says what that would do; it needs role owner.
	Forget(ctx context.Context, c Caller, agent string, f ForgetRequest) (Erasure, error)
	// Owners lists the owners of the talks that an agent remembers; it needs role owner.
	Owners(ctx context.Context, c Caller, agent string) (Page[OwnedMemories], error)
	// Archived lists what dreams have archived, or one of them; it needs role operator.
	Archived(ctx context.Context, c Caller, agent, dreamID string) (Page[ArchivedMemory], error)
	// Restore makes archived memories count again, by id or all of one dream; it needs role operator.
	Restore(ctx context.Context, c Caller, agent, dreamID string, ids []string) (Restored, error)
}

// RecallRequest is a search in an agent's memory.
type RecallRequest struct {
	Query  string
	Limit  int  // 1 to 50
	Dreamt bool // also finds what dreams made, as far as the caller may see it
}

// Found is what a search answers over HTTP.
type Found struct {
	Object string   `json:"object"` // "list"
	Data   []Memory `json:"data"`   // best first
}

// AddRequest is a person's statement to store, and the body of POST /v1/agents/{agent}/memories.
type AddRequest struct {
	Text  string    `json:"content"`         // a person's statement
	Owner string    `json:"owner,omitempty"` // whose words they are, as principal/user; the caller's when it is left out
	At    time.Time `json:"at,omitzero"`     // since when it is so, RFC 3339; now when it is left out
}

// AddedMemory is what became of a statement that was added.
type AddedMemory struct {
	Agent    string    `json:"agent"`
	ID       string    `json:"id"`
	Owner    string    `json:"owner"`
	At       time.Time `json:"at"`
	Existing bool      `json:"existing"` // the same words of the same owner were remembered already
	Replaced []string  `json:"replaced"` // ids of what it corrects
}

// View is an addition as callers see it.
func (a Added) View(handle string, owner Owner) AddedMemory {
	return AddedMemory{
		Agent:    handle,
		ID:       a.Episode.ID,
		Owner:    owner.String(),
		At:       a.Episode.At,
		Existing: a.Existing,
		Replaced: append([]string{}, a.Replaced...),
	}
}

// ForgetRequest selects what an agent is to forget.
type ForgetRequest struct {
	memory.Selection
	DryRun bool // only report what would be erased
}

// Erasure is what a forgetting did, or would do. It names items and quotes none.
type Erasure struct {
	DryRun    bool            `json:"dry_run"`
	Forgotten int             `json:"forgotten"` // items that were erased
	Scrubbed  int             `json:"scrubbed"`  // items that stay, without what they repeated
	Erase     []ErasedMemory  `json:"erase"`
	Scrub     []CleanedMemory `json:"scrub"`
	Left      []string        `json:"left"`   // ids of texts in other words that dreams made from it
	Alike     []string        `json:"alike"`  // ids of what somebody said with a phrase that many use
	Absent    []string        `json:"absent"` // ids asked for that name nothing
}

// ErasedMemory is an item that goes.
type ErasedMemory struct {
	ID   string      `json:"id"`
	Kind dream.Kind  `json:"kind"`
	Why  erasure.Why `json:"why"`
}

// CleanedMemory is an item that stays and loses words.
type CleanedMemory struct {
	ID     string     `json:"id"`
	Kind   dream.Kind `json:"kind"`
	Fields []string   `json:"fields"`
}

// ErasureView is the plan of an erasure as callers see it.
func ErasureView(p erasure.Plan) Erasure {
	out := Erasure{
		Erase:  []ErasedMemory{},
		Scrub:  []CleanedMemory{},
		Left:   []string{},
		Alike:  []string{},
		Absent: append([]string{}, p.Absent...),
	}
	for _, f := range p.Erase {
		out.Erase = append(out.Erase, ErasedMemory{f.Item.Header().ID, f.Item.Header().Kind, f.Why})
	}
	for _, f := range p.Scrub {
		out.Scrub = append(out.Scrub, CleanedMemory{f.Item.Header().ID, f.Item.Header().Kind, f.Fields})
	}
	for _, item := range p.Left {
		out.Left = append(out.Left, item.Header().ID)
	}
	for _, item := range p.Alike {
		out.Alike = append(out.Alike, item.Header().ID)
	}
	return out
}

// Limits on what one request may name.
const (
	mostForgotten = 1000
	longestSought = 1 << 20
)

// Forget erases what is selected, and what repeats it.
func (s *Service) Forget(ctx context.Context, c Caller, agent string, f ForgetRequest) (Erasure, error) {
	a, err := s.reach(ctx, c, agent, access.Owner)
	if err != nil {
		return Erasure{}, err
	}
	if err := checkForget(&f); err != nil {
		return Erasure{}, err
	}
	plan, err := memory.PlanErasure(ctx, s.Memory, a.ID, f.Selection)
	if err != nil {
		return Erasure{}, storeFault("look for what is to be forgotten", err)
	}
	result := ErasureView(plan)
	result.DryRun = f.DryRun
	if f.DryRun {
		return result, nil
	}
	// A client that hangs up does not leave this half done.
	done, err := memory.ForgetAll(context.WithoutCancel(ctx), s.Memory, a.ID, plan)
	if err != nil {
		return result, Refuse(http.StatusServiceUnavailable, "forgetting_unfinished", "",
			"Not everything could be forgotten; what was erased stays so. Ask again for the same to finish it.").After(time.Second).From(err)
	}
	result.Forgotten, result.Scrubbed = done.Items, done.Scrubbed
	s.quotas.drop(a.ID)
	if _, err := s.lookUp(ctx, agent, nil, s.now()); err != nil { // from now on talks under way quote nothing of it
		s.Log.WarnContext(ctx, "talks under way may quote what was forgotten for two seconds more", "agent", a.Handle,
			"error", err)
	}
	return result, nil
}

// checkForget refuses a selection that cannot be meant, and converts owners to the form in memories.
func checkForget(f *ForgetRequest) error {
	switch {
	case f.Empty():
		return badParam("", "nothing is named to forget; give ids, user, owner, conversation, since, until or texts")
	case len(f.IDs) > mostForgotten:
		return badParam("ids", "ids names %d memories; one request takes at most %d", len(f.IDs), mostForgotten)
	case f.ItemsOnly && (f.Derived || len(f.Texts) > 0):
		return badParam("only",
			"only is true, which erases the named memories alone; it goes with neither derived nor texts")
	case !f.Since.IsZero() && !f.Until.IsZero() && !f.Since.Before(f.Until):
		return badParam("since", "since is %s, which is not before until, %s", f.Since.Format(time.RFC3339),
			f.Until.Format(time.RFC3339))
	}
	if slices.Contains(f.IDs, "") {
		return badParam("ids", "ids holds an empty id; an id is that of a memory, such as ep_1f0c")
	}
	sought := 0
	for _, text := range f.Texts {
		if strings.TrimSpace(text) == "" {
			return badParam("texts", "texts holds an empty text; it must hold the words to forget")
		}
		sought += len(text)
	}
	if sought > longestSought {
		return badParam("texts", "texts hold %d bytes; one request takes at most %d", sought, longestSought)
	}
	if f.Owner != "" {
		origin, err := SelectedOwner(f.Owner)
		if err != nil {
			return badParam("owner", "%v", err)
		}
		f.Owner = origin
	}
	return nil
}

// Add stores a person's words.
func (s *Service) Add(ctx context.Context, c Caller, agent string, request AddRequest) (AddedMemory, error) {
	a, err := s.reach(ctx, c, agent, access.Client)
	if err != nil {
		return AddedMemory{}, err
	}
	speaker, owner := c, ofCaller(c)
	if request.Owner != "" {
		owner, err = ParseOwner(request.Owner)
		if err != nil {
			return AddedMemory{}, badParam("owner", "%v", err)
		}
		owner.Every = false // a principal alone means what was said without naming a user
		if owner != ofCaller(c) && !c.May(access.Owner, a.Handle) {
			return AddedMemory{}, Refuse(http.StatusForbidden, "role_required", "owner",
				"Words of another owner are added with a key of role owner; without owner they are the caller's own.")
		}
		speaker = Caller{Key: access.Key{ID: owner.Principal, Principal: owner.Principal}, User: owner.User}
	}
	now := s.now()
	if request.At.IsZero() {
		request.At = now
	}
	if request.At.After(now) {
		return AddedMemory{},
			badParam("at", "at is %s, which is in the future; a memory is of the past", request.At.Format(time.RFC3339))
	}
	if err := checkStatement(request.Text); err != nil {
		return AddedMemory{}, badParam("content", "%v", err)
	}
	if err := s.checkQuota(ctx, a, speaker); err != nil {
		if full(err) {
			return AddedMemory{}, quotaFault()
		}
		return AddedMemory{}, storeFault("count the owner's memories", err)
	}
	embed := func(ctx context.Context, texts []string) ([][]float32, string, error) {
		return s.embed(ctx, a, c, texts)
	}
	added, err := Add(ctx, s.Memory, embed, a.ID, Addition{Owner: owner, Text: request.Text, At: request.At})
	if err != nil {
		return AddedMemory{}, recallFault(ctx, err)
	}
	if !added.Existing {
		s.quotas.added(a.ID, speaker, 1)
	}
	return added.View(a.Handle, owner), nil
}

// Owners lists the owners of the talks that an agent remembers.
func (s *Service) Owners(ctx context.Context, c Caller, agent string) (Page[OwnedMemories], error) {
	a, err := s.reach(ctx, c, agent, access.Owner)
	if err != nil {
		return Page[OwnedMemories]{}, err
	}
	owned, err := Owners(ctx, s.Memory, a.ID)
	if err != nil {
		return Page[OwnedMemories]{}, storeFault("read whose talk the agent keeps", err)
	}
	return pageFrom(owned, len(owned), func(o OwnedMemories) string { return o.Owner().String() }), nil
}

// ArchivedMemory is an item that a dream has archived. Its words are left out: it may be another's talk.
type ArchivedMemory struct {
	ID     string     `json:"id"`
	Object string     `json:"object"` // "memory"
	Kind   dream.Kind `json:"kind"`
	At     time.Time  `json:"at"`
}

// Restored names what counts again.
type Restored struct {
	Restored []string `json:"restored"`
}

// Archived lists what dreams have archived.
func (s *Service) Archived(ctx context.Context, c Caller, agent, dreamID string) (Page[ArchivedMemory], error) {
	a, ids, err := s.archived(ctx, c, agent, dreamID)
	if err != nil {
		return Page[ArchivedMemory]{}, err
	}
	items, err := s.Memory.Get(ctx, a.ID, ids...)
	if err != nil {
		return Page[ArchivedMemory]{}, storeFault("read what dreams have archived", err)
	}
	list := make([]ArchivedMemory, len(items))
	for i, item := range items {
		h := item.Header()
		list[i] = ArchivedMemory{ID: h.ID, Object: "memory", Kind: h.Kind, At: h.At}
	}
	return pageFrom(list, len(list), func(m ArchivedMemory) string { return m.ID }), nil
}

func (s *Service) restorer() review.Restorer { return review.Restorer{Memory: s.Memory, Now: s.now} }

func (s *Service) archived(ctx context.Context, c Caller, agent, dreamID string) (dream.Agent, []string, error) {
	a, err := s.reach(ctx, c, agent, access.Operator)
	if err != nil {
		return a, nil, err
	}
	if dreamID != "" {
		name, handle, ok := DreamID(dreamID)
		if !ok || handle != a.Handle {
			return a, nil,
				badParam("dream", "dream is %q, which is no dream of %s; its id looks like %s", dreamID, a.Handle,
					"dream_"+a.Handle+"_0042")
		}
		dreamID = name
	}
	ids, err := s.restorer().Archived(ctx, a.ID, dreamID)
	if err != nil {
		return a, nil, storeFault("read what dreams have archived", err)
	}
	return a, ids, nil
}

// Restore makes archived memories count again.
func (s *Service) Restore(ctx context.Context, c Caller, agent, dreamID string, ids []string) (Restored, error) {
	a, err := s.reach(ctx, c, agent, access.Operator)
	if err != nil {
		return Restored{}, err
	}
	switch {
	case dreamID == "" && len(ids) == 0:
		return Restored{},
			badParam("ids", "nothing is named to restore; give ids, or dream for all that one dream has archived")
	case dreamID != "" && len(ids) > 0:
		return Restored{}, badParam("dream", "dream restores all of one dream, and ids are named too; give one of them")
	case len(ids) > mostForgotten:
		return Restored{},
			badParam("ids", "ids names %d memories; one request takes at most %d", len(ids), mostForgotten)
	}
	if dreamID != "" {
		_, ids, err = s.archived(ctx, c, agent, dreamID)
		if err != nil {
			return Restored{}, err
		}
	}
	if len(ids) == 0 {
		return Restored{Restored: []string{}}, nil
	}
	items, err := s.restorer().Restore(ctx, a.ID, ids...)
	switch {
	case errors.Is(err, memory.ErrNotFound), errors.Is(err, review.ErrNotArchived):
		return Restored{},
			badParam("ids", "%v; nothing was restored. GET /v1/agents/%s/memories/archived lists what there is", err,
				a.Handle)
	case err != nil:
		return Restored{}, storeFault("restore memories", err)
	}
	out := Restored{Restored: make([]string, len(items))}
	for i, item := range items {
		out.Restored[i] = item.Header().ID
	}
	return out, nil
}
