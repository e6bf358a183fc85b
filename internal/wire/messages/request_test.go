package messages_test

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/wire/messages"
)

// chat is a request as a chat completion, and what of it had no effect.
func chat(t *testing.T, body string, p messages.Provider) (string, []string) {
	t.Helper()
	q, err := messages.Read([]byte(body))
	require.NoError(t, err)
	out, err := q.Chat(p)
	require.NoError(t, err)
	return string(out), q.Ignored()
}

// records are the blocks of a file of test data: lines of a word and its value, until an empty line.
func records(t *testing.T, file string) (all []map[string]string) {
	t.Helper()
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	for block := range strings.SplitSeq(strings.TrimSpace(string(raw)), "\n\n") {
		record := map[string]string{}
		for line := range strings.Lines(block) {
			word, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			record[word] = value
		}
		all = append(all, record)
	}
	return all
}

func provider(record map[string]string) messages.Provider {
	_, reasons := record["reasons"]
	_, caches := record["caches"]
	return messages.Provider{Reasons: reasons, Caches: caches}
}

func TestPicturesOfToolsAreTold(t *testing.T) {
	t.Parallel()
	const picture = `{"type":"image","source":{"type":"url","url":"https://x.org/a.png"}}`
	const called = `{"role":"user","content":"look"},` +
		`{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"shot","input":{}}]}`
	for content, want := range map[string][]int{
		`[{"type":"tool_result","tool_use_id":"t","content":[` + picture + `]}]`:                              {4},
		`[{"type":"tool_result","tool_use_id":"t","content":[` + picture + `]},{"type":"text","text":"so?"}]`: {4},
		`[{"type":"tool_result","tool_use_id":"t","content":"a cat"},` + picture + `]`:                        nil,
	} {
		q, err := messages.Read([]byte(`{"model":"iris","system":"s","messages":[` + called +
			`,{"role":"user","content":` + content + `}]}`))
		require.NoError(t, err)
		_, err = q.Chat(messages.Provider{})
		require.NoError(t, err)
		require.Equal(t, want, q.PicturesOfTools(), content)
	}
}

func TestARequestIsSaidAsAChatCompletion(t *testing.T) {
	t.Parallel()
	for _, c := range records(t, "testdata/requests.txt") {
		body, ignored := chat(t, c["request"], provider(c))
		require.Equal(t, c["chat"], body, c["#"])
		require.Equal(t, c["ignored"], strings.Join(ignored, ", "), c["#"])
		require.True(t, json.Valid([]byte(body)), c["#"])
	}
}

func TestThoughtsGoBackInTheRoundThatTheyBelongTo(t *testing.T) {
	t.Parallel()
	thought := func(signature, text string) string {
		return `[{"type":"thinking","thinking":` + text + `,"signature":"` + signature + `"},` +
			`{"type":"tool_use","id":"t","name":"f","input":{}}]`
	}
	for name, c := range map[string]struct{ content, later, back string }{
		"in the round":           {thought("oneiros:reasoning_content", `"hm"`), "", `,"reasoning_content":"hm"`},
		"in another field":       {thought("oneiros:reasoning", `"hm"`), "", `,"reasoning":"hm"`},
		"carried by a signature": {thought("oneiros:reasoning:aG0=", `""`), "", `,"reasoning":"hm"`},
		"a proof, and more": { // {"reasoning_details":[1],"content":"x"}
			thought("oneiros:proof:eyJyZWFzb25pbmdfZGV0YWlscyI6WzFdLCJjb250ZW50IjoieCJ9", `""`),
			"", `,"reasoning_details":[1]`,
		},
		"a proof that is none":   {thought("oneiros:proof:WzFd", `""`), "", ""},
		"of Anthropic":           {thought("EqQBCg", `"hm"`), "", ""},
		"of an earlier round":    {thought("oneiros:reasoning", `"hm"`), `,{"role":"user","content":"next"}`, ""},
		"in a field of thoughts": {thought("oneiros:content", `"hm"`), "", ""},
	} {
		body, ignored := chat(t,
			`{"messages":[{"role":"user","content":"go"},{"role":"assistant","content":`+c.content+`},`+
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"1"}]}`+c.later+`]}`,
			messages.Provider{})
		call := `"tool_calls":[{"id":"t","type":"function","function":{"name":"f","arguments":"{}"}}]`
		require.Contains(t, body, call+c.back+`},{"role":"tool"`, name)
		require.Equal(t, c.back == "", len(ignored) == 1 && ignored[0] == "thinking blocks", name)
	}
}

func TestMetadataNamesAUserUnlessItIsADevice(t *testing.T) {
	t.Parallel()
	for user, want := range map[string]string{
		`"ada"`: "ada",
		`null`:  "",
		`"{\"device_id\":\"d\",\"account_uuid\":\"\",\"session_id\":\"s\"}"`: "",
		`"user_0f_account__session_3e"`:                                      "",
		`"{\"name\":\"ada\"}"`:                                               `{"name":"ada"}`,
	} {
		q, err := messages.Read([]byte(`{"metadata":{"user_id":` + user + `}}`))
		require.NoError(t, err)
		require.Equal(t, want, q.User(), user)
	}
}

func TestWhatCannotBeSaidNamesItsField(t *testing.T) {
	t.Parallel()
	for _, c := range records(t, "testdata/refused.txt") {
		q, err := messages.Read([]byte(c["request"]))
		if err == nil {
			_, err = q.Chat(messages.Provider{})
		}
		e, ok := errors.AsType[*messages.Error](err)
		require.True(t, ok, "%s: %v", c["request"], err)
		require.Equal(t, c["field"], e.Field, c["request"])
		require.Contains(t, e.Message, c["says"], c["request"])
	}
	_, err := messages.Read([]byte("{\"model\":\"\xff\"}"))
	require.ErrorContains(t, err, "not UTF-8")
}
