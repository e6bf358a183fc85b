package serving_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
	"github.com/seed-56a03226/oneiros/testsuite/serving/talker"
	"github.com/seed-56a03226/oneiros/testsuite/soak"
)

// full says whether a proof runs at its full size.
var full = os.Getenv("PROVE") == "full"

// seed of what clients say; ONEIROS_SEED sets another.
var seed = func() uint64 {
	if n, err := strconv.ParseUint(os.Getenv("ONEIROS_SEED"), 10, 64); err == nil {
		return n
	}
	return 42
}()

// The agents that every client talks to, the last of them after it has dreamt, and the names that every client gives
// its conversations.
var (
	agents = []string{"iris", "fern", "moss"}
	talks  = []string{"kitchen", "garden"}
)

// lockers is how many secrets each client has in each conversation with each agent. They have the same numbers for
// all clients.
const lockers = 60

// caller is a client with a key, which may be another caller's key too.
type caller struct {
	id   int
	key  string
	user string // among the users of the key
}

// proof is a run of clients, and what was found in each of their requests.
type proof struct {
	*deployment
	client *http.Client
	writer *talk // of a client that writes texts that are no secret
	played int
	woken  bool // from now on clients talk to the agent that dreams

	mu       sync.Mutex
	under    map[word]*passage // turns for which the provider may be called
	strays   []string          // calls of the provider that belong to no turn
	passages []passage
	laps     []time.Duration // of turns, in the order of their ends
	recalled map[[2]int]int  // turns for which a secret of theirs was recalled, by client and agent
	skipped  map[string]int  // turns by why they recalled nothing; "" for those that did
	ways     map[string]int
	paths    map[string]int // calls of the provider by their path
	// the ids of kept responses, by client, and how often a client asked for another's
	responses [4][]string
	reached   int
}

func newProof() *proof {
	return &proof{
		client:   &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
		under:    map[word]*passage{},
		recalled: map[[2]int]int{},
		skipped:  map[string]int{},
		ways:     map[string]int{},
		paths:    map[string]int{},
	}
}

