package psyche

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

const window = 128_000

// paid are the limits of a model that costs money, with these fields allowed.
func paid(allowed ...string) *limits {
	l := &limits{
		spec: inference.Spec{
			Name: "p/dear", Provider: "p", Context: window,
			Price: &budget.Price{In: 1_000_000, CachedIn: 1_000_000, Out: 2_000_000},
		},
		thinking: 1000,
		allowed:  map[string]bool{},
	}
	for _, name := range allowed {
		l.allowed[inference.FieldKey(name)] = true
	}
	return l
}

func costFree() *limits {
	l := paid()
	l.free, l.spec.Price = true, &budget.Price{}
	return l
}

// held parses a body and checks it against limits.
func held(l *limits, text string) (costBound, error) {
	b, err := readBody([]byte(text))
	if err != nil {
		return costBound{}, err
	}
	return b.costBound(l)
}

func with(fields string) string {
	return `{"model":"echo","messages":[{"role":"user","content":"Hi"}],` + fields + `}`
}

func content(parts string) string {
	return `{"model":"echo","messages":[{"role":"user","content":[` + parts + `]}]}`
}

func TestAPromptThatMayBeCachedForLongerIsReservedAtTwiceThePrice(t *testing.T) {
	t.Parallel()
	for fields, want := range map[string]int64{
		`"temperature":1`:                          1,
		`"prompt_cache_key":"k"`:                   1,
		`"prompt_cache_options":null`:              1,
		`"prompt_cache_options":{"ttl":"12h"}`:     2,
		`"Prompt_Cache_Options":{"ttl":"12h"}`:     2,
		`"metadata":{"cache_control":"ephemeral"}`: 2,
	} {
		d, err := held(paid(), with(fields))
		require.NoError(t, err, fields)
		require.Equal(t, want, d.times, fields)
	}
}

func refused(t *testing.T, err error, code, param string, says ...string) {
	t.Helper()
	var f *Fault
	require.True(t, errors.As(err, &f), "%v", err)
	require.Equal(t, 400, f.Status)
	require.Equal(t, code, f.Code, f.Message)
	require.Equal(t, param, f.Param, f.Message)
	for _, words := range says {
		require.Contains(t, f.Message, words)
	}
}

func TestADuplicateNameIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ body, param string }{
		{with(`"model":"gpt-5-pro"`), "model"},
		{with(`"Model":"gpt-5-pro"`), "model"},
		{`{"MODEL":"gpt-5-pro","messages":[]}`, "model"},
		{with(`"mod\u0065l":"gpt-5-pro"`), "model"},
		{`{"\u006dodel":"echo","messages":[]}`, "model"},
		{with(`"max_token\u017f":9`), "max_tokens"},
		{with(`"max_tokenſ":9`), "max_tokens"},
		{with(`"max_toKens":9`), "max_tokens"},
		{with(`"reasoning_effort":"low","REASONING_effort":"high"`), "reasoning_effort"},
		{with(`"x":1,"x":2`), "x"},
		{with(`"x":1,"X":2`), "x"},
		{with(`"stream_optıons":{}`), "stream_options"},
		{with(`"stream_options":{"include_usage":true,"include_usage":false}`), "stream_options.include_usage"},
		{with(`"stream_options":{"Include_Usage":true}`), "stream_options.include_usage"},
		{`{"messages":[{"role":"user","content":"a","content":"b"}]}`, "messages[].content"},
		{`{"messages":[{"role":"user","Content":"a"}]}`, "messages[].content"},
		{content(`{"type":"text","type":"image_url","text":"x"}`), "content[].type"},
		{content(`{"type":"text","Image_URL":{"url":"data:image/png;base64,x"}}`), "content[].image_url"},
		{content(`{"type":"text","text":"a","te\u0078t":"b"}`), "content[].text"},
		{with(`"tools":[{"type":"function","type":"web_search"}]`), "tools[].type"},
	} {
		_, err := held(paid(), c.body)
		refused(t, err, "duplicate_field", c.param)
	}
	for _, body := range []string{with(`"x":1,"y_":2,"é":3`), with(`"metadata":{"model":"a","Model":"b"}`)} {
		_, err := held(paid(), body)
		require.NoError(t, err, body)
	}
}

