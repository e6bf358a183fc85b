package mcpserver

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// offered are the arguments of every tool.
func offered(t testing.TB) map[string]*jsonschema.Schema {
	t.Helper()
	handler := New(struct{ Service }{}, struct{ Dreams }{}, Options{})
	takes := handler.toolset(mcp.NewServer(&mcp.Implementation{Name: "t", Version: "1"}, nil), access.Owner,
		&psyche.Caller{}).takes
	require.Len(t, takes, 14)
	return takes
}

func TestArgumentsThatDoNotFitAreNamedWithTheirValueAndWhatIsRight(t *testing.T) {
	t.Parallel()
	takes := offered(t)
	long := strings.Repeat("é", 300)
	for _, it := range []struct{ tool, arguments, says string }{
		{"recall_memory", `{"query":"x"}`, ""},
		{"recall_memory", `{"query":"x","n":50,"agent":"iris"}`, ""},
		{"recall_memory", `{"query":"x","n":0}`, `n is 0; it must be a whole number from 1 to 50, or be left out`},
		{"recall_memory", `{"query":"x","n":51}`, `n is 51; it must be a whole number from 1 to 50, or be left out`},
		{"recall_memory", `{"query":"x","n":2.5}`, `n is 2.5; it must be a whole number from 1 to 50, or be left out`},
		{
			"recall_memory", `{"query":"x","n":"many"}`,
			`n is "many"; it must be a whole number from 1 to 50, or be left out`,
		},
		{
			"recall_memory", `{"query":"x","n":null}`,
			`n is null; it must be a whole number from 1 to 50, or be left out`,
		},
		{
			"recall_memory", `{"query":"x","n":1e300}`,
			`n is 1e300; it must be a whole number from 1 to 50, or be left out`,
		},
		{"recall_memory", ``, `query is missing; it must be text that is not empty`},
		{"recall_memory", `{}`, `query is missing; it must be text that is not empty`},
		{"recall_memory", `{"query":""}`, `query is empty; it must be text that is not empty`},
		{"recall_memory", `{"query":["a", "b"]}`, `query is ["a","b"]; it must be text that is not empty`},
		{
			"recall_memory", `{"text":"x"}`,
			`query is missing; it must be text that is not empty. "text" is no argument of recall_memory, which takes agent, dreamt, n and query`,
		},
		{"recall_memory", `[1]`, `the arguments are [1]; they must be an object`},
		{
			"recall_memory", `{"query":"x","agent":{"a":"` + long + `"}}`,
			`agent is {"a":"` + long[:2*54] + `…; it must be text, or be left out`,
		},
		{
			"chat", `{"message":"x","conversation":"` + long + `"}`,
			`conversation is text of 300 characters; it must be text of at most 256 characters, or be left out`,
		},
		{
			"store_memory", `{"content":"x","importance":2}`,
			`importance is 2; it must be a number from 0 to 1, or be left out`,
		},
		{"update_emotion", `{"event":"picnic","intensity":0}`, `event is "picnic"; it must be "`},
		{
			"update_emotion", `{"event":"success","intensity":0}`,
			`intensity is 0; it must be a number above 0 and at most 1, or be left out`,
		},
		{"connect", `{"seconds":4000}`, `seconds is 4000; it must be a whole number from 1 to 3600`},
		{
			"leave", `{"session":"` + long + `"}`,
			`session is text of 300 characters; it must be text of 1 to 256 characters`,
		},
		{"dreams_start", `{"wait":"yes"}`, `wait is "yes"; it must be true or false, or be left out`},
		{
			"dreams_start", `{"budget_micros":-1}`,
			`budget_micros is -1; it must be a whole number of at least 0, or be left out`,
		},
		{"dreams_start", `{"tier":"soft"}`, `tier is "soft"; it must be "core" or "hardened", or be left out`},
		{
			"status", `{"a":1,"b":2}`,
			`"a" is no argument of status, which takes agent. "b" is no argument of status, which takes agent`,
		},
	} {
		text := argumentFaults(it.tool, takes[it.tool], json.RawMessage(it.arguments))
		if it.says == "" {
			require.Empty(t, text)
			continue
		}
		require.True(t, strings.HasPrefix(text, it.says), "%s of %s: %s", it.arguments, it.tool, text)
		require.NotContains(t, text, "schema")
	}
}

// A refusal is read by a model, and must not be many times as long as what it refuses.
func TestOfVeryManyWrongArgumentsTheFirstAreNamed(t *testing.T) {
	t.Parallel()
	var all []string
	for i := range 5000 {
		all = append(all, fmt.Sprintf(`"a%04d":1`, i))
	}
	text := argumentFaults("recall_memory", offered(t)["recall_memory"], json.RawMessage("{"+strings.Join(all, ",")+"}"))
	require.True(t,
		strings.HasPrefix(text,
			`query is missing; it must be text that is not empty. "a0000" is no argument of recall_memory`), text[:200])
	require.True(t,
		strings.HasSuffix(text,
			`"a0006" is no argument of recall_memory, which takes agent, dreamt, n and query. 4993 more do not fit`),
		text[max(0, len(text)-200):])
}

// What fits here also fits for the library, whose own messages are never shown.
func FuzzArgumentsThatFitAreTakenByTheLibrary(f *testing.F) {
	for _, seed := range []string{
		`{}`, `null`, `[]`, `{"query":"x","n":3}`, `{"query":"x","n":3.0}`, `{"message":"x"}`,
		`{"content":"x","importance":0.5}`, `{"event":"praise"}`, `{"session":"s","seconds":60}`,
		`{"wait":true,"budget_micros":9007199254740993}`, `{"limit":1e1}`, `{"agent":"\ud800"}`,
		`{"query":"x","query":1}`, `{"n":-0}`, `{"dream":"x"}`,
	} {
		f.Add(seed)
	}
	takes := offered(f)
	whole := map[string]*jsonschema.Resolved{}
	for name, s := range takes {
		resolved, err := s.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
		require.NoError(f, err)
		whole[name] = resolved
	}
	f.Fuzz(func(t *testing.T, arguments string) {
		for name, s := range takes {
			text := argumentFaults(name, s, json.RawMessage(arguments))
			v := map[string]any{}
			if len(arguments) > 0 && (json.Unmarshal([]byte(arguments), &v) != nil || v == nil) {
				require.NotEmpty(t, text)
				continue
			}
			if text == "" {
				require.NoError(t, whole[name].Validate(&v), fmt.Sprint(name, arguments))
			} else {
				require.NotContains(t, text, "\n")
			}
		}
	})
}
