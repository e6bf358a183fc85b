package dreamhttp

import (
	"cmp"
	"net/http"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
	"github.com/seed-56a03226/oneiros/internal/psyche/params"
)

// Forget is the body of POST /v1/agents/{agent}/memories/forget. Of user, owner, conversation, since and until, what is
// given must all fit.
type Forget struct {
	IDs []string `json:"ids,omitempty"` // of memories, whatever made them
	// what was said in talks with this user, whatever key they came with
	User string `json:"user,omitempty"`
	// what was said in talks of one principal and user, as principal/user
	Owner        string `json:"owner,omitempty"`
	Conversation string `json:"conversation,omitempty"` // what was said in this talk, or imported of it
	// what happened not before, RFC 3339
	Since time.Time `json:"since,omitzero"`
	// and before, RFC 3339
	Until   time.Time `json:"until,omitzero"`
	Texts   []string  `json:"texts,omitempty"`   // what repeats these words, although no memory is named
	Derived bool      `json:"derived,omitempty"` // what dreams made of it in words of their own, too
	Only    bool      `json:"only,omitempty"`    // the named memories alone; what repeats them is left
	DryRun  bool      `json:"dry_run,omitempty"` // only say what would go
}

// Restore is the body of POST /v1/agents/{agent}/memories/restore: ids, or a dream.
type Restore struct {
	IDs   []string `json:"ids,omitempty"`
	Dream string   `json:"dream,omitempty"` // all that this dream has archived
}

// largestForget is the limit in bytes of a request to forget: its texts, all escaped, and its ids.
const largestForget = 4 << 20

// Sizes of a search.
const (
	usualFound = 8
	mostFound  = 50
)

func (f *Handler) recall(r *http.Request) (found psyche.Found, err error) {
	caller, err := front.NamedCaller(r)
	if err != nil {
		return found, err
	}
	q, err := params.QueryOf(r, "query", "limit", "include_dreamt")
	if err != nil {
		return found, err
	}
	request := psyche.RecallRequest{
		Query:  q.Text("query"),
		Limit:  cmp.Or(q.Limit(mostFound), usualFound),
		Dreamt: q.Bool("include_dreamt"),
	}
	if q.Fault != nil {
		return found, q.Fault
	}
	if request.Query == "" {
		return found, params.Wrong("query", "query is missing: what to look for, in plain words")
	}
	memories, err := f.Memories.Recall(r.Context(), caller, r.PathValue("agent"), request)
	return psyche.Found{Object: "list", Data: memories}, err
}

func (f *Handler) add(w http.ResponseWriter, r *http.Request) {
	added, err := f.added(r)
	status := http.StatusCreated
	if added.Existing {
		status = http.StatusOK
	}
	answer(w, r, status, added, err)
}

func (f *Handler) added(r *http.Request) (added psyche.AddedMemory, err error) {
	caller, err := front.NamedCaller(r)
	if err != nil {
		return added, err
	}
	var a psyche.AddRequest
	if err := params.Object(r, &a); err != nil {
		return added, err
	}
	if a.Text == "" {
		return added, params.Wrong("content", "content is missing: the statement to keep")
	}
	return f.Memories.Add(r.Context(), caller, r.PathValue("agent"), a)
}

func (f *Handler) forget(r *http.Request) (done psyche.Erasure, err error) {
	var in Forget
	if err := params.Object(r, &in); err != nil {
		return done, err
	}
	return f.Memories.Forget(r.Context(), front.CallerOf(r.Context()), r.PathValue("agent"), psyche.ForgetRequest{
		Selection: memory.Selection{
			IDs:       in.IDs,
			User:      in.User,
			Owner:     in.Owner,
			Session:   in.Conversation,
			Since:     in.Since.UTC(),
			Until:     in.Until.UTC(),
			Texts:     in.Texts,
			Derived:   in.Derived,
			ItemsOnly: in.Only,
		},
		DryRun: in.DryRun,
	})
}

func (f *Handler) owners(r *http.Request) (found psyche.Page[psyche.OwnedMemories], err error) {
	if _, err := params.QueryOf(r); err != nil {
		return found, err
	}
	return f.Memories.Owners(r.Context(), front.CallerOf(r.Context()), r.PathValue("agent"))
}

func (f *Handler) archived(r *http.Request) (found psyche.Page[psyche.ArchivedMemory], err error) {
	q, err := params.QueryOf(r, "dream")
	if err != nil {
		return found, err
	}
	return f.Memories.Archived(r.Context(), front.CallerOf(r.Context()), r.PathValue("agent"), q.Text("dream"))
}

func (f *Handler) restore(r *http.Request) (done psyche.Restored, err error) {
	var in Restore
	if err := params.Object(r, &in); err != nil {
		return done, err
	}
	return f.Memories.Restore(r.Context(), front.CallerOf(r.Context()), r.PathValue("agent"), in.Dream, in.IDs)
}
