package serving_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/serving/talker"
)

// hands calls the tool that another program's client offers.
func hands(a talker.Request) (name, arguments string) {
	const shell = `{"command":"echo dreamt > proof.txt","description":"leaves a proof"}`
	for name, arguments := range map[string]string{
		"add": `{"a":2,"b":3}`, "exec_command": `{"cmd":"echo dreamt > proof.txt"}`, "Bash": shell, "bash": shell,
	} {
		if slices.Contains(a.Tools, name) {
			return name, arguments
		}
	}
	return "", ""
}

// spoken is the newest message of the person. Programs put messages of their own after it.
func spoken(a talker.Request) (text string, answered bool) {
	for _, m := range slices.Backward(a.Messages) {
		switch m.Role {
		case "user":
			return m.Text, answered
		case "tool":
			answered = true
		}
	}
	return "", answered
}

// handsWhenAsked calls it once for those messages alone that want it called.
func handsWhenAsked(a talker.Request) (name, arguments string) {
	text, answered := spoken(a)
	if !answered && (strings.Contains(text, "list this folder") || strings.Contains(text, "two and three")) {
		return hands(a)
	}
	return "", ""
}

var long = regexp.MustCompile(`(?s)\(long\)(.*)\(end\)`)

// thinksWhenAsked thinks before it calls the tool, for those messages alone that want it. No two thoughts are the same.
func thinksWhenAsked(a talker.Request) string {
	text, answered := spoken(a)
	if answered || !strings.Contains(text, "think") {
		return ""
	}
	return fmt.Sprintf("\"Two\" & <three>:\n\tis it 5\u2028\\ é? %s", rand.Text())
}

// slowly answers slowly, as JSON, with the length of a long text, or with what it recalls, when asked to.
func slowly(a talker.Request) string {
	text, answered := spoken(a)
	found := long.FindStringSubmatch(text)
	switch {
	case text == "as JSON" && strings.Contains(string(a.Body), `"type":"json_schema"`):
		return `{"answer":"yes"}`
	case strings.HasSuffix(strings.TrimRight(text, "\"\n"), "count slowly"): // OpenCode quotes it
		return strings.Repeat("and one ", 5000)
	case found != nil:
		return fmt.Sprintf("I heard %d bytes.", len(found[1]))
	case strings.Contains(text, "How many sails"):
		for _, m := range a.Messages {
			if strings.HasPrefix(m.Text, "[Background from this agent's memory") && strings.Contains(m.Text,
				"seven sails") {
				return "I recall seven sails."
			}
		}
	}
	switch {
	case answered && len(a.Thoughts) > 0: // the talker knows them for its own
		return "I thought so: " + a.Last().Text
	case answered:
		return ""
	}
	return "I heard: " + text
}

// columns are the headings of the table in docs/clients.md, and which check of clients/ fills each.
var columns = [][2]string{
	{"talks", "talks"},
	{"runs a tool", "runs a tool"},
	{"thinks", "thinks, and sends the thought back with the result"},
	{"wakes it from sleep", "wakes a sleeping agent"},
	{"from a dream", "wakes a dreaming agent"},
	{"hangs up", "hangs up in the middle"},
	{"is killed", "is killed in the middle"},
	{"is recalled", "recalls in a second session"},
	{"60 KB", "sends 60 KB"},
	{"wrong key", "is told of a key that is wrong"},
	{"wrong model", "is told of a model that there is not"},
}

var checked = regexp.MustCompile(`(?m)^([^:\n]+): ([^:\n]+): ok \(\d+ ms\)$`)

// otherClient is a script of clients/, its row in the table, and the agent that it talks to.
type otherClient struct{ script, row, agent, key string }

// translatedClients talk to a provider that speaks chat completions alone.
var translatedClients = []otherClient{
	{script: "openai.mjs", row: "OpenAI's library, chat completions"},
	{script: "responses.mjs", row: "OpenAI's library, responses"},
	{script: "agents.mjs", row: "OpenAI's Agents SDK"},
	{script: "anthropic.mjs", row: "Anthropic's SDK"},
	{script: "aisdk.mjs", row: "AI SDK, compatible"},
	{script: "airesponses.mjs", row: "AI SDK, `openai()`"},
	{script: "aianthropic.mjs", row: "AI SDK, `anthropic()`"},
	{script: "codex.mjs", row: "Codex"},
	{script: "claudecode.mjs", row: "Claude Code"},
	{script: "opencode.mjs", row: "OpenCode"},
}

