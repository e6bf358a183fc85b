package dreamhttp

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
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
	q, err := queryOf(r, "query", "limit", "include_dreamt")
	if err != nil {
		return psyche.Found{}, err
	}
	request := psyche.RecallRequest{
		Query: q.text("query"), Limit: int(q.wholeNumber("limit", 1)),
		Dreamt: q.boolean("include_dreamt"),
	}
	if request.Limit > mostFound {
		q.wrong("limit", fmt.Sprintf("1 to %d", mostFound))
	}
	if request.Limit == 0 {
		request.Limit = usualFound
	}
	if request.Query == "" && q.fault == nil {
		q.fault = badParam("query", "query is missing: what to look for, in plain words")
	}
	if q.fault != nil {
		return psyche.Found{}, q.fault
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
	err = readFields(r, []field{{"content", text(&a.Text)}, {"owner", text(&a.Owner)}, {"at", moment(&a.At)}})
	if err != nil {
		return psyche.AddedMemory{}, err
	}
	if a.Text == "" {
		return psyche.AddedMemory{}, badParam("content", "content is missing: the statement to keep")
	}
	return f.Memories.Add(r.Context(), caller, r.PathValue("agent"), a)
}

func (f *Handler) forget(w http.ResponseWriter, r *http.Request) {
	var g psyche.ForgetRequest
	err := readFields(r, []field{
		{"ids", texts(&g.IDs)},
		{"user", text(&g.User)},
		{"owner", text(&g.Owner)},
		{"conversation", text(&g.Session)},
		{"since", moment(&g.Since)},
		{"until", moment(&g.Until)},
		{"texts", texts(&g.Texts)},
		{"derived", boolInto(&g.Derived)},
		{"only", boolInto(&g.ItemsOnly)},
		{"dry_run", boolInto(&g.DryRun)},
	})
	if err != nil {
		front.Refuse(w, r, err)
		return
	}
	done, err := f.Memories.Forget(r.Context(), front.CallerOf(r.Context()), r.PathValue("agent"), g)
	answer(w, r, http.StatusOK, done, err)
}

func (f *Handler) owners(w http.ResponseWriter, r *http.Request) {
	if _, err := queryOf(r); err != nil {
		front.Refuse(w, r, err)
		return
	}
	found, err := f.Memories.Owners(r.Context(), front.CallerOf(r.Context()), r.PathValue("agent"))
	answer(w, r, http.StatusOK, found, err)
}

func (f *Handler) archived(w http.ResponseWriter, r *http.Request) {
	q, err := queryOf(r, "dream")
	if err != nil {
		front.Refuse(w, r, err)
		return
	}
	found, err := f.Memories.Archived(r.Context(), front.CallerOf(r.Context()), r.PathValue("agent"), q.text("dream"))
	answer(w, r, http.StatusOK, found, err)
}

func (f *Handler) restore(w http.ResponseWriter, r *http.Request) {
	var ids []string
	var dream string
	if err := readFields(r, []field{{"ids", texts(&ids)}, {"dream", text(&dream)}}); err != nil {
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
		return quoted(text)
	}
	return "no string"
}
