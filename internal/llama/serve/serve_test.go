package serve

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sashabaranov/go-openai"
	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/llama"
)

// parrot is an engine that says what it was told to, and remembers what it was asked.
type parrot struct {
	words []string
	fail  error
	hold  chan struct{} // closed when it may go on after its first word; nil: at once

	mu       sync.Mutex
	requests []llama.AnswerRequest
}

func (p *parrot) Shape() llama.Shape {
	return llama.Shape{Name: "Parrot", About: "1 B", Layers: 22, Context: 2048}
}

func (p *parrot) Vectors() []string { return []string{"bright", "dark"} }

func (p *parrot) last() llama.AnswerRequest {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requests[len(p.requests)-1]
}

func (p *parrot) Answer(ctx context.Context, a llama.AnswerRequest,
	say func(llama.Piece) bool,
) (llama.Generation, error) {
	p.mu.Lock()
	p.requests = append(p.requests, a)
	p.mu.Unlock()
	generation := llama.Generation{Finish: inference.Stopped, Read: 11, Reused: 4}
	if a.Steering != nil {
		generation.Steered = a.Steering.String()
	}
	for i, word := range p.words {
		if i == 1 && p.hold != nil {
			select {
			case <-p.hold:
			case <-ctx.Done():
			}
		}
		if ctx.Err() != nil {
			generation.Finish = inference.Cut
			return generation, context.Cause(ctx)
		}
		if generation.Made == a.MaxTokens {
			generation.Finish = inference.Length
			break
		}
		generation.Text, generation.Made, generation.Pieces = generation.Text+word, generation.Made+1,
			generation.Pieces+1
		token := llama.Token{Text: word, LogProb: -.5}
		for range a.Top {
			token.Top = append(token.Top, llama.Token{Text: word, LogProb: -.5})
		}
		if !say(llama.Piece{Text: word, Tokens: []llama.Token{token}}) {
			generation.Finish = inference.Halted
			return generation, nil
		}
	}
	return generation, p.fail
}

// openServer is a server with its parrot and a client of somebody else's making.
func openServer(t *testing.T, p *parrot, o Options) (*openai.Client, *httptest.Server) {
	t.Helper()
	o.Engine, o.Name = p, "small"
	s, err := New(o)
	require.NoError(t, err)
	s.local = true
	web := httptest.NewServer(s.Handler())
	t.Cleanup(web.Close)
	config := openai.DefaultConfig(o.Key)
	config.BaseURL = web.URL + "/v1"
	return openai.NewClientWithConfig(config), web
}

func hello(model string) openai.ChatCompletionRequest {
	return openai.ChatCompletionRequest{
		Model:    model,
		Messages: []openai.ChatCompletionMessage{{Role: "user", Content: "Hello."}},
	}
}

func TestAStrangersClientIsAnswered(t *testing.T) {
	t.Parallel()
	p := &parrot{words: []string{"Good", " morning", "."}}
	client, _ := openServer(t, p, Options{})
	r := hello("small")
	r.Temperature, r.TopP, r.Seed = .7, .9, new(int)
	r.Stop, r.MaxCompletionTokens = []string{"x"}, 9
	r.LogProbs, r.TopLogProbs = true, 2
	a, err := client.CreateChatCompletion(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, "Good morning.", a.Choices[0].Message.Content)
	require.Equal(t, openai.FinishReasonStop, a.Choices[0].FinishReason)
	require.Equal(t,
		openai.Usage{
			PromptTokens: 11, CompletionTokens: 3, TotalTokens: 14,
			PromptTokensDetails: &openai.PromptTokensDetails{CachedTokens: 4},
		}, a.Usage)
	require.Len(t, a.Choices[0].LogProbs.Content, 3)
	require.InDelta(t, -.5, a.Choices[0].LogProbs.Content[0].LogProb, 1e-6)
	require.Len(t, a.Choices[0].LogProbs.Content[0].TopLogProbs, 2)
	request := p.last()
	require.Equal(t, []string{"x"}, request.Stop)
	require.Equal(t, 9, request.MaxTokens)
	require.Equal(t, "temperature=0.7 top_p=0.9 seed=0",
		strings.ReplaceAll(request.Sampling.String(), "0.699999988079071", "0.7"))

	r.MaxCompletionTokens = 2
	a, err = client.CreateChatCompletion(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, openai.FinishReasonLength, a.Choices[0].FinishReason)

	list, err := client.ListModels(t.Context())
	require.NoError(t, err)
	var names []string
	for _, m := range list.Models {
		names = append(names, m.ID)
	}
	require.Equal(t, []string{"small", "small+bright", "small+dark"}, names)
	one, err := client.GetModel(t.Context(), "small+dark")
	require.NoError(t, err)
	require.Equal(t, "small+dark", one.ID)
}

