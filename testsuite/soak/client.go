package soak

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// Kind is the kind of a request.
type Kind string

// The kinds.
const (
	Streamed Kind = "streamed"
	Whole    Kind = "whole"
	HungUp   Kind = "hung up" // a stream that the client drops in the middle
	Held     Kind = "session" // opened, renewed or ended
	Looked   Kind = "looked"  // a request that wakes no agent
)

// Turn is one request as its client saw it.
type Turn struct {
	Client, Agent string
	Kind          Kind
	Wire          string // the path of a turn of a conversation; empty for other requests
	Replica       *Replica
	Began, Ended  time.Time
	Fault         string // why it failed; empty when it did not
	Woke          bool
	WentOn        bool   // it goes on from a kept response
	Asks          bool   // it asks for earlier messages and does not contain them itself
	Answer        string // the whole response, headers included
	Text          string // the text in it
}

// client is a client with a secret, which talks to some agents.
type client struct {
	s      *Soak
	name   string
	dice   *rand.Rand
	http   *http.Client
	agents []string
	at     *Replica
	talks  int
	kept   string // the newest response of this visit that is complete; empty: none is
}

// Secret is what a client says to its agents and to no one else.
func Secret(client string) string { return "zq" + strings.ReplaceAll(client, "-", "q") + "qz" }

func (s *Soak) newClient(i int) *client {
	g := &client{
		s: s, name: fmt.Sprintf("guest-%02d", i), dice: rand.New(rand.NewPCG(s.Seed, uint64(i)+100)),
		http: &http.Client{Transport: &http.Transport{}},
	}
	for n := range 3 {
		g.agents = append(g.agents, s.Agents[(i+n*7)%len(s.Agents)].Handle)
	}
	return g
}

// run connects and disconnects until the time is over. A request that runs then is finished first.
func (g *client) run(ctx context.Context) {
	defer g.http.CloseIdleConnections()
	for g.wait(ctx, time.Duration(g.dice.Int64N(int64(g.s.Away)))) {
		g.visit(ctx, g.agents[g.dice.IntN(len(g.agents))])
	}
}

func (g *client) wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// visit is one to four turns, sometimes in a session.
func (g *client) visit(ctx context.Context, agent string) {
	g.talks++
	g.kept = ""
	session := ""
	if g.dice.IntN(4) == 0 {
		session = fmt.Sprintf("%s-%d", g.name, g.talks)
		g.try(Held, agent, http.MethodPost, "/v1/agents/"+agent+"/session", fmt.Sprintf(`{"id":%q,"ttl":30}`, session))
	}
	for n := range 1 + g.dice.IntN(4) {
		if n > 0 && !g.wait(ctx, time.Duration(g.dice.Int64N(int64(time.Second)))) {
			break
		}
		g.turn(agent, n)
	}
	if session != "" {
		g.try(Held, agent, http.MethodDelete, "/v1/agents/"+agent+"/session?id="+session, "")
	}
}

func (g *client) turn(agent string, n int) {
	kind := []Kind{Streamed, Streamed, Streamed, Whole, Whole, HungUp, Looked}[g.dice.IntN(7)]
	if kind == Looked {
		g.try(kind, agent, http.MethodGet, "/v1/agents/"+agent+"/status", "")
		return
	}
	text := "What is my secret word, and which secret words have others told you?"
	if n == 0 && g.talks%2 == 1 {
		text = "Please remember that my secret word is " + Secret(g.name) + "."
	}
	wire := Wires[g.dice.IntN(len(Wires))]
	body, _ := json.Marshal(text)
	more := ""
	if g.kept != "" && g.dice.IntN(2) == 0 {
		wire = Wires[1]
	}
	if wire == Wires[1] && g.kept != "" {
		more = fmt.Sprintf(`,%q:%q`, goesOn, g.kept)
	}
	g.try(kind, agent, http.MethodPost, wire.Path, fmt.Sprintf(
		`{"model":%q,"stream":%t,%q:[{"role":"user","content":%s}]%s}`, agent, kind != Whole, wire.messages, body,
		more))
}

// goesOn is the field that names the response from which a request goes on.
const goesOn = "previous_response_id"

var responseID = regexp.MustCompile(`"id":"(resp_[a-z0-9]+)"`)

// Wire is one of those on which clients talk to agents.
type Wire struct {
	Path     string
	messages string // the field of the conversation
	whole    string // stands in an answer that is complete
	end      string // stands in the last event of a stream that is complete
}

