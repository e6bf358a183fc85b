package responses

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/seed-56a03226/oneiros/internal/jsonscan"
)

// Renamed edits the answer of a provider that speaks this wire, to a request whose response this server keeps, or goes on
// from: the ids are this server's, by which it finds response and items again, and the response says that it is kept and
// what it goes on from. Everything else stays as it was sent.
type Renamed struct {
	q     *Request
	id    string
	names [][2][]byte // ids in quotation marks, the provider's and ours
	items int         // that have a name

	response json.RawMessage // the finished one; nil: it has not come
	output   []Item
	failed   bool
}

// Renamed edits the answer to a request, whose response gets an id.
func (q *Request) Renamed(id string) *Renamed { return &Renamed{q: q, id: id} }

// Edits reports whether there is anything to edit.
func (q *Request) Edits() bool { return q.Store || q.Previous != "" }

// Finished is the response and its output, once it came to its end; false when it failed or has none.
func (r *Renamed) Finished() (response json.RawMessage, output []Item, ok bool) {
	return r.response, r.output, r.response != nil && !r.failed
}

// Event edits an event of a stream. keep is called when the response is complete, before it says so.
func (r *Renamed) Event(event []byte, keep func()) []byte {
	at := bytes.Index(event, []byte("data:"))
	if at < 0 || at > 0 && event[at-1] != '\n' {
		return event
	}
	at += len("data:")
	data := event[at:]
	end := bytes.IndexAny(data, "\r\n")
	if end < 0 {
		end = len(data)
	}
	edited := r.data(data[:end], keep)
	return append(append(append(make([]byte, 0, len(event)+64), event[:at]...), edited...), data[end:]...)
}

// data edits the data of an event.
func (r *Renamed) data(data []byte, keep func()) []byte {
	var e struct {
		Type     string
		Place    *int `json:"output_index"` // nil: some servers do not say it
		Item     json.RawMessage
		Response json.RawMessage
	}
	if json.Unmarshal(data, &e) != nil {
		return data
	}
	switch e.Type {
	case "response.output_item.added", "response.output_item.done":
		r.item(e.Item, e.Place)
	}
	if e.Response == nil {
		return r.rename(data)
	}
	finished := e.Type == "response.completed" || e.Type == "response.incomplete" || e.Type == "response.failed"
	response := r.Whole(e.Response, finished, keep)
	from := bytes.Index(data, e.Response)
	return append(append(append([]byte(nil), data[:from]...), response...), data[from+len(e.Response):]...)
}

// Whole edits a response. keep is called for one that is finished.
func (r *Renamed) Whole(response []byte, finished bool, keep func()) []byte {
	var body struct {
		ID     string
		Status string
		Error  *json.RawMessage
		Output []json.RawMessage
	}
	if json.Unmarshal(response, &body) != nil || body.ID == "" {
		return response
	}
	if r.q.Store {
		r.name(body.ID, r.id)
	}
	for place, item := range body.Output {
		r.item(item, &place)
	}
	edited := r.members(r.rename(response))
	if !finished {
		return edited
	}
	r.failed = body.Status == "failed" || body.Status == "cancelled" || body.Error != nil
	r.response, r.output = edited, nil
	for _, item := range body.Output {
		renamed := r.rename(item)
		head, _ := headOf(renamed)
		r.output = append(r.output, Item{ID: head.id, Raw: renamed})
	}
	stored := r.q.Store
	if r.failed {
		r.q.Store = false // what failed is not kept, and says so
	}
	keep()
	if stored && !r.q.Store { // it could not be kept, and says so
		r.response = r.members(r.rename(response))
	}
	return r.response
}

// item gives an item an id, if it has one. Where its place is not said, it is the next one, unless it is known.
func (r *Renamed) item(item json.RawMessage, place *int) {
	head, ok := headOf(item)
	if !ok || head.id == "" || !r.q.Store {
		return
	}
	begin := "item"
	if i := bytes.IndexByte([]byte(head.id), '_'); i > 0 {
		begin = head.id[:i]
	}
	if place == nil {
		place = &r.items
	}
	if r.name(head.id, fmt.Sprintf("%s_%s_%d", begin, suffix(r.id), *place)) {
		r.items++
	}
}

// name notes an id and what it becomes, unless it is known.
func (r *Renamed) name(from, to string) (noted bool) {
	quoted := jsonscan.Quoted(from)
	for _, each := range r.names {
		if bytes.Equal(each[0], quoted) {
			return false
		}
	}
	r.names = append(r.names, [2][]byte{quoted, jsonscan.Quoted(to)})
	return true
}

// rename writes our ids for the provider's. Inside a text a quotation mark is escaped, so that only whole values match.
func (r *Renamed) rename(text []byte) []byte {
	for _, each := range r.names {
		if bytes.Contains(text, each[0]) {
			text = bytes.ReplaceAll(text, each[0], each[1])
		}
	}
	return text
}

// members edits the members of a response that say what is kept.
func (r *Renamed) members(response []byte) []byte {
	e := &editor{raw: response}
	e.scan()
	if at, stands := e.fields["store"]; stands && r.q.Store {
		e.change(at, []byte("true"))
	}
	if at, stands := e.fields["previous_response_id"]; stands && r.q.Previous != "" {
		e.change(at, jsonscan.Quoted(r.q.Previous))
	}
	return e.apply()
}