func TestAFieldThatCountsIsAWholeNumberOrLeftOut(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"max_tokens", "max_completion_tokens", "n", "best_of", "max_output_tokens",
		"numPredict",
	} {
		for value, says := range map[string]string{
			"-5": "-5", "0": "0", "1.5": "1.5", "1e3": "1e3", "10e-1": "10e-1", `"7"`: "text",
			"true": "true or false", "[7]": "a list", `{"a":1}`: "an object", "-1": "-1",
		} {
			_, err := held(paid(), with(`"`+name+`":`+value))
			refused(t, err, "invalid_value", inference.FoldField(name), says, "whole number")
		}
		for _, value := range []string{"null", "1", "7", "7.0", "128"} {
			_, err := held(paid(), with(`"`+name+`":`+value))
			require.NoError(t, err, "%s: %s", name, value)
		}
	}
	for _, name := range []string{"n", "best_of"} {
		for _, value := range []string{"129", "2048", "9007199254740992", strings.Repeat("9", 400)} {
			_, err := held(paid(), with(`"`+name+`":`+value))
			refused(t, err, "invalid_value", name, "from 1 to 128")
		}
	}
	for _, name := range []string{"max_tokens", "max_completion_tokens", "max_new_tokens"} {
		for _, value := range []string{"128001", "9007199254740992", strings.Repeat("9", 400)} {
			_, err := held(paid(), with(`"`+name+`":`+value))
			refused(t, err, "invalid_value", name, "at most 128000", "p/dear")
		}
		_, err := held(paid(), with(`"`+name+`":128000`))
		require.NoError(t, err)
	}
	for field, param := range map[string]string{
		`"stream":1`: "stream", `"stream":"true"`: "stream", `"stream_options":true`: "stream_options",
		`"stream_options":[]`:                      "stream_options",
		`"stream_options":{"include_usage":"yes"}`: "stream_options.include_usage",
	} {
		for _, l := range []*limits{paid(), costFree()} {
			_, err := held(l, with(field))
			refused(t, err, "invalid_value", param)
		}
	}
}

// A local model costs nothing: what its clients send today still passes, except what no parser could read.
func TestAFreeModelIsAskedWithNearlyEverything(t *testing.T) {
	t.Parallel()
	for _, fields := range []string{
		`"max_tokens":null,"n":null,"stream":null,"stream_options":null,"tools":null`, `"max_tokens":-1`,
		`"max_completion_tokens":-1`,
		`"max_tokens":9007199254740992`, `"n_predict":-1`, `"options":{"num_ctx":9}`, `"service_tier":"priority"`,
		`"tools":[{"type":"web_search"}]`, `"models":["a"]`,
	} {
		_, err := held(costFree(), with(fields))
		require.NoError(t, err, fields)
	}
	_, err := held(costFree(), content(`{"type":"input_audio","input_audio":{}},{"type":"odd"}`))
	require.NoError(t, err)
	for fields, param := range map[string]string{
		`"max_tokens":"7"`: "max_tokens", `"n":0`: "n", `"n":129`: "n",
		`"max_tokens":1.5`: "max_tokens",
	} {
		_, err := held(costFree(), with(fields))
		refused(t, err, "invalid_value", param)
	}
}

func TestWhatCostsBeyondTokensIsRefusedUnlessItIsAllowed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, body string }{
		{"service_tier", with(`"service_tier":"priority"`)},
		{"service_tier", with(`"service_tier":"auto"`)},
		{"service_tier", with(`"Service_Tier":"flex"`)},
		{"service_tier", with(`"serviceTier":"priority"`)},
		{"web_search_options", with(`"web_search_options":{"search_context_size":"high"}`)},
		{"models", with(`"models":["gpt-5-pro"]`)},
		{"plugins", with(`"plugins":[{"id":"web"}]`)},
		{"route", with(`"route":"fallback"`)},
		{"provider", with(`"provider":{"order":["dear"]}`)},
		{"transforms", with(`"transforms":["middle-out"]`)},
		{"extra_body", with(`"extra_body":{"models":["x"]}`)},
		{"modalities", with(`"modalities":["text","audio"]`)},
		{"audio", with(`"audio":{"voice":"alloy"}`)},
		{"tools", with(`"tools":[{"type":"function","function":{"name":"f"}},{"type":"web_search_preview"}]`)},
		{"tools", with(`"tools":[{"google_search":{}}]`)},
		{"tools", with(`"tools":[{"type":"function","web_search":{}}]`)},
		{"tools", with(`"tools":["web_search"]`)},
		{"tools", with(`"tools":{"type":"web_search"}`)},
		{"search_parameters", with(`"search_parameters":{"mode":"on"}`)},
		{"options", with(`"options":{"num_predict":99999}`)},
		{"input_audio", content(`{"type":"input_audio","input_audio":{"data":"x"}}`)},
		{"file", content(`{"type":"file","file":{"file_id":"f"}}`)},
		{"video_url", content(`{"type":"text","text":"x","video_url":{"url":"https://x"}}`)},
		{"audio", `{"messages":[{"role":"assistant","audio":{"id":"a"}}]}`},
	} {
		_, err := held(paid(), c.body)
		refused(t, err, "field_not_allowed", c.name, "serve.allow_fields")
		_, err = held(paid(c.name), c.body)
		require.NoError(t, err, c.body)
	}
	for _, fields := range []string{
		`"service_tier":"default"`, `"service_tier":"standard"`, `"service_tier":null`, `"models":null`,
		`"models":[]`, `"modalities":["text"]`,
		`"plugins":[]`, `"store":false`,
		`"tools":[{"type":"function","function":{"name":"f"}},{"type":"custom","custom":{"name":"g"}}]`,
		`"web_search_options":null`, `"provider":{}`, `"logprobs":true,"top_logprobs":20`, `"unknown_field":{"a":[1]}`,
	} {
		_, err := held(paid(), with(fields))
		require.NoError(t, err, fields)
	}
}