// answer is the provider's answer: it repeats each secret that it is sent. Every word that it is sent is recorded.
func (p *proof) answer(a talker.Request) string {
	var seen []sighting
	note := func(where place, text string) {
		for _, w := range wordsIn(text) {
			seen = append(seen, sighting{w, where})
		}
	}
	var head strings.Builder
	_ = a.Header.Write(&head)
	note(besideThere, head.String())
	texts := 0
	for _, m := range a.Messages {
		texts += len(wordsIn(m.Text))
		if strings.HasPrefix(m.Text, "[Background from this agent's memory") {
			note(quotedThere, m.Text)
		} else {
			note(saidThere, m.Text)
		}
	}
	if len(wordsIn(string(a.Body))) != texts { // a field that is no message contains a word
		note(besideThere, string(a.Body))
	}
	var shown []string
	for _, s := range seen {
		if name := s.word.String(); s.kind == ofSecret && !slices.Contains(shown, name) && len(shown) < 24 {
			shown = append(shown, name)
		}
	}
	var marks []word
	for _, w := range wordsIn(a.Last().Text) {
		if w.kind == ofTurn {
			marks = append(marks, w)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paths[a.Path]++
	if len(marks) != 1 || p.under[marks[0]] == nil {
		p.strays = append(p.strays, a.Last().Text)
		return ""
	}
	of := p.under[marks[0]]
	of.calls++
	of.opened = of.opened || keySecrets.MatchString(head.String()+string(a.Body))
	of.seen = append(of.seen, seen...)
	begin := "You have: "
	if marks[0].n%5 == 0 {
		// an answer given that way is remembered, too
		begin = "Note that the harbour master of Brindle has for you: "
	}
	return begin + strings.Join(shown, " ") + " . That is for " + marks[0].String()
}

// talk is the conversations of one client, under one name, with each of the agents.
type talk struct {
	p        *proof
	client   caller
	id       int
	dice     *rand.Rand
	messages [][]message // by agent: the messages that a client sends along
	response []string    // by agent: the kept response that ends its messages; empty: none does
	n        int         // number of the request; no two have the same
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// round is how many turns of each conversation are taken before waiting until everything is remembered: fewer than an
// agent lets wait.
const round = 20

// runTurns has every client take so many turns in all, concurrently.
func (p *proof) runTurns(turns int, clients []caller) {
	p.Helper()
	p.played++
	var under []*talk
	for _, who := range clients {
		for id := range talks {
			under = append(under, &talk{
				p:        p,
				client:   who,
				id:       id,
				dice:     rand.New(rand.NewPCG(seed, uint64(p.played*100+who.id*10+id))),
				messages: make([][]message, len(agents)),
				response: make([]string, len(agents)),
				n:        p.played * 100_000,
			})
		}
	}
	for left := turns / len(under); left > 0; left -= round {
		var all sync.WaitGroup
		for _, t := range under {
			all.Go(func() {
				for range min(round, left) {
					t.turn()
					if t.dice.IntN(10) == 0 {
						t.look()
					}
				}
			})
		}
		all.Wait()
		p.settle()
	}
}

// settle waits until everything that was said so far is remembered: exchanges are stored one after the other, and the
// writer's is the last.
func (p *proof) settle() {
	p.Helper()
	for agent, name := range agents[:dreamer] {
		p.writer.n++
		m := word{p.writer.client.id, agent, 0, ofTurn, p.writer.n}
		pass := passage{mark: m, turn: true}
		p.await(m, &pass)
		p.writer.chat(&pass, agent,
			fmt.Sprintf("Please remember that ship %d has left for port %x with cargo %s.", p.writer.n,
				p.writer.dice.Uint64(), m))
		p.done(&pass)
		require.Empty(p, pass.fault)
		require.Eventually(p, func() bool {
			p.writer.n++
			seen := passage{mark: word{p.writer.client.id, agent, 0, ofTurn, p.writer.n}}
			p.writer.tool(&seen, "recall_memory",
				map[string]any{"agent": name, "query": fmt.Sprintf("which ship has left with cargo %s?", m), "n": 50})
			p.done(&seen)
			return slices.Contains(seen.seen, sighting{m, answered})
		}, time.Minute, 5*time.Millisecond, "%s remembers what was said last\n%s", name, &p.err)
	}
}

// await registers a turn with the provider.
func (p *proof) await(m word, pass *passage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.under[m] = pass
}

// done records the result of a request.
func (p *proof) done(pass *passage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.under, pass.mark)
	p.passages = append(p.passages, *pass)
	p.ways[pass.way]++
}

// text is the text of a turn. All clients use the same words for their secrets and their questions.
func (t *talk) text(agent int, m word) string {
	locker := t.dice.IntN(lockers)
	if t.dice.IntN(5) == 0 {
		return fmt.Sprintf(
			"Please remember that the code of my locker %d at the harbour of Brindle is %s (turn %s). It holds %s.",
			locker, word{t.client.id, agent, t.id, ofSecret, locker}, m, t.things(agent))
	}
	return fmt.Sprintf("Which code has locker %d at the harbour of Brindle, mine or anybody's (turn %s)?", locker, m)
}

// things are words of this client's own, which make a text unlike earlier texts, so that it is remembered.
func (t *talk) things(agent int) string {
	things := make([]string, 6)
	for i := range things {
		things[i] = word{t.client.id, agent, t.id, ofSecret, 1000 + t.dice.IntN(9000)}.String()
	}
	return strings.Join(things, " ")
}

const dreamer = 2

func (t *talk) agent() int {
	if t.p.woken {
		return dreamer
	}
	return min(t.dice.IntN(3), 1) // two thirds with fern
}

func (t *talk) turn() {
	t.n++
	agent := t.agent()
	m := word{t.client.id, agent, t.id, ofTurn, t.n}
	text := t.text(agent, m)
	pass := passage{mark: m, turn: true}
	t.p.await(m, &pass)
	began := time.Now()
	switch t.dice.IntN(6) {
	case 0:
		t.chat(&pass, agent, text)
	case 1, 2, 3:
		t.complete(&pass, agent, text, true)
	default:
		t.complete(&pass, agent, text, false)
	}
	lasted := time.Since(began)
	t.p.done(&pass)
	t.p.talker.Forget()
	t.p.mu.Lock()
	defer t.p.mu.Unlock()
	t.p.laps = append(t.p.laps, lasted)
	if slices.ContainsFunc(pass.seen, func(s sighting) bool { return s.place == quotedThere && s.kind == ofSecret }) {
		t.p.recalled[[2]int{t.client.id, agent}]++
	}
}

// send sends a request and records each word in the answer.
func (t *talk) send(pass *passage, method, path string, body any,
	header ...string,
) (result http.Header, answer string) {
	text, err := json.Marshal(body)
	if err == nil {
		result, answer, err = t.request(method, path, string(text), header)
	}
	if err != nil {
		pass.fault = err.Error()
		return result, answer
	}
	var lines strings.Builder
	_ = result.Write(&lines)
	t.p.mu.Lock()
	defer t.p.mu.Unlock()
	for _, w := range wordsIn(lines.String()) {
		pass.seen = append(pass.seen, sighting{w, headed})
	}
	for _, w := range wordsIn(answer) {
		pass.seen = append(pass.seen, sighting{w, answered})
	}
	return result, answer
}

func (t *talk) request(method, path, body string, header []string) (http.Header, string, error) {
	r, err := http.NewRequestWithContext(t.p.Context(), method, strings.TrimSuffix(t.p.base, "/v1")+path,
		strings.NewReader(body))
	if err != nil {
		return nil, "", err
	}
	if t.n%2 == 0 {
		r.Header.Set("Authorization", "Bearer "+t.client.key)
	} else {
		r.Header.Set("X-Api-Key", t.client.key)
	}
	r.Header.Set("X-Oneiros-User", t.client.user)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := t.p.client.Do(r)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%d: %s", res.StatusCode, answer)
	}
	return res.Header, string(answer), err
}

// complete takes a turn on any wire as a client does that sends the conversation along, or goes on from the response
// that ends it.
func (t *talk) complete(pass *passage, agent int, text string, stream bool) {
	wire := wires[t.dice.IntN(len(wires))]
	pass.way = strings.TrimPrefix(wire.path, "/v1/")
	if stream {
		pass.way += ", streamed"
	}
	if len(t.messages[agent]) >= 12 {
		t.messages[agent], t.response[agent] = nil, "" // the same name, started anew
	}
	t.messages[agent] = append(t.messages[agent], message{"user", text})
	sent, more := t.messages[agent], map[string]any{}
	if wire.messages == "input" && t.response[agent] != "" {
		pass.way += ", going on"
		sent, more["previous_response_id"] = sent[len(sent)-1:], t.response[agent]
	}
	result, answer := t.send(pass, http.MethodPost, wire.path,
		json.RawMessage(wire.body(agents[agent], stream, sent, more)), "X-Oneiros-Conversation", talks[t.id])
	if pass.fault != "" {
		return
	}
	reply := soak.TextOf(answer)
	switch {
	case result.Get("X-Oneiros-Agent") != agents[agent] || result.Get("X-Oneiros-Conversation") != talks[t.id]:
		pass.fault = fmt.Sprintf("the answer is of another agent or talk: %v", result)
	case !wire.ended(stream, answer):
		pass.fault = "the answer was cut: " + answer[max(0, len(answer)-200):]
	case reply == "":
		pass.fault = "no answer: " + answer
	}
	t.p.mu.Lock()
	defer t.p.mu.Unlock()
	t.p.skipped[result.Get("X-Oneiros-Recall-Skipped")]++
	t.messages[agent] = append(t.messages[agent], message{"assistant", reply})
	t.response[agent] = responseID.FindString(answer)
	if t.response[agent] != "" {
		t.p.responses[t.client.id] = append(t.p.responses[t.client.id], t.response[agent])
	}
}

var responseID = regexp.MustCompile(`resp_[a-z0-9]{10,}`)

// reach asks for a response of another client in every way. It must be as if it were not there.
func (t *talk) reach(pass *passage, agent int) {
	pass.way = "a response of another"
	t.p.mu.Lock()
	others := t.p.responses[(t.client.id+1+t.dice.IntN(len(t.p.responses)-1))%len(t.p.responses)]
	id := ""
	if len(others) > 0 {
		id = others[t.dice.IntN(len(others))]
		t.p.reached++
	}
	t.p.mu.Unlock()
	if id == "" {
		return
	}
	item := "msg_" + strings.TrimPrefix(id, "resp_") + "_0"
	for _, each := range []struct{ method, path, body, status string }{
		{
			http.MethodPost, "",
			`{"model":"` + agents[agent] + `","input":"Go on.","previous_response_id":"` + id + `"}`, "400: ",
		},
		{
			http.MethodPost, "",
			`{"model":"` + agents[agent] + `","input":[{"type":"item_reference","id":"` + item + `"}]}`, "404: ",
		},
		{http.MethodGet, "/" + id, "", "404: "},
		{http.MethodGet, "/" + id + "/input_items", "", "404: "},
		{http.MethodDelete, "/" + id, "", "404: "},
	} {
		_, answer, err := t.request(each.method, "/v1/responses"+each.path, each.body, nil)
		if err == nil || !strings.HasPrefix(err.Error(), each.status) {
			pass.fault = fmt.Sprintf("%s %s%s: %v %s", each.method, each.path, each.body, err, answer)
		}
	}
}

// tool calls one over the Model Context Protocol, without a session.
func (t *talk) tool(pass *passage, name string, arguments map[string]any) {
	pass.way = "MCP " + name
	_, answer := t.send(pass, http.MethodPost, "/mcp", map[string]any{
		"jsonrpc": "2.0", "id": t.n, "method": "tools/call", "params": map[string]any{
			"name": name, "arguments": arguments, "_meta": map[string]any{
				"io.modelcontextprotocol/protocolVersion":    "2026-07-28",
				"io.modelcontextprotocol/clientInfo":         map[string]any{"name": "caller", "version": "1"},
				"io.modelcontextprotocol/clientCapabilities": map[string]any{},
			},
		},
	}, "Content-Type", "application/json", "Accept", "application/json, text/event-stream", "MCP-Protocol-Version",
		"2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", name)
	if pass.fault == "" && (strings.Contains(answer, `"isError":true`) || !strings.Contains(answer, `"result"`)) {
		pass.fault = answer
	}
}

// chat takes a turn over MCP, where the server keeps the conversation.
func (t *talk) chat(pass *passage, agent int, text string) {
	t.tool(pass, "chat", map[string]any{"agent": agents[agent], "conversation": talks[t.id], "message": text})
}

// look requests what there is beside chat, and leaves a secret in another way.
func (t *talk) look() {
	t.n++
	agent := t.agent()
	pass := passage{mark: word{t.client.id, agent, t.id, ofTurn, t.n}}
	name := agents[agent]
	switch t.dice.IntN(6) {
	case 5:
		t.reach(&pass, agent)
	case 0:
		t.tool(&pass, "recall_memory",
			map[string]any{"agent": name, "query": "the codes of the lockers at the harbour of Brindle", "n": 50})
	case 1:
		locker := t.dice.IntN(lockers)
		t.tool(&pass, "store_memory",
			map[string]any{
				"agent": name,
				"content": fmt.Sprintf("Locker %d at the harbour of Brindle: %s.", locker,
					word{t.client.id, agent, t.id, ofSecret, locker}),
			})
	case 2:
		t.tool(&pass, "status", map[string]any{"agent": name})
	case 3:
		pass.way = "status"
		t.send(&pass, http.MethodGet, "/v1/agents/"+name+"/status", nil)
	default:
		pass.way = "dreams"
		t.send(&pass, http.MethodGet, "/v1/dreams?agent="+name, nil)
	}
	t.p.done(&pass)
}

// verdict is the judge's over everything so far.
func (p *proof) verdict() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return judge(p.passages, 20)
}

