package serving_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/serving/talker"
)

// labelOf waits until the answer with this beginning is remembered, and returns its label.
func (h *deployment) labelOf(agent, answer string) (label dream.Taint) {
	h.Helper()
	require.Eventually(h, func() bool {
		var items []struct {
			Content string
			Taint   dream.Taint
		}
		require.NoError(h,
			json.Unmarshal([]byte(h.must("--json", "memory", "list", "--agent", agent, "-k", "episode", "-n", "0")),
				&items))
		for _, item := range items {
			if strings.HasPrefix(item.Content, answer) {
				label = item.Taint
				return true
			}
		}
		return false
	}, 20*time.Second, 50*time.Millisecond, "%s\n%s", answer, &h.err)
	return label
}

// TestAnAnswerCarriesTheLeastTrustedLabelOfItsPrompt sends the same agent questions whose prompts have no background,
// a tool's result, recalled memories of every label, and dream text. Its answer is remembered under the least trusted
// of them.
func TestAnAnswerCarriesTheLeastTrustedLabelOfItsPrompt(t *testing.T) {
	t.Parallel()
	// Each answer has words of its own, so that none repeats another that is recalled with it.
	answer := func(n string) string {
		return fmt.Sprintf(
			"Answer %[1]s: remember that %[1]s verdict, %[1]s rule and %[1]s name are for %[1]s Zephyrine and %[1]s Tom.",
			n,
		)
	}
	say := func(a talker.Request) string {
		last := ""
		for _, m := range a.Messages {
			if _, after, ok := strings.Cut(m.Text, "case:"); ok && m.Role == "user" {
				last, _, _ = strings.Cut(after, " ")
			}
		}
		return answer(last)
	}
	h := build(t, talker.Options{Say: say}, provider.Options{Each: 3 * time.Millisecond, AtLeast: 40, Nouns: ofMark},
		`serve: {listen: "127.0.0.1:0", model: talk/talker, rate: 0}
consent: {auto_paid: false}
agent: {client_timeout: 1s, wake_lock: 1s, resume_after: 1s, jitter: 0s}
dream: {partial_tokens: 100}
`)
	existing := filepath.Join(h.dir, "known.jsonl")
	var lines strings.Builder
	for taint, content := range map[dream.Taint]string{
		dream.FromHuman: "The humidor of grandfather stands behind the piano.",
		dream.FromTool:  "The thermostat reports nineteen degrees in the cellar.",
		dream.FromWeb:   "The encyclopedia says that axolotls regrow their limbs.",
	} {
		line, err := json.Marshal(
			map[string]any{"kind": "episode", "at": "2026-03-01T10:00:00Z", "content": content, "taint": taint})
		require.NoError(t, err)
		lines.Write(append(line, '\n'))
	}
	require.NoError(t, os.WriteFile(existing, []byte(lines.String()), 0o600))
	h.must("agents", "add", "iris")
	h.must("memory", "import", "--agent", "iris", existing)
	h.must("agents", "add", "dreamer")
	h.must("memory", "import", "--agent", "dreamer", marked(t))
	h.begin("up")

	ask := func(agent, talk, messages string, header ...string) string {
		t.Helper()
		status, got, body := h.ask(http.MethodPost, "/v1/chat/completions",
			`{"model":"`+agent+`","messages":[`+messages+`]}`,
			append(header, "X-Oneiros-Conversation", talk)...)
		require.Equal(t, http.StatusOK, status, body)
		return got.Get("X-Oneiros-Recalled")
	}
	user := func(text string) string { return `{"role":"user","content":"` + text + `"}` }
	assistant := func(n string) string { return `,{"role":"assistant","content":"` + answer(n) + `"},` }
	tool := `,{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":"42"}`
	for _, c := range []struct {
		name, talk, messages string
		want                 dream.Taint
		recalls              bool
	}{
		{"plain", "a", user("case:plain Blorvek snarfen ulmid trevask opplin zorbet?"), dream.FromAgent, false},
		{
			"human", "b", user("case:human Where does the humidor of grandfather stand behind the piano?"),
			dream.FromAgent, true,
		},
		{"tool", "c", user("case:tool Wimbrel kastuni ofrel drindo yaspek mulvane?") + tool, dream.FromTool, false},
		{
			"after", "d",
			user("case:before Gnorpa vestrik ludamo fikkel ostrap brenuli?") + tool + assistant("before") +
				user("case:after Hupsel cranvik dotemi alvur spondek riltano?"), dream.FromTool, false,
		},
		{
			"recalledtool", "e", user("case:recalledtool What does the thermostat report of degrees in the cellar?"),
			dream.FromTool, true,
		},
		{"web", "f", user("case:web What does the encyclopedia say that axolotls regrow, limbs?"), dream.FromWeb, true},
		{
			"webstands", "f",
			user("case:web What does the encyclopedia say that axolotls regrow, limbs?") + assistant("web") +
				user("case:webstands Jukrel pantov isembi glaudo netrux orfisk?"),
			dream.FromWeb, false,
		},
		{
			"webthentool", "f",
			user("case:web What does the encyclopedia say that axolotls regrow, limbs?") + assistant("web") +
				user("case:webthentool Kolvet mirsap udrane fesbik tolwyn agristo?") + tool,
			dream.FromWeb, false,
		},
	} {
		recall := map[bool]string{true: "on", false: "off"}[c.recalls]
		recalled := ask("iris", c.talk, c.messages, "X-Oneiros-Recall", recall)
		require.Equal(t, c.recalls, recalled != "0" && recalled != "", "%s recalled %q", c.name, recalled)
		require.Equal(t, c.want, h.labelOf("iris", "Answer "+c.name+":"), c.name)
	}

	h.dreams("dreamer")
	require.Eventually(t, func() bool {
		code, _, body := h.ask(http.MethodGet, "/v1/dreams/dream_dreamer_0001", "")
		return code == http.StatusOK && strings.Contains(body, `"status":"completed"`)
	}, time.Minute, 50*time.Millisecond, "%s", &h.err)
	require.Eventually(t, func() bool { return h.status("dreamer").State == "sleeping" }, 20*time.Second,
		50*time.Millisecond)
	ask("dreamer", "n", user("case:night Blorvek snarfen ulmid trevask opplin zorbet?"))
	require.Contains(t, string(h.talker.Requests()[len(h.talker.Requests())-1].Body), "since the agent was last awake",
		"the control: the digest was told")
	require.Equal(t, dream.FromDream, h.labelOf("dreamer", "Answer night:"))
	h.end()
}