func TestContentThatCannotBeCountedReservesTheWholeWindow(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		content(`{"type":"hologram","hologram":"x"}`),
		content(`{"type":"text","text":"x","attached":{"id":"1"}}`),
		content(`{"type":"image_url","image_url":{"url":"data:application/pdf;base64,x"}}`),
		content(`{"type":"image_url","image_url":{"url":"https://example.org/a.PDF?x=1"}}`),
		content(`{"type":"image_url","image_url":"https://example.org/a.png"}`),
		content(`{"type":"text","text":"x","image_url":{"url":"HTTP://example.org/a"}}`),
		content(`{"type":"input_image","image_url":"http://example.org/a.png"}`),
		content(`{"type":"image_url","image_url":{"url":"data:image/svg+xml;utf8,<svg/>"}}`),
		content(`{"type":"image_url","image_url":{"url":"data:image/tiff;base64,x"}}`),
		content(`{"type":"image_url","image_url":{"url":"data:image/png"}}`),
		content(`{"type":"folder","id":"1","image_url":{"url":"data:image/png;base64,x"}}`),
		content(`{"type":"image_url","image_url":{"url":"gs://bucket/film"}}`),
		content(`{"type":"image_url","image_url":{"url":"data:image/png;base64,x","frames":900}}`),
		content(`{"type":"image_url","image_url":["a"]}`),
		`{"messages":[{"role":"user","content":{"type":"hologram"}}]}`,
		`{"messages":[{"role":"user","content":"x","pictures":["a"]}]}`,
	} {
		c, err := held(paid(), body)
		require.NoError(t, err, body)
		require.GreaterOrEqual(t, c.in, int64(window), body)
		guessed := paid()
		guessed.spec.Guessed = true
		_, err = held(guessed, body)
		refused(t, err, "uncountable_content", "messages", "context")
	}
	for body, pictures := range map[string]int64{
		content(`{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}`):                             0,
		content(`{"type":"image_url","image_url":{"url":"data:image/png;base64,x","detail":"high"}}`):          1,
		content(`{"type":"image_url","image_url":"data:image/jpg;base64,x"}`):                                  1,
		content(`{"type":"text","text":"x","image_url":{"url":"data:image/jpeg;base64,x"}}`):                   1,
		content(`{"type":"input_image","image_url":"data:image/webp;base64,x"}`):                               1,
		content(`{"type":"image_url","image_url":{"url":"DATA:IMAGE/PNG;base64,x"}},{"type":"text"}`):          1,
		`{"messages":[{"role":"assistant","content":null,"tool_calls":[],"reasoning_content":"hm"}]}`:          0,
		`{"messages":[{"role":"user","content":{"type":"image_url","image_url":{"url":"data:image/gif,x"}}}]}`: 1,
	} {
		c, err := held(paid(), body)
		require.NoError(t, err, body)
		require.Equal(t, pictures, c.in/imageTokens, body)
	}
	lengths := paid()
	lengths.thorough = true
	c, err := held(lengths, content(`{"type":"image_url","image_url":"https://example.org/a.png"}`))
	require.NoError(t, err)
	require.EqualValues(t, 1, c.in/imageTokens, "for a client that asks how long its prompt is, it is a picture")
	long := strings.Repeat("word ", 20_000)
	c, err = held(paid(),
		content(`{"type":"image_url","image_url":{"url":"data:image/png;base64,x"},"text":"`+long+`"}`))
	require.NoError(t, err)
	require.Greater(t, c.in, int64(imageTokens+len(long)), "a text beside a picture counts")
}