// reset starts the record anew.
func (p *proof) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.passages = nil
	p.laps = nil
	p.recalled = map[[2]int]int{}
	p.skipped = map[string]int{}
	p.ways = map[string]int{}
}

func (p *proof) count(lasted time.Duration) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	seen := map[place]int{}
	own := 0
	for _, each := range p.passages {
		for _, s := range each.seen {
			seen[s.place]++
			if s.kind == ofSecret {
				own++
			}
		}
	}
	count := 0
	for _, n := range p.recalled {
		count += n
	}
	quantiles := func(laps []time.Duration) string {
		of := make([]float64, len(laps))
		for i, l := range laps {
			of[i] = ms(l)
		}
		return fmt.Sprintf("%.1f ms p50, %.1f p99", quantile(of, .5), quantile(of, .99))
	}
	tenth := len(p.laps) / 10
	return fmt.Sprintf("seed %d: %d turns and %d other requests in %.1f s, %.0f turns/s; %v\n", seed, len(p.laps),
		len(p.passages)-len(p.laps), lasted.Seconds(), float64(len(p.laps))/lasted.Seconds(), p.ways) +
		fmt.Sprintf("a turn: %s; of the first tenth %s, of the last %s\n", quantiles(p.laps),
			quantiles(p.laps[:tenth]), quantiles(p.laps[len(p.laps)-tenth:])) +
		fmt.Sprintf("words read: %v; %d of them secrets; turns by why they recalled nothing: %v\n", seen, own,
			p.skipped) +
		fmt.Sprintf("turns for which secrets of the client's own were recalled: %d", count)
}

