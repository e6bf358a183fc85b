package responseshttp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
	"github.com/seed-56a03226/oneiros/internal/psyche/params"
	"github.com/seed-56a03226/oneiros/internal/psyche/responses"
)

// keptBody is the body of a kept response.
type keptBody struct {
	Agent    string          `json:"agent"` // its handle, for keys that do not reach every agent
	Response json.RawMessage `json:"response"`
	Input    []keptItem      `json:"input"`
	Output   []keptItem      `json:"output"`
	Provider string          `json:"provider,omitempty"` // that answered; empty of what was kept before it was noted
	previous string
}

type keptItem struct {
	ID       string          `json:"id"`
	Raw      json.RawMessage `json:"item"`
	Provider string          `json:"provider,omitempty"` // of an earlier answer that the item comes from; else the body's
}

func toKept(items []responses.Item) []keptItem {
	kept := make([]keptItem, len(items))
	for i, item := range items {
		kept[i] = keptItem{ID: item.ID, Raw: item.Raw, Provider: item.Provider}
	}
	return kept
}

// item is a kept item as a request goes on from it.
func (b *keptBody) item(k *keptItem) responses.Item {
	return responses.Item{ID: k.ID, Raw: k.Raw, Provider: cmp.Or(k.Provider, b.Provider)}
}

// keepWithin is the time to keep a response in, before its client learns that it is complete.
const keepWithin = 5 * time.Second

// put writes a response into the store.
func (f *Handler) put(ctx context.Context, q *responses.Request, caller *psyche.Caller, report *psyche.TurnReport,
	id string, response json.RawMessage, output []responses.Item,
) error {
	body, err := json.Marshal(keptBody{
		Agent:    report.Agent,
		Response: response,
		Input:    toKept(q.Kept(id)),
		Output:   toKept(output),
		Provider: q.Provider,
	})
	if err == nil {
		now := f.Now().UTC()
		r := memory.KeptResponse{
			ID:       id,
			Scope:    caller.Key.ClaimScope(),
			User:     caller.User,
			Agent:    report.AgentID,
			Previous: q.Previous,
			At:       now,
			Body:     body,
		}
		if f.For > 0 {
			r.Until = now.Add(f.For)
		}
		err = f.Kept.PutResponse(ctx, r, f.Most)
	}
	if err != nil {
		return fmt.Errorf("keep a response: %w", err)
	}
	return nil
}

// readable reports whether a caller may read what was made for a user of its principal: of the user that it names, or of
// any when it names none.
func readable(caller psyche.Caller, user string) bool {
	return caller.User == "" || caller.User == user
}

// own reports whether a caller may go on from what was made for a user of its principal. Recall keeps users apart, and
// what belongs to no user, so only the same one may.
func own(caller psyche.Caller, user string) bool { return caller.User == user }

// use is how a caller uses kept responses.
type use struct {
	caller psyche.Caller
	// the id of the agent that goes on from them: from those of no other, because its memory is its own; empty: they
	// are read
	agent   string
	allowed func(caller psyche.Caller, user string) bool
}

// stored finds a response of the caller's principal and of an agent that its key reaches, which the use allows. To all
// others it is memory.ErrNotFound.
func (f *Handler) stored(ctx context.Context, u use, id string) (*keptBody, error) {
	if f.Kept == nil || id == "" {
		return nil, memory.ErrNotFound
	}
	r, err := f.Kept.Response(ctx, u.caller.Key.ClaimScope(), id, f.Now().UTC())
	if err != nil {
		return nil, fmt.Errorf("read a kept response: %w", err)
	}
	var kept keptBody
	if err := json.Unmarshal(r.Body, &kept); err != nil {
		return nil, fmt.Errorf("read a kept response: %w", err)
	}
	others := u.agent != "" && u.agent != r.Agent
	if others || !u.caller.May(access.Client, kept.Agent) || !u.allowed(u.caller, r.User) {
		return nil, memory.ErrNotFound
	}
	kept.previous = r.Previous
	return &kept, nil
}

// missing is the fault of a response that is not kept, in place of memory.ErrNotFound; other errors stay. It names the
// response that the client named, also where an earlier one is missing.
func missing(err error, status int, code, field, id string) error {
	if !errors.Is(err, memory.ErrNotFound) {
		return err
	}
	return psyche.Refuse(status, code, field,
		"There is no kept response %q, or one that it goes on from is missing. It may have been made with \"store\": "+
			"false, be older than retention.responses, have been deleted or forgotten, or belong to another key, "+
			"another user or another agent.",
		clipped(id))
}

// unknown is missing of a response that a path names.
func unknown(err error, id string) error {
	return missing(err, http.StatusNotFound, "response_not_found", "response", id)
}

// clipped is an id as quoted in errors.
func clipped(id string) string {
	const most = 80
	if r := []rune(id); len(r) > most {
		return string(r[:most]) + "…"
	}
	return id
}

// longestChain is how many responses may follow from one another.
const longestChain = 1000

// before are the items that a request goes on from, oldest first. Where one of the responses is missing, the error is
// memory.ErrNotFound.
func (f *Handler) before(ctx context.Context, u use, id string) ([]responses.Item, error) {
	var chain []*keptBody
	for id != "" {
		kept, err := f.stored(ctx, u, id)
		if err != nil {
			return nil, err
		}
		if len(chain) >= longestChain {
			return nil, psyche.Refuse(http.StatusBadRequest, "invalid_value", "previous_response_id",
				"More than %d responses follow from one another here: begin anew, with what matters as input.", longestChain)
		}
		chain = append(chain, kept)
		id = kept.previous
	}
	var items []responses.Item
	for _, kept := range slices.Backward(chain) {
		for _, item := range slices.Concat(kept.Input, kept.Output) {
			items = append(items, kept.item(&item))
		}
	}
	return items, nil
}