func TestThinkingIsReservedForHoweverItIsAskedFor(t *testing.T) {
	t.Parallel()
	thinker := paid()
	thinker.spec.Reasoning = true
	for _, c := range []struct {
		limits *limits
		fields string
		answer int64
		thinks int64
	}{
		{paid(), `"max_tokens":10`, 10, 0},
		{paid(), `"max_tokens":10,"max_completion_tokens":7`, 10, 0},
		{paid(), `"max_tokens":10,"max_output_tokens":70`, 70, 0},
		{paid(), `"max_tokens":10,"reasoning_effort":"high"`, 1010, 1000},
		{paid(), `"max_tokens":10,"reasoning_effort":"none"`, 10, 0},
		{paid(), `"max_tokens":10,"reasoning":{"max_tokens":5000}`, 5010, 5000},
		{paid(), `"max_tokens":10,"reasoning":{"MAX_tokens":"5000","max_tokens":1}`, 5010, 5000},
		{paid(), `"max_completion_tokens":10,"thinking":{"type":"enabled","budget_tokens":4000}`, 4010, 4000},
		{paid(), `"max_tokens":10,"thinking":{"type":"disabled"}`, 10, 0},
		{paid(), `"max_tokens":10,"thinking_budget":1e9`, math.MaxInt64, math.MaxInt64},
		{paid(), `"reasoning_effort":"high"`, 0, 1000},
		{thinker, `"max_tokens":10`, 1010, 1000},
		{thinker, `"max_completion_tokens":10`, 10, 1000},
		{thinker, `"max_tokens":10,"max_completion_tokens":500`, 1010, 1000},
		{thinker, `"max_completion_tokens":10,"reasoning":{"max_tokens":5000}`, 5010, 5000},
		{thinker, `"max_tokens":null`, 0, 1000},
	} {
		got, err := held(c.limits, with(c.fields))
		require.NoError(t, err, c.fields)
		require.Equal(t, c.answer, got.answer, c.fields)
		require.Equal(t, c.thinks, got.thinks, c.fields)
	}
}

func TestAPromptThatTheProviderKeepsCostsMore(t *testing.T) {
	t.Parallel()
	for body, times := range map[string]int64{
		with(`"x":1`): 1,
		content(`{"type":"text","text":"x","cache_control":{"type":"ephemeral","ttl":"1h"}}`): 2,
		content(`{"type":"text","text":"x","c\u0061che_control":{}}`) + " ":                   0,
		with(`"cache_control":{"type":"ephemeral"}`):                                          2,
		with(`"tools":[{"type":"function","function":{"name":"f"},"cache_control":{}}]`):      2,
		with(`"system":[{"type":"text","text":"s","cacheControl":{}}]`):                       2,
		with(`"x":{"\u0063ache_control":{}}`):                                                 2,
		`{"messages":[{"role":"user","content":"cache_control"}]}`:                            1,
	} {
		c, err := held(paid(), body)
		if times == 0 {
			refused(t, err, "duplicate_field", "content[].cache_control")
			continue
		}
		require.NoError(t, err, body)
		require.Equal(t, times, c.times, body)
	}
}

func TestAFieldIsReplacedWhereItStands(t *testing.T) {
	t.Parallel()
	b, err := readBody([]byte(`{"max_tokens" : null,"model":null}`))
	require.NoError(t, err)
	require.Equal(t, `{"max_tokens" : 9,"model":"wire"}`,
		string(spliced(b.raw, []splice{b.set("max_tokens", []byte("9")), b.model("wire")})))
	b, err = readBody([]byte(`{ }`))
	require.NoError(t, err)
	require.Equal(t, `{"n":1 }`, string(spliced(b.raw, []splice{b.set("n", []byte("1"))})))
}

func TestArithmeticOfTokensStaysAtTheMost(t *testing.T) {
	t.Parallel()
	require.EqualValues(t, math.MaxInt64, plus(math.MaxInt64, 1))
	require.EqualValues(t, math.MaxInt64, plus(1, math.MaxInt64))
	require.EqualValues(t, math.MaxInt64, times(128, 1<<57))
	require.EqualValues(t, 6, plus(times(1, 2), times(2, 2)))
	require.EqualValues(t, 0, times(math.MaxInt64, 0))
}