// insight is what an agent wakes with: words of all clients that it dreamt of.
func insight(a provider.Request) string {
	var quoted []string
	for _, w := range wordsIn(a.Prompt) {
		quoted = append(quoted, w.String())
	}
	if a.Schema != "insights" || len(quoted) == 0 {
		return ""
	}
	return fmt.Sprintf(`{"insights":[{"insight":"The tide has carried away %s.","sources":["r1"]}]}`,
		strings.Join(quoted[:min(12, len(quoted))], " and "))
}

// openIsolated opens a deployment with two keys of two users each, all of which may talk to both agents.
func (p *proof) openIsolated(t testing.TB, more string, native bool) (clients []caller, owner []string) {
	t.Helper()
	p.deployment = build(t, talker.Options{Say: p.answer}, provider.Options{Seed: seed, Say: insight},
		strings.Replace(quick, "rate: 0", "rate: 0, recall_budget: 10s", 1)+"\nlog: {level: info}\n"+more)
	p.native = native
	p.write()
	for _, name := range agents {
		p.must("agents", "add", name)
	}
	key := func(name, role string) string {
		var made struct{ Secret string }
		require.NoError(t, json.Unmarshal([]byte(p.must("--json", "keys", "add", name, "--role", role)), &made))
		return made.Secret
	}
	for _, name := range []string{"one", "two"} {
		k := key(name, "client")
		for _, user := range []string{"ann", "bob"} {
			clients = append(clients, caller{len(clients), k, user})
		}
	}
	p.writer = &talk{p: p, client: caller{9, key("clerk", "client"), "clerk"}, dice: rand.New(rand.NewPCG(seed, 9))}
	owner = []string{"Authorization", "Bearer " + key("house", "owner")}
	p.begin("up")
	return clients, owner
}