// resolve puts the items that the input refers to in their places.
func (f *Handler) resolve(ctx context.Context, u use, q *responses.Request) error {
	seen := map[string]*keptBody{} // by response
	for _, place := range q.References() {
		ref, field := q.Input[place].Ref, fmt.Sprintf("input[%d]", place)
		id := responses.ResponseOf(ref)
		if seen[id] == nil {
			kept, err := f.stored(ctx, u, id)
			if errors.Is(err, memory.ErrNotFound) {
				return missingItem(field, ref)
			}
			if err != nil {
				return err
			}
			seen[id] = kept
		}
		found := false
		for _, item := range slices.Concat(seen[id].Input, seen[id].Output) {
			if item.ID == ref {
				referred := seen[id].item(&item)
				q.Input[place].Raw, q.Input[place].Provider, found = referred.Raw, referred.Provider, true
			}
		}
		if !found {
			return missingItem(field, ref)
		}
	}
	return nil
}

// missingItem is the fault of an item that is not kept.
func missingItem(field, ref string) error {
	return psyche.Refuse(http.StatusNotFound, "item_not_found", field,
		"%s refers to the item %q, which is not kept: send the item itself.", field, clipped(ref))
}

// get returns a kept response.
func (f *Handler) get(w http.ResponseWriter, r *http.Request) {
	q, err := params.QueryOf(r, "include[]", "stream", "include_obfuscation", "starting_after")
	if err == nil && (q.Text("stream") == "true" || q.Has("starting_after")) {
		err = psyche.Refuse(http.StatusBadRequest, "unsupported_parameter", "stream",
			"stream: a kept response is not streamed again; leave stream and starting_after out.")
	}
	var kept *keptBody
	if err == nil {
		kept, err = f.requested(r)
	}
	if err != nil {
		front.Refuse(w, r, err)
		return
	}
	front.Answer(w, http.StatusOK, kept.Response)
}

// requested is the response that a path names.
func (f *Handler) requested(r *http.Request) (*keptBody, error) {
	caller, err := front.NamedCaller(r)
	if err != nil {
		return nil, err
	}
	id := r.PathValue("response")
	kept, err := f.stored(r.Context(), use{caller: caller, allowed: readable}, id)
	return kept, unknown(err, id)
}

// remove removes a kept response.
func (f *Handler) remove(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("response")
	_, err := f.requested(r)
	if err == nil {
		err = f.Kept.DropResponse(r.Context(), front.CallerOf(r.Context()).Key.ClaimScope(), id)
	}
	if err != nil && !errors.Is(err, memory.ErrNotFound) { // somebody else removed it meanwhile
		front.Refuse(w, r, err)
		return
	}
	front.Answer(w, http.StatusOK, map[string]any{"id": id, "object": "response", "deleted": true})
}

// cancel refuses: no response of this server is made in the background.
func (f *Handler) cancel(w http.ResponseWriter, r *http.Request) {
	_, err := f.requested(r)
	if err == nil {
		err = psyche.Refuse(http.StatusBadRequest, "not_in_background", "response",
			"The response was not made in the background, so that there is nothing to cancel. To stop one that is under way, hang up.")
	}
	front.Refuse(w, r, err)
}

// itemPage is a page of items, as OpenAI's clients read it.
type itemPage struct {
	Object  string            `json:"object"`
	Data    []json.RawMessage `json:"data"`
	FirstID string            `json:"first_id"`
	LastID  string            `json:"last_id"`
	HasMore bool              `json:"has_more"`
}

const (
	usualItems = 20
	mostItems  = 100
)

// inputItems lists what a response was asked with, the items that it went on from included.
func (f *Handler) inputItems(w http.ResponseWriter, r *http.Request) {
	page, err := f.pageOf(r)
	if err != nil {
		front.Refuse(w, r, err)
		return
	}
	front.Answer(w, http.StatusOK, page)
}

func (f *Handler) pageOf(r *http.Request) (*itemPage, error) {
	q, err := params.QueryOf(r, "limit", "order", "after", "include[]")
	if err != nil {
		return nil, err
	}
	limit := cmp.Or(q.WholeNumber("limit", 1), usualItems)
	direction := cmp.Or(q.Text("order"), "desc")
	if limit > mostItems {
		q.Wrong("limit", fmt.Sprintf("a whole number from 1 to %d", mostItems))
	}
	if direction != "asc" && direction != "desc" {
		q.Wrong("order", "asc or desc")
	}
	if q.Fault != nil {
		return nil, q.Fault
	}
	kept, err := f.requested(r)
	if err != nil {
		return nil, err
	}
	caller, err := front.NamedCaller(r)
	if err != nil {
		return nil, err
	}
	items, err := f.before(r.Context(), use{caller: caller, allowed: readable}, kept.previous)
	if err != nil {
		return nil, unknown(err, r.PathValue("response"))
	}
	for _, item := range kept.Input {
		items = append(items, responses.Item{ID: item.ID, Raw: item.Raw})
	}
	if direction == "desc" {
		slices.Reverse(items)
	}
	if after := q.Text("after"); after != "" {
		at := slices.IndexFunc(items, func(i responses.Item) bool { return i.ID == after })
		if at < 0 {
			return nil, params.Wrong("after", "after must be the id of an item of this list")
		}
		items = items[at+1:]
	}
	page := &itemPage{Object: "list", Data: []json.RawMessage{}, HasMore: int64(len(items)) > limit}
	items = items[:min(int64(len(items)), limit)]
	for _, item := range items {
		page.Data = append(page.Data, responses.Listed(item.Raw))
	}
	if len(items) > 0 {
		page.FirstID, page.LastID = items[0].ID, items[len(items)-1].ID
	}
	return page, nil
}