// Wires are all of them.
var Wires = []Wire{
	{"/v1/chat/completions", "messages", `"finish_reason":"stop"`, "data: [DONE]"},
	{"/v1/responses", "input", `"status":"completed"`, `"type":"response.completed"`},
	{"/v1/messages", "messages", `"stop_reason":"end_turn"`, `"type":"message_stop"`},
}

// cut says what an answer lacks; empty when it is complete.
func (w Wire) cut(kind Kind, answer string) string {
	events := strings.Split(strings.TrimRight(answer, "\n"), "\n\n")
	switch {
	case kind == Streamed && !strings.Contains(events[len(events)-1], w.end):
		return "the stream was cut: " + answer[max(0, len(answer)-200):]
	case kind == Whole && !strings.Contains(answer, w.whole):
		return "no answer: " + answer
	}
	return ""
}

// try sends the request to one replica, and to another when that one fails.
func (g *client) try(kind Kind, agent, method, path, body string) {
	for range 3 {
		if g.at == nil || g.dice.IntN(3) == 0 || !g.s.Fleet.KilledAt(g.at).IsZero() {
			g.at = g.s.Fleet.Pick(g.dice)
		}
		t := g.ask(kind, agent, method, path, body)
		g.s.note(t)
		if t.Fault == "" {
			return
		}
		g.at = nil
	}
}

func (g *client) ask(kind Kind, agent, method, path, body string) (t Turn) {
	t = Turn{
		Client:  g.name,
		Agent:   agent,
		Kind:    kind,
		Replica: g.at,
		Began:   time.Now(),
		WentOn:  strings.Contains(body, goesOn),
		Asks:    strings.Contains(body, "which secret words") && !strings.Contains(body, goesOn),
	}
	defer func() { t.Ended = time.Now() }()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, g.at.Base+path, strings.NewReader(body))
	if err != nil {
		t.Fault = err.Error()
		return t
	}
	r.Header.Set("X-Oneiros-User", g.name)
	r.Header.Set("X-Oneiros-Conversation", fmt.Sprintf("%s-%d", g.name, g.talks))
	res, err := g.http.Do(r)
	if err != nil {
		t.Fault = err.Error()
		return t
	}
	defer func() { _ = res.Body.Close() }()
	var all bytes.Buffer
	_ = res.Header.Write(&all)
	if kind == HungUp {
		_, err = io.CopyN(&all, res.Body, 400)
		if errors.Is(err, io.EOF) {
			err = nil
		}
	} else {
		_, err = io.Copy(&all, res.Body)
	}
	t.Text = TextOf(all.String())
	t.Answer, t.Woke = all.String(), res.Header.Get("X-Oneiros-Woke") == "true"
	switch {
	case err != nil:
		t.Fault = err.Error()
	case res.StatusCode/100 != 2:
		t.Fault = fmt.Sprintf("%d: %s", res.StatusCode, t.Answer)
	default:
		for _, wire := range Wires {
			if wire.Path == path {
				t.Wire, t.Fault = path, wire.cut(kind, t.Answer)
			}
		}
		if found := responseID.FindStringSubmatch(t.Answer); found != nil && t.Fault == "" && kind != HungUp {
			g.kept = found[1]
		}
	}
	return t
}

// TextOf joins the text of an answer on any wire, whole or streamed.
func TextOf(answer string) string {
	type message struct{ Content string }
	type part struct{ Text string }
	var text strings.Builder
	for line := range strings.Lines(answer) {
		var piece struct {
			Type    string
			Choices []struct{ Delta, Message message }
			Output  []struct{ Content []part }
			Content []part
			Delta   json.RawMessage
		}
		if json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &piece) != nil {
			continue
		}
		for _, c := range piece.Choices {
			text.WriteString(c.Delta.Content + c.Message.Content)
		}
		for _, item := range piece.Output {
			for _, p := range item.Content {
				text.WriteString(p.Text)
			}
		}
		for _, p := range piece.Content {
			text.WriteString(p.Text)
		}
		switch piece.Type {
		case "response.output_text.delta":
			var delta string
			_ = json.Unmarshal(piece.Delta, &delta)
			text.WriteString(delta)
		case "content_block_delta":
			var delta part
			_ = json.Unmarshal(piece.Delta, &delta)
			text.WriteString(delta.Text)
		}
	}
	return text.String()
}