// TestNoTextOfOneClientReachesAnother has four clients, two users of each of two keys, talk to the same two agents in
// two conversations each, all at once and under the same names: they leave secrets about the same things and ask for
// everybody's. Every word of theirs is looked for in what the provider is sent and in what comes back. Then an agent
// that has heard all of them dreams, and they talk to it. On Redis, the wires beside chat completions are passed on; on
// SQLite, they are translated.
func TestNoTextOfOneClientReachesAnother(t *testing.T) {
	t.Parallel()
	turns := map[string]int{"sqlite": 400, "redis": 400}
	if full {
		turns = map[string]int{"sqlite": 10_000, "redis": 10_000}
	}
	for _, store := range []string{"sqlite", "redis"} {
		t.Run(store, func(t *testing.T) {
			if !full {
				t.Parallel()
			}
			p, more := newProof(), ""
			if store == "redis" {
				more = fmt.Sprintf("store: {url: %q}\n", redis.Start(t).URL)
			}
			clients, owner := p.openIsolated(t, more, store == "redis")
			p.runTurns(16, clients) // all agents are awake, and caches are filled
			require.NoError(t, p.verdict())
			p.reset()
			before, routines := p.resident(), p.running(owner)
			began := time.Now()
			p.runTurns(turns[store], clients)
			lasted := time.Since(began)
			t.Log(p.count(lasted))
			var memories struct{ Memories map[string]int }
			_, _, status := p.ask(http.MethodGet, "/v1/agents/fern/status", "", owner...)
			require.NoError(t, json.Unmarshal([]byte(status), &memories))
			t.Logf("fern remembers %v; the server held %d MiB and %d goroutines before, %d MiB and %d after",
				memories.Memories, before>>20, routines, p.resident()>>20, p.running(owner))
			require.NoError(t, p.verdict())
			require.Empty(t, p.strays, "every call of the provider belongs to a turn")
			for _, who := range clients {
				for agent := range agents[:dreamer] {
					require.Positive(t, p.recalled[[2]int{who.id, agent}],
						"the control: secrets of caller %d are recalled by %s", who.id, agents[agent])
				}
			}

			require.Positive(t, p.reached, "the control: responses of others were asked for")
			for i, wire := range wires {
				require.Equal(t, i == 0 || store == "redis", p.paths[wire.path] > 0, "the control: %s: %v", wire.path,
					p.paths)
				for _, more := range []string{"", ", streamed"} {
					require.Positive(t, p.ways[strings.TrimPrefix(wire.path, "/v1/")+more], "the control: %s%s",
						wire.path, more)
				}
			}
			require.Positive(t, p.ways["responses, going on"], "the control: responses are gone on from")
			require.NotContains(t, p.err.String(), "too many wait", "everything worth remembering was remembered")

			dreamt := p.dreamOverAll(clients, owner)
			p.woken = true
			p.runTurns(160, clients)
			p.recallTexts(clients, dreamer, dreamt)
			require.NoError(t, p.verdict(), "after a dream over everybody's secrets")
			require.Empty(t, p.strays)
			_, _, status = p.ask(http.MethodGet, "/v1/agents/"+agents[dreamer]+"/status", "", owner...)
			_, digest, _ := strings.Cut(status, `"digest"`)
			require.NotEmpty(t, wordsIn(digest),
				"the control: an insight that would be told on waking quotes visitors: %s", status)
			p.woken = false

			t.Run("a secret that is made to cross is found", func(t *testing.T) {
				p.reset()
				spilt := word{0, 1, 0, ofSecret, 3}
				p.spill(spilt)
				require.Eventually(t, func() bool {
					p.reset()
					p.runTurns(160, clients)
					return p.verdict() != nil
				}, 10*time.Minute, time.Millisecond)
				require.ErrorIs(t, p.verdict(), errCrossed)
				require.ErrorContains(t, p.verdict(), string(quotedThere)+" has "+spilt.String())
				require.ErrorContains(t, p.verdict(), string(answered)+" has "+spilt.String())
			})
			t.Run("a client that uses the name of another is found", func(t *testing.T) {
				p.reset()
				forged := caller{3, clients[1].key, clients[1].user}
				p.runTurns(16, []caller{forged})
				require.ErrorIs(t, p.verdict(), errCrossed)
			})
			_, _, figures := p.ask(http.MethodGet, "/metrics", "", owner...)
			require.Contains(t, figures, "oneiros_turns_total")
			require.Empty(t, wordsIn(figures))
			p.end()
			for _, wire := range wires {
				require.Contains(t, p.err.String(), wire.path, "the control: the log has requests")
			}
			require.Empty(t, wordsIn(p.err.String()), "the log holds no text")
		})
	}
}

