package dreamhttp

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
	"github.com/seed-56a03226/oneiros/internal/psyche/params"
)

// Add is the body of POST /v1/agents/{agent}/memories.
type Add struct {
	Content string `json:"content"`         // a person's statement
	Owner   string `json:"owner,omitempty"` // whose words they are, as principal/user; the caller's when it is left out
	At      string `json:"at,omitempty"`    // since when it is so, RFC 3339; now when it is left out
}

// Forget is the body of POST /v1/agents/{agent}/memories/forget. Of user, owner, conversation, since and until, what is
// given must all fit.
type Forget struct {
	IDs []string `json:"ids,omitempty"` // of memories, whatever made them
	// what was said in talks with this user, whatever key they came with
	User string `json:"user,omitempty"`
	// what was said in talks of one principal and user, as principal/user
	Owner        string   `json:"owner,omitempty"`
	Conversation string   `json:"conversation,omitempty"` // what was said in this talk, or imported of it
	Since        string   `json:"since,omitempty"`        // what happened not before, RFC 3339
	Until        string   `json:"until,omitempty"`        // and before, RFC 3339
	Texts        []string `json:"texts,omitempty"`        // what repeats these words, although no memory is named
	Derived      bool     `json:"derived,omitempty"`      // what dreams made of it in words of their own, too
	Only         bool     `json:"only,omitempty"`         // the named memories alone; what repeats them is left
	DryRun       bool     `json:"dry_run,omitempty"`      // only say what would go
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

func (f *Handler) recall(w http.ResponseWriter, r *http.Request) {
	found, err := f.recalled(r)
	answer(w, r, http.StatusOK, found, err)
}

func (f *Handler) recalled(r *http.Request) (psyche.Found, error) {
	caller, err := front.NamedCaller(r)
	if err != nil {
		return psyche.Found{}, err
	}
	q, err := params.QueryOf(r, "query", "limit", "include_dreamt")
	if err != nil {
		return psyche.Found{}, err
	}
	request := psyche.RecallRequest{
		Query: q.Text("query"), Limit: int(q.WholeNumber("limit", 1)),
		Dreamt: q.Bool("include_dreamt"),
	}
	if request.Limit > mostFound {
		q.Wrong("limit", fmt.Sprintf("1 to %d", mostFound))
	}
	if request.Limit == 0 {
		request.Limit = usualFound
	}
	if request.Query == "" && q.Fault == nil {
		q.Fault = params.Wrong("query", "query is missing: what to look for, in plain words")
	}
	if q.Fault != nil {
		return psyche.Found{}, q.Fault
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

func (f *Handler) added(r *http.Request) (psyche.AddedMemory, error) {
	caller, err := front.NamedCaller(r)
	if err != nil {
		return psyche.AddedMemory{}, err
	}
	var a psyche.AddRequest
	err = params.Read(r, []params.Field{
		params.FieldOf("content", params.Text(&a.Text)),
		params.FieldOf("owner", params.Text(&a.Owner)),
		params.FieldOf("at", moment(&a.At)),
	})
	if err != nil {
		return psyche.AddedMemory{}, err
	}
	if a.Text == "" {
		return psyche.AddedMemory{}, params.Wrong("content", "content is missing: the statement to keep")
	}
	return f.Memories.Add(r.Context(), caller, r.PathValue("agent"), a)
}

func (f *Handler) forget(w http.ResponseWriter, r *http.Request) {
	var g psyche.ForgetRequest
	err := params.Read(r, []params.Field{
		params.FieldOf("ids", texts(&g.IDs)),
		params.FieldOf("user", params.Text(&g.User)),
		params.FieldOf("owner", params.Text(&g.Owner)),
		params.FieldOf("conversation", params.Text(&g.Session)),
		params.FieldOf("since", moment(&g.Since)),
		params.FieldOf("until", moment(&g.Until)),
		params.FieldOf("texts", texts(&g.Texts)),
		params.FieldOf("derived", boolInto(&g.Derived)),
		params.FieldOf("only", boolInto(&g.ItemsOnly)),
		params.FieldOf("dry_run", boolInto(&g.DryRun)),
	})
	if err != nil {
		front.Refuse(w, r, err)
		return
	}
	done, err := f.Memories.Forget(r.Context(), front.CallerOf(r.Context()), r.PathValue("agent"), g)
	answer(w, r, http.StatusOK, done, err)
}

func (f *Handler) owners(w http.ResponseWriter, r *http.Request) {
	if _, err := params.QueryOf(r); err != nil {
		front.Refuse(w, r, err)
		return
	}
	found, err := f.Memories.Owners(r.Context(), front.CallerOf(r.Context()), r.PathValue("agent"))
	answer(w, r, http.StatusOK, found, err)
}

func (f *Handler) archived(w http.ResponseWriter, r *http.Request) {
	q, err := params.QueryOf(r, "dream")
	if err != nil {
		front.Refuse(w, r, err)
		return
	}
	found, err := f.Memories.Archived(r.Context(), front.CallerOf(r.Context()), r.PathValue("agent"), q.Text("dream"))
	answer(w, r, http.StatusOK, found, err)
}

func (f *Handler) restore(w http.ResponseWriter, r *http.Request) {
	var ids []string
	var dream string
	err := params.Read(r, []params.Field{
		params.FieldOf("ids", texts(&ids)),
		params.FieldOf("dream", params.Text(&dream)),
	})
	if err != nil {
		front.Refuse(w, r, err)
		return
	}
	done, err := f.Memories.Restore(r.Context(), front.CallerOf(r.Context()), r.PathValue("agent"), dream, ids)
	answer(w, r, http.StatusOK, done, err)
}

// texts parses a list of strings.
func texts(into *[]string) func(json.RawMessage) error {
	return func(value json.RawMessage) error {
		if json.Unmarshal(value, into) != nil {
			return errors.New("must be a list of strings")
		}
		return nil
	}
}

// boolInto parses true or false.
func boolInto(into *bool) func(json.RawMessage) error {
	return func(value json.RawMessage) error {
		if json.Unmarshal(value, into) != nil {
			return errors.New("must be true or false")
		}
		return nil
	}
}

// moment parses a time.
func moment(into *time.Time) func(json.RawMessage) error {
	return func(value json.RawMessage) error {
		var text string
		if json.Unmarshal(value, &text) == nil {
			at, err := time.Parse(time.RFC3339, text)
			if err == nil {
				*into = at.UTC()
				return nil
			}
		}
		return fmt.Errorf("is %s; it must be a time of RFC 3339, such as 2026-11-20T06:00:00Z", clippedValue(value))
	}
}

func clippedValue(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return params.Quoted(text)
	}
	return "no string"
}