func TestAStreamComesInPiecesWithItsUsageLast(t *testing.T) {
	t.Parallel()
	client, _ := openServer(t, &parrot{words: []string{"Good", " morning"}}, Options{})
	r := hello("small")
	r.Stream, r.StreamOptions, r.LogProbs = true, &openai.StreamOptions{IncludeUsage: true}, true
	stream, err := client.CreateChatCompletionStream(t.Context(), r)
	require.NoError(t, err)
	defer func() { require.NoError(t, stream.Close()) }()
	var text string
	var used *openai.Usage
	var reason openai.FinishReason
	odds := 0
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		require.Nil(t, used, "the usage is the last")
		used = chunk.Usage
		if used != nil {
			require.Empty(t, chunk.Choices)
			continue
		}
		text += chunk.Choices[0].Delta.Content
		reason = chunk.Choices[0].FinishReason
		if chunk.Choices[0].Logprobs != nil {
			odds += len(chunk.Choices[0].Logprobs.Content)
		}
	}
	require.Equal(t, "Good morning", text)
	require.Equal(t, openai.FinishReasonStop, reason)
	require.Equal(t, 2, used.CompletionTokens)
	require.Equal(t, 2, odds)
}

// post sends a body as it is.
func post(t *testing.T, web *httptest.Server, body string, head ...string) (int, map[string]any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, web.URL+"/v1/chat/completions",
		strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(head); i += 2 {
		r.Header.Set(head[i], head[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer func() { require.NoError(t, res.Body.Close()) }()
	var values map[string]any
	require.NoError(t, json.NewDecoder(res.Body).Decode(&values))
	return res.StatusCode, values
}

func TestARequestIsSteeredByOurFieldOrByTheNameOfTheModel(t *testing.T) {
	t.Parallel()
	p := &parrot{words: []string{"Hm"}}
	alpha := .4
	_, web := openServer(t, p, Options{Steer: inference.Steers{From: 6, To: 18, Alpha: &alpha}})
	const answer = `"messages":[{"role":"user","content":"Hello."}]`
	for _, c := range []struct{ body, want string }{
		{`{"model":"small",` + answer + `}`, ""},
		{`{"model":"small+bright",` + answer + `}`, "bright x 0.4 at layers 6-18"},
		{`{"model":"small",` + answer + `,"steering":{"vector":"dark"}}`, "dark x 0.4 at layers 6-18"},
		{
			`{"model":"small",` + answer + `,"steering":{"vector":"dark","alpha":-0.2,"layers":[11]}}`,
			"dark x -0.2 at layer 11",
		},
		{
			`{"model":"small+bright",` + answer + `,"steering":{"alpha":0.1,"layers":[3,5]}}`,
			"bright x 0.1 at layers 3-5",
		},
		{`{"model":"small+bright",` + answer + `,"steering":{"alpha":0}}`, ""},
	} {
		status, values := post(t, web, c.body)
		require.Equal(t, http.StatusOK, status, "%v", values)
		if c.want == "" {
			require.Nil(t, p.last().Steering, c.body)
			require.NotContains(t, values, "steered")
			continue
		}
		require.Equal(t, c.want, p.last().Steering.String())
		require.Equal(t, c.want, values["steered"])
	}
	_, plain := openServer(t, p, Options{})
	_, _ = post(t, plain, `{"model":"small+dark",`+answer+`}`)
	require.Equal(t, "dark x 1.5 at layer 11", p.last().Steering.String(), "16 of 32 is 11 of 22")
}

func TestWhatIsWrongIsToldInTheShapeOfTheWire(t *testing.T) {
	t.Parallel()
	_, web := openServer(t, &parrot{words: []string{"Hm"}}, Options{})
	const answer = `"model":"small","messages":[{"role":"user","content":"Hello."}]`
	for _, c := range []struct {
		body   string
		status int
		param  any
		says   string
	}{
		{`{`, 400, nil, "cannot be read"},
		{`{"model":"small","messages":"x"}`, 400, "messages", "cannot be read"},
		{`{"model":"small"}`, 400, "messages", "at least one"},
		{`{"model":"large",` + answer[16:] + `}`, 404, "model", "small+bright"},
		{`{"model":"small","messages":[{"role":"tool","content":"x"}]}`, 400, "messages[0].role", "none of"},
		{`{"model":"small","messages":[{"role":"user","content":[{"type":"image_url"}]}]}`, 400, nil, "only text"},
		{`{` + answer + `,"n":2}`, 400, "n", "one answer"},
		{`{` + answer + `,"tools":[{}]}`, 400, "tools", "no tools"},
		{`{` + answer + `,"presence_penalty":1}`, 400, "presence_penalty", "0 is accepted"},
		{`{` + answer + `,"top_logprobs":3}`, 400, "top_logprobs", "logprobs: true"},
		{`{` + answer + `,"logprobs":true,"top_logprobs":21}`, 400, "top_logprobs", "20"},
		{`{` + answer + `,"response_format":{"type":"json_object"}}`, 400, "response_format", "json_schema"},
		{`{` + answer + `,"steering":{}}`, 400, "steering.vector", "names no vector"},
		{`{` + answer + `,"steering":{"vector":"dark","layers":[5,3]}}`, 400, "steering.layers", "first and the last"},
		{`{` + answer + `,"steering":{"vector":"dark","alpha":1e9}}`, 400, "steering", "between -100 and 100"},
		{`{"x":"` + strings.Repeat("a", bodyLimit) + `"}`, 413, nil, "bytes"},
	} {
		status, values := post(t, web, c.body)
		wrong := values["error"].(map[string]any)
		require.Equal(t, c.status, status, "%v", values)
		require.Equal(t, c.param, wrong["param"], "%v", values)
		require.Contains(t, wrong["message"], c.says)
		require.NotEmpty(t, wrong["type"])
	}
	status, _ := post(t, web, `{`+answer+`}`, "Content-Type", "text/plain")
	require.Equal(t, http.StatusUnsupportedMediaType, status)
	status, _ = post(t, web, `{`+answer+`}`, "Origin", "https://evil.example")
	require.Equal(t, http.StatusForbidden, status)
}

func TestPartsOfAContentAndUnknownFieldsAreTaken(t *testing.T) {
	t.Parallel()
	p := &parrot{words: []string{"Hm"}}
	_, web := openServer(t, p, Options{})
	status, values := post(t, web,
		`{"model":"small","store":false,"max_tokens":7,"min_p":0.1,"stop":"End","messages":[`+
			`{"role":"developer","content":"Be brief."},{"role":"user","content":[{"type":"text","text":"One."},{"type":"text","text":"Two."}]}],`+
			`"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"string"}}}}`)
	require.Equal(t, http.StatusOK, status, "%v", values)
	request := p.last()
	require.Equal(t,
		[]inference.Message{{Role: "system", Content: "Be brief."}, {Role: "user", Content: "One.\nTwo."}},
		request.Messages)
	require.Equal(t, 7, request.MaxTokens)
	require.Equal(t, []string{"End"}, request.Stop)
	require.Equal(t, "min_p=0.1", request.Sampling.String())
	require.JSONEq(t, `{"type":"string"}`, string(request.Schema.JSON))
}

func TestFailuresOfTheEngineAreStatuses(t *testing.T) {
	t.Parallel()
	for kind, status := range map[inference.Kind]int{
		inference.BadRequest: 400, inference.RateLimited: 429, inference.Unavailable: 503, inference.Broken: 500,
	} {
		_, web := openServer(t, &parrot{fail: &inference.Failure{Kind: kind, Message: "so it is"}}, Options{})
		got, values := post(t, web, `{"model":"small","messages":[{"role":"user","content":"Hello."}]}`)
		require.Equal(t, status, got)
		require.Equal(t, "so it is", values["error"].(map[string]any)["message"])
	}
}

func TestAStreamThatBreaksTellsItAndDoesNotSayDone(t *testing.T) {
	t.Parallel()
	client, _ := openServer(t,
		&parrot{words: []string{"Good"}, fail: &inference.Failure{Kind: inference.Broken, Message: "it went dark"}},
		Options{})
	r := hello("small")
	r.Stream = true
	stream, err := client.CreateChatCompletionStream(t.Context(), r)
	require.NoError(t, err)
	for err == nil {
		_, err = stream.Recv()
	}
	require.ErrorContains(t, err, "it went dark")
	require.NoError(t, stream.Close())
}

func TestAKeyIsWantedOfEveryRequest(t *testing.T) {
	t.Parallel()
	client, web := openServer(t, &parrot{words: []string{"Hm"}}, Options{Key: "sesame"})
	_, err := client.CreateChatCompletion(t.Context(), hello("small"))
	require.NoError(t, err)
	status, values := post(t, web, `{}`, "Authorization", "Bearer guess")
	require.Equal(t, http.StatusUnauthorized, status)
	require.NotContains(t, values["error"].(map[string]any)["message"], "sesame")
}

func TestAnAddressThatOthersReachNeedsAKey(t *testing.T) {
	t.Parallel()
	s, err := New(Options{Engine: &parrot{}, Name: "small"})
	require.NoError(t, err)
	for _, address := range []string{"0.0.0.0:0", ":0", "nonsense"} {
		_, err = s.Listen(address)
		require.Error(t, err, address)
	}
	_, err = New(Options{Engine: &parrot{}, Name: "a+b"})
	require.Error(t, err)
}

func TestAStoppingServerFinishesARunningAnswer(t *testing.T) {
	t.Parallel()
	for name, patient := range map[string]bool{"to the end": true, "until the drain is over": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &parrot{words: []string{"Good", " night"}, hold: make(chan struct{})}
			o := Options{Engine: p, Name: "small", Drain: time.Millisecond}
			if patient {
				o.Drain = time.Minute
			}
			s, err := New(o)
			require.NoError(t, err)
			l, err := s.Listen("127.0.0.1:0")
			require.NoError(t, err)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			over := make(chan error, 1)
			go func() { over <- s.Serve(ctx, l) }()
			config := openai.DefaultConfig("")
			config.BaseURL = "http://" + l.Addr().String() + "/v1"
			r := hello("small")
			r.Stream = true
			stream, err := openai.NewClientWithConfig(config).CreateChatCompletionStream(t.Context(), r)
			require.NoError(t, err)
			defer func() { require.NoError(t, stream.Close()) }()
			_, err = stream.Recv() // the head
			require.NoError(t, err)
			first, err := stream.Recv()
			require.NoError(t, err)
			require.Equal(t, "Good", first.Choices[0].Delta.Content)
			stop()
			if patient {
				close(p.hold)
			}
			text := ""
			for err == nil {
				var chunk openai.ChatCompletionStreamResponse
				chunk, err = stream.Recv()
				if err == nil {
					text += chunk.Choices[0].Delta.Content
				}
			}
			if patient {
				require.ErrorIs(t, err, io.EOF)
				require.Equal(t, " night", text)
			} else {
				require.ErrorContains(t, err, "stopped")
			}
			require.NoError(t, <-over)
		})
	}
}