// dreamOverAll has an agent dream to its end over what every client said, in words of their own, and returns the text
// of the dream.
func (p *proof) dreamOverAll(clients []caller, owner []string) (contents []string) {
	p.Helper()
	name := agents[dreamer]
	for _, who := range clients {
		t := &talk{p: p, client: who, dice: rand.New(rand.NewPCG(seed, uint64(who.id)))}
		for t.n = range 8 {
			pass := passage{mark: word{who.id, dreamer, 0, ofTurn, t.n}}
			t.tool(&pass, "store_memory",
				map[string]any{"agent": name, "content": t.things(dreamer) + ".", "importance": 1})
			p.done(&pass)
		}
	}
	status, _, text := p.ask(http.MethodPost, "/v1/dreams", `{"agent":"`+name+`","tier":"hardened"}`, owner...)
	require.Equal(p, 2, status/100, text)
	var made struct{ ID string }
	require.NoError(p, json.Unmarshal([]byte(text), &made))
	require.Eventually(p, func() bool {
		_, _, text = p.ask(http.MethodGet, "/v1/dreams/"+made.ID, "", owner...)
		return strings.Contains(text, `"status":"completed"`)
	}, 10*time.Minute, 50*time.Millisecond, later(func() string { return text }))
	for _, path := range []string{
		"/v1/dreams/" + made.ID + "/fragments", "/v1/dreams/" + made.ID + "/scenarios",
		"/v1/agents/" + name + "/journal",
	} {
		var list struct{ Data []struct{ Content string } }
		_, _, body := p.ask(http.MethodGet, path, "", owner...)
		require.NoError(p, json.Unmarshal([]byte(body), &list), body)
		for _, item := range list.Data {
			contents = append(contents, item.Content)
		}
	}
	require.NotEmpty(p, wordsIn(strings.Join(contents, "\n")), "the control: the dream quotes clients: %q",
		contents)
	return contents
}