// nativeClients talk to a provider that speaks their own wire.
var nativeClients = []otherClient{
	{script: "responses.mjs", row: "OpenAI's library, responses, passed on"},
	{script: "agents.mjs", row: "OpenAI's Agents SDK, passed on"},
	{script: "anthropic.mjs", row: "Anthropic's SDK, passed on"},
	{script: "airesponses.mjs", row: "AI SDK, `openai()`, passed on"},
	{script: "aianthropic.mjs", row: "AI SDK, `anthropic()`, passed on"},
	{script: "codex.mjs", row: "Codex, passed on"},
	{script: "claudecode.mjs", row: "Claude Code, passed on"},
}

// tableRow says which of the columns a script's output shows to be checked.
func (c otherClient) tableRow(output string) string {
	row := "| " + c.row + " |"
	for _, column := range columns {
		cell := "-"
		for _, check := range checked.FindAllStringSubmatch(output, -1) {
			if check[2] == column[1] {
				cell = "yes"
			}
		}
		row += " " + cell + " |"
	}
	return row
}

// TestTheClientsOfOthersTalkToAnAgent runs the clients that clients/ installs, each with an agent of its own and a paid
// model, first with every wire translated to chat completions, then with the wires passed on to a provider that speaks
// them: what each was tried with stands in the table of docs/clients.md. make clients runs it.
func TestTheClientsOfOthersTalkToAnAgent(t *testing.T) {
	t.Parallel()
	if os.Getenv("ONEIROS_CLIENTS") == "" {
		t.Skip("make clients installs the clients of others and runs this")
	}
	table := []string{"| client |", "|---|"}
	for _, column := range columns {
		table[0] += " " + column[0] + " |"
		table[1] += "---|"
	}
	table = append(table, runClients(t, translatedClients, false)...)
	table = append(table, runClients(t, nativeClients, true)...)
	t.Log("\n" + strings.Join(table, "\n"))
	if os.Getenv("ONEIROS_CLIENT") == "" {
		page, err := os.ReadFile(filepath.Join(root, "docs", "clients.md"))
		require.NoError(t, err)
		require.Contains(t, string(page), strings.Join(table, "\n"), "the table of docs/clients.md")
	}
}

