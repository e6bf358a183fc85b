// Package turnhttp is what a turn needs on every wire: who asks which agent, what the answer's headers say, what an
// unknown agent is told, and the figures of the turn.
package turnhttp

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
)

// Other forms of a model's name: with a prefix or this server as the vendor, for clients that want one there, and with
// the tag that Ollama's clients add.
const (
	prefix = "agent/"
	vendor = "oneiros/"
	tag    = ":latest"
)

// Handle is the agent's handle, or id, in a model name. Neither has a slash or a colon.
func Handle(model string) string {
	name := strings.TrimPrefix(strings.TrimSpace(model), vendor)
	return strings.TrimSuffix(strings.TrimPrefix(name, prefix), tag)
}

// Turns pass requests on to agents. Its fields must not change once it serves.
type Turns struct {
	Talk psyche.Talk
	Now  func() time.Time
	// Note is called when a turn begins, and the function it returns when the turn is over; may be nil.
	Note func(path string) (over func(Figures))
}

// Figures are the figures of a turn. They hold no text.
type Figures struct {
	Path    string // of the wire, below /v1, such as "/chat/completions" or "/embeddings"
	Status  int    // the provider's; 0 when there was no response
	Stream  bool
	First   time.Duration // from the end of the request to the first byte of the response
	Took    time.Duration // to its last
	Broken  bool          // the provider's response broke off
	Dropped bool          // the client hung up
	Report  psyche.TurnReport
}

// Names are what a body says about a turn.
type Names struct {
	Model string
	Users []Name // that may name the user, by precedence
	Group string // the client's name for its talks together
}

// Name is a field of a body with its value.
type Name struct{ Field, Value string }

// New is the turn of a request whose body was read: its agent, caller, conversation, session and switches, by the
// headers first. Its Body and Path are left to the wire.
func New(r *http.Request, n Names) (*psyche.Turn, error) {
	t := &psyche.Turn{Caller: front.CallerOf(r.Context()), Group: n.Group, Header: r.Header}
	var err error
	t.Agent, err = agentOf(r, n.Model)
	if err != nil {
		return t, err
	}
	t.Conversation, err = front.NameFrom(r.Header, front.ConversationHeaders)
	if err != nil {
		return t, err
	}
	t.Caller, err = front.NamedCaller(r)
	if err != nil {
		return t, err
	}
	for _, user := range n.Users {
		if err := front.ValidName(user.Field, user.Value); err != nil {
			return t, err
		}
		if t.Caller.User == "" {
			t.Caller.User = user.Value
		}
	}
	t.Session = r.Header.Get("X-Oneiros-Session")
	if t.Session != "" {
		if err := psyche.ValidSession("X-Oneiros-Session", t.Session); err != nil {
			return t, err
		}
	}
	t.Switches, err = switches(r.Header)
	return t, err
}

func wrong(param, format string, args ...any) error {
	return psyche.Refuse(http.StatusBadRequest, "invalid_value", param, format, args...)
}

// agentOf is the agent of a request: the one in the header, else the model in the body.
func agentOf(r *http.Request, model string) (string, error) {
	name := r.Header.Get("X-Oneiros-Agent")
	if name == "" {
		name = model
	}
	name = Handle(name)
	if name == "" {
		return "",
			wrong("model",
				"No agent is named. Set model to an agent's handle, as GET /v1/models lists them, or send the header X-Oneiros-Agent.")
	}
	return name, nil
}

// switches reads what the request turns on or off.
func switches(h http.Header) (psyche.Switches, error) {
	var s psyche.Switches
	for _, each := range []struct {
		header string
		to     **bool
	}{
		{"X-Oneiros-Recall", &s.Recall},
		{"X-Oneiros-Store", &s.Store},
		{"X-Oneiros-Affect", &s.Affect},
		{"X-Oneiros-Digest", &s.Digest},
	} {
		var on bool
		switch strings.ToLower(h.Get(each.header)) {
		case "":
			continue
		case "on", "true", "1":
			on = true
		case "off", "false", "0":
		default:
			return s, wrong(each.header, "%s must be on or off.", each.header)
		}
		*each.to = &on
	}
	return s, nil
}

// SetHeaders writes what an agent did for the turn of a request into headers. Their names are as net/http writes them.
func SetHeaders(ctx context.Context, h http.Header, t psyche.TurnReport) {
	set := func(name, value string) {
		if value != "" {
			h[name] = []string{value}
		}
	}
	set("X-Oneiros-Agent", t.Agent)
	set("X-Oneiros-Conversation", headerText(t.Conversation))
	set("X-Oneiros-Recalled", strconv.Itoa(t.Recalled))
	set("X-Oneiros-Recall-Skipped", t.Skipped)
	set("X-Oneiros-Recall-Words-Only", t.WordsOnly)
	if t.Epoch > 0 {
		set("X-Oneiros-Epoch", strconv.FormatInt(t.Epoch, 10))
	}
	if t.Woke {
		set("X-Oneiros-Woke", "true")
	}
	set("X-Oneiros-Degraded", headerText(t.Degraded))
	front.SetTokens(ctx, h, t.Tokens)
}

// headerText is what a header can carry: other letters are escaped as in JSON.
func headerText(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
		return s
	}
	return strings.Trim(strconv.QuoteToASCII(s), `"`)
}

// Passage is a turn under way, with its figures.
type Passage struct {
	Figures
	ClientGone bool // a write to the client failed

	now   func() time.Time
	began time.Time
	over  func(Figures)
}

// Begin notes that a turn begins. End must be called.
func (t *Turns) Begin(path string) Passage {
	p := Passage{Figures: Figures{Path: path}, now: t.Now, began: t.Now()}
	if t.Note != nil {
		p.over = t.Note(path)
	}
	return p
}

// Answered notes the provider's response.
func (p *Passage) Answered(reply *psyche.Reply) {
	p.Report, p.Status, p.Stream = reply.Report, reply.Status, psyche.EventStream(reply.Header)
}

// NoteFirst notes when the first byte of the response came.
func (p *Passage) NoteFirst() { p.First = p.now().Sub(p.began) }

// End notes that the turn is over.
func (p *Passage) End(r *http.Request) {
	p.Took, p.Dropped = p.now().Sub(p.began), p.ClientGone || r.Context().Err() != nil
	if p.over != nil {
		p.over(p.Figures)
	}
}

// BrokenOff is the fault of a response that broke off. The cause is for the log.
func BrokenOff(err error) *psyche.Fault {
	var existing *psyche.Fault
	if errors.As(err, &existing) {
		return existing
	}
	return &psyche.Fault{
		Status: http.StatusBadGateway, Type: "upstream_error", Code: "upstream_broken", Err: err,
		Message: "The model's answer broke off before its end. What came until then is all there is; the request may be sent again.",
	}
}