// recallTexts has every client ask an agent for texts by which others could be recognized.
func (p *proof) recallTexts(clients []caller, agent int, texts []string) {
	p.Helper()
	for _, who := range clients {
		t := &talk{p: p, client: who}
		for t.n = range texts {
			pass := passage{mark: word{who.id, agent, 0, ofTurn, t.n}}
			t.tool(&pass, "recall_memory", map[string]any{"agent": agents[agent], "query": texts[t.n], "n": 50})
			p.done(&pass)
		}
		pass := passage{mark: word{who.id, agent, 0, ofTurn, len(texts)}}
		t.tool(&pass, "status", map[string]any{"agent": agents[agent]})
		p.done(&pass)
	}
}

// spill makes a secret the agent's own, as an operator's import of private text would.
func (p *proof) spill(w word) {
	p.Helper()
	line, err := json.Marshal(map[string]any{
		"kind": "episode", "at": time.Now().UTC().Format(time.RFC3339),
		"content": fmt.Sprintf("Locker %d at the harbour of Brindle has the code %s.", w.n, w),
	})
	require.NoError(p, err)
	path := filepath.Join(p.TempDir(), "spilt.jsonl")
	require.NoError(p, os.WriteFile(path, append(line, '\n'), 0o600))
	p.must("memory", "import", "--agent", agents[w.agent], path)
}

// TestAStoredAnswerOfOneUserIsNotGivenToAnother has two users of one key send the same request under the same
// Idempotency-Key, as clients do that derive it from the text.
func TestAStoredAnswerOfOneUserIsNotGivenToAnother(t *testing.T) {
	t.Parallel()
	p := newProof()
	clients, _ := p.openIsolated(t, "", false)
	hidden := word{clients[0].id, 0, 0, ofSecret, 1}
	tell := &talk{p: p, client: clients[0], messages: make([][]message, len(agents))}
	kept := passage{mark: word{clients[0].id, 0, 0, ofTurn, 1}}
	tell.tool(&kept, "store_memory",
		map[string]any{
			"agent":   "iris",
			"content": "The code of my locker 1 at the harbour is " + hidden.String() + ".",
		})
	require.Empty(t, kept.fault)
	for i, wire := range wires {
		for _, stream := range []bool{false, true} {
			m := word{clients[0].id, 0, 0, ofTurn, 2 + i}
			if stream {
				m.n += len(wires)
			}
			p.once(wire, stream, m, hidden, clients)
		}
	}
	p.end()
}

// once has every client send one request under one Idempotency-Key: the first of them twice.
func (p *proof) once(wire wire, stream bool, m, hidden word, clients []caller) {
	p.Helper()
	ask := func(who caller) (int, http.Header, string) {
		text := "Which code has my locker 1 at the harbour (" + m.String() + ")?"
		return p.ask(http.MethodPost, wire.path, wire.body("iris", stream, []message{{"user", text}}, nil),
			"Authorization", "Bearer "+who.key, "X-Oneiros-User", who.user, "Idempotency-Key", "good-morning-"+m.String())
	}
	p.await(m, &passage{})
	status, header, first := ask(clients[0])
	require.Equal(p, http.StatusOK, status, first)
	require.Empty(p, header.Get("Idempotent-Replayed"))
	require.Contains(p, first, hidden.String())
	status, header, answer := ask(clients[0])
	require.Equal(p, http.StatusOK, status, answer)
	require.Equal(p, "true", header.Get("Idempotent-Replayed"))
	require.Equal(p, first, answer)
	for _, other := range clients[1:] {
		status, header, answer = ask(other)
		require.NotContains(p, answer, hidden.String(), "%d to %s", status, other.user)
		require.Empty(p, header.Get("Idempotent-Replayed"))
	}
	require.Equal(p, 2, p.under[m].calls, "for the first user of each key")
}