// runClients runs clients on one deployment and returns their rows. ONEIROS_CLIENT is a part of the names of those that
// are run alone; names of native ones begin with native/.
func runClients(t *testing.T, clients []otherClient, native bool) (rows []string) {
	t.Helper()
	only, folder := os.Getenv("ONEIROS_CLIENT"), ""
	if native {
		folder = "native/"
	}
	clients = slices.DeleteFunc(slices.Clone(clients), func(c otherClient) bool {
		return !strings.Contains(folder+c.script, only)
	})
	if len(clients) == 0 {
		return nil
	}
	h := build(t, talker.Options{Each: 2 * time.Millisecond, Call: handsWhenAsked, Say: slowly, Think: thinksWhenAsked},
		provider.Options{Each: 30 * time.Millisecond, AtLeast: 60},
		`serve: {listen: "127.0.0.1:0", model: paid/talker, rate: 0, recall_budget: 5s}
agent: {client_timeout: 2s, wake_lock: 1s, resume_after: 6h}`)
	h.native = native
	h.talksPaid()
	h.must("agents", "add", "iris", "--persona", "a quiet research companion")
	for i := range clients {
		clients[i].agent = fmt.Sprintf("iris%02d", i+1)
		h.must("agents", "add", clients[i].agent)
		h.must("memory", "import", "--agent", clients[i].agent, diary(t))
	}
	h.begin("up")
	defer h.end()
	if only == "" && !native {
		h.runClient("mcp/run.mjs")
	}
	key := func(name string, flags ...string) string {
		var made struct{ Secret string }
		text := h.must(append([]string{"--json", "keys", "add", name}, flags...)...)
		require.NoError(t, json.Unmarshal([]byte(text), &made))
		return made.Secret
	}
	for i := range clients {
		clients[i].key = key("visitor-"+clients[i].agent, "--agent", clients[i].agent)
	}
	operator := key("operator", "--role", "operator")
	require.Eventually(t, func() bool {
		without, _, _ := h.ask(http.MethodGet, "/v1/models", "")
		with, _, _ := h.ask(http.MethodGet, "/v1/models", "", "Authorization", "Bearer "+operator)
		return without == http.StatusUnauthorized && with == http.StatusOK
	}, 10*time.Second, 50*time.Millisecond, "the server has heard of the keys")
	for _, client := range clients {
		dropped := h.talker.Dropped()
		out := h.runClient(client.script, "ONEIROS_KEY="+client.key, "ONEIROS_AGENT="+client.agent,
			"ONEIROS_OPERATOR_KEY="+operator)
		require.Eventually(t, func() bool { return h.talker.UnderWay() == 0 }, 5*time.Second, 10*time.Millisecond,
			"a client that has gone stops the model")
		require.Greater(t, h.talker.Dropped(), dropped, "%s ended a stream in the middle", client.script)
		h.keptWhatItHeard(client, out)
		rows = append(rows, client.tableRow(out))
	}
	for _, request := range h.talker.Requests() {
		require.Equal(t, "talker", request.Model)
		require.Equal(t, native, request.Path != "/v1/chat/completions", "%s: passed on as it came, or translated",
			request.Path)
		for _, header := range []string{"Authorization", "X-Api-Key"} {
			require.NotContains(t, request.Header.Get(header), "oneiros_", "no key of a client goes to the provider")
		}
	}
	return rows
}

// runClient runs a script of clients/ and returns what it printed.
func (h *deployment) runClient(script string, more ...string) string {
	h.Helper()
	folder, err := filepath.Abs(filepath.Join(root, "clients"))
	require.NoError(h, err)
	cmd := exec.CommandContext(h.Context(), os.Getenv("ONEIROS_CLIENTS"), filepath.Join(folder, script))
	cmd.Env = append(append(os.Environ(), "ONEIROS_BASE="+h.base, "ONEIROS_AGENT=iris", "ONEIROS_KEY=",
		"ONEIROS_TALKER="+h.talker.URL+"/begun",
		"ONEIROS_BIN="+filepath.Join(h.dir, "oneiros"),
		"ONEIROS_CONFIG="+filepath.Join(h.dir, "oneiros.yaml"),
		"ONEIROS_DATA_DIR="+filepath.Join(h.dir, ".local", "share", "oneiros")), more...)
	var out output
	both := io.MultiWriter(&out, h.Output())
	cmd.Stdout, cmd.Stderr = both, both
	require.NoError(h, cmd.Run(), "%s\n%s\n%s", script, &out, &h.err)
	return out.String()
}

// keptWhatItHeard looks for what a client said before it hung up or was killed: it is remembered, the answer that was
// cut is not, and nothing stays reserved.
func (h *deployment) keptWhatItHeard(c otherClient, output string) {
	h.Helper()
	facts := []string{"My dog is called Rufus, he is brown."}
	if strings.Contains(output, "is killed in the middle: ok") {
		facts = append(facts, "My cat is called Minka, she is grey.")
	}
	for _, fact := range facts {
		require.Eventually(h, func() bool { return h.remembered(c.agent, fact) > 0 }, 20*time.Second,
			100*time.Millisecond,
			"%s: %s stays", c.script, fact)
	}
	require.Zero(h, h.remembered(c.agent, "and one and one"), "%s: an answer that was cut is none", c.script)
	require.Eventually(h, func() bool {
		reserved, attempts := h.reserved(c.agent)
		return reserved == 0 && attempts > 0
	}, 20*time.Second, 100*time.Millisecond, "%s: nothing stays reserved", c.script)
}
