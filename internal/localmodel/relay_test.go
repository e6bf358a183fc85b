package localmodel_test

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/localmodel"
)

func ask(t testing.TB, path, body string) (*inference.RelayResponse, string) {
	t.Helper()
	model := localmodel.Associative
	if path == "/embeddings" {
		model = localmodel.Lexical
	}
	return askModel(t, model, path, body)
}

func askModel(t testing.TB, model, path, body string) (*inference.RelayResponse, string) {
	t.Helper()
	res, err := localmodel.New().Relay(t.Context(),
		inference.RelayRequest{Method: http.MethodPost, Path: path, Body: []byte(body), Model: model})
	require.NoError(t, err)
	all, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	return res, string(all)
}

type event struct {
	Object, Model, ID string
	Choices           []struct {
		Delta, Message struct {
			Role    string
			Content *string
		}
		FinishReason *string `json:"finish_reason"`
	}
	Usage *struct {
		PromptTokens     int64 `json:"prompt_tokens"`
		CompletionTokens int64 `json:"completion_tokens"`
		TotalTokens      int64 `json:"total_tokens"`
	}
}

const asks = `"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":[{"type":"text","text":"The lighthouse keeper paints lanterns in the old harbour."},{"type":"image_url"}]}]`

func TestTheBuiltInModelSpeaksChatCompletionsInOnePiece(t *testing.T) {
	t.Parallel()
	res, body := ask(t, "/chat/completions", `{"model":"echo",`+asks+`,"seed":7}`)
	require.Equal(t, 200, res.Status)
	require.Equal(t, "application/json", http.Header(res.Header).Get("Content-Type"))
	var e event
	require.NoError(t, json.Unmarshal([]byte(body), &e))
	require.Equal(t, "chat.completion", e.Object)
	require.Equal(t, "assistant", e.Choices[0].Message.Role)
	require.NotEmpty(t, *e.Choices[0].Message.Content)
	require.Contains(t, []string{"stop", "length"}, *e.Choices[0].FinishReason)
	require.Equal(t, e.Usage.TotalTokens, e.Usage.PromptTokens+e.Usage.CompletionTokens)
	seen := res.Seen()
	require.True(t, seen.Ended)
	require.Equal(t, inference.ByProvider, seen.UsageFrom)
	require.Equal(t, e.Usage.CompletionTokens, seen.Tokens.Out)
	_, again := ask(t, "/chat/completions", `{"model":"echo",`+asks+`,"seed":7}`)
	var other event
	require.NoError(t, json.Unmarshal([]byte(again), &other))
	require.Equal(t, *e.Choices[0].Message.Content, *other.Choices[0].Message.Content, "a seed is a seed")
}

func TestTheBuiltInModelStreams(t *testing.T) {
	t.Parallel()
	for _, usage := range []bool{false, true} {
		options := ""
		if usage {
			options = `,"stream_options":{"include_usage":true}`
		}
		res, body := ask(t, "/chat/completions", `{"model":"echo","stream":true,"seed":7,`+asks+options+`}`)
		require.Equal(t, "text/event-stream", http.Header(res.Header).Get("Content-Type"))
		events := strings.Split(strings.TrimSuffix(body, "\n\n"), "\n\n")
		require.Equal(t, "data: [DONE]", events[len(events)-1])
		events = events[:len(events)-1]
		var text strings.Builder
		for i, raw := range events {
			var e event
			require.NoError(t, json.Unmarshal([]byte(strings.TrimPrefix(raw, "data: ")), &e), raw)
			require.Equal(t, "chat.completion.chunk", e.Object)
			last := i == len(events)-1
			switch {
			case i == 0:
				require.Equal(t, "assistant", e.Choices[0].Delta.Role)
			case usage && last:
				require.NotNil(t, e.Choices)
				require.Empty(t, e.Choices)
				require.Positive(t, e.Usage.PromptTokens)
			case last || usage && i == len(events)-2:
				require.NotNil(t, e.Choices[0].FinishReason)
			default:
				require.Nil(t, e.Choices[0].FinishReason)
				text.WriteString(*e.Choices[0].Delta.Content)
			}
			if !usage || !last {
				require.Nil(t, e.Usage)
			}
		}
		_, whole := ask(t, "/chat/completions", `{"model":"echo",`+asks+`,"seed":7}`)
		var e event
		require.NoError(t, json.Unmarshal([]byte(whole), &e))
		require.Equal(t, *e.Choices[0].Message.Content, text.String())
	}
}

func TestAQuotedMemoryCountsAndItsFrameDoesNot(t *testing.T) {
	t.Parallel()
	_, body := ask(t, "/chat/completions",
		`{"model":"echo","seed":3,"messages":[{"role":"user","content":"[Zanzibar frame words]\n\n(human, 2026-11-20)\n> The lighthouse keeper paints lanterns.\n\n[Zanzibar end.]"},{"role":"user","content":"What does the keeper paint?"}]}`)
	require.NotContains(t, body, "Zanzibar")
	require.NotContains(t, body, "2026")
}

func TestAQuestionIsAnsweredWithTheSentenceThatSharesMostWithIt(t *testing.T) {
	t.Parallel()
	for question, want := range map[string]string{
		"When does Ruth come?":            "Ruth wants to come in October if the weather holds.",
		"What comes with smoke?":          "Where smoke comes up, wind comes up too (held 12 of 15 times)",
		"Ruth came?\n> What does she do?": "Ruth wants to come in October if the weather holds.",
	} {
		body, err := json.Marshal(map[string]any{"model": "echo", "messages": []map[string]any{
			{"role": "user", "content": "(human)\n> A letter of four pages. Ruth wants to come in October if the\n" +
				"> weather holds.\n(tool)\n> Where smoke comes up, wind comes up too (held 12 of 15 times)"},
			{"role": "user", "content": question},
		}})
		require.NoError(t, err)
		_, text := ask(t, "/chat/completions", string(body))
		var answer struct {
			Choices []struct{ Message struct{ Content string } }
		}
		require.NoError(t, json.Unmarshal([]byte(text), &answer))
		require.Equal(t, want, answer.Choices[0].Message.Content)
	}
}

func TestAFieldOfTheWrongKindIsNamedInTheClientsWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ body, param, says string }{
		{`{"messages":[5]}`, "messages", "messages holds a number where there must be an object."},
		{`{"messages":[{"role":5}]}`, "messages.role", "messages.role is a number; it must be a string."},
		{`{"stream":"yes",` + asks + `}`, "stream", "stream is a string; it must be a bool."},
		{
			`{"stream_options":7,` + asks + `}`, "stream_options",
			"stream_options holds a number where there must be an object.",
		},
		{`{"max_tokens":"a",` + asks + `}`, "max_tokens", "max_tokens is a string; it must be a whole number."},
		{`{"temperature":"hot",` + asks + `}`, "temperature", "temperature is a string; it must be a number."},
		{`{"seed":1.5,` + asks + `}`, "seed", "seed is a number 1.5; it must be a whole number."},
		{`[]`, "", "The body is not a JSON object that holds a chat."},
	} {
		res, body := ask(t, "/chat/completions", c.body)
		require.Equal(t, 400, res.Status, c.body)
		var refusal struct {
			Error struct{ Message, Param string }
		}
		require.NoError(t, json.Unmarshal([]byte(body), &refusal))
		require.Equal(t, c.says, refusal.Error.Message, c.body)
		require.Equal(t, c.param, refusal.Error.Param, c.body)
	}
}

func TestTheBuiltInModelRefusesInTheShapeThatClientsKnow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		path, body string
		status     int
		param      string
	}{
		{"/chat/completions", `{"messages":[]}`, 400, "messages"},
		{"/chat/completions", `{"n":2,` + asks + `}`, 400, "n"},
		{"/chat/completions", `{"temperature":9,` + asks + `}`, 400, ""},
		{"/chat/completions", `{"max_tokens":0,` + asks + `}`, 400, ""},
		{"/chat/completions", `nonsense`, 400, ""},
		{"/embeddings", `{"input":[]}`, 400, "input"},
		{"/embeddings", `{"input":[[1,2]]}`, 400, "input"},
		{"/embeddings", `{"input":"x","encoding_format":"int8"}`, 400, "encoding_format"},
		{"/embeddings", `{"input":"x","encoding_format":5}`, 400, "encoding_format"},
		{"/embeddings", `{"input":"x","dimensions":"few"}`, 400, "dimensions"},
		{"/embeddings", `{"input":[null]}`, 400, "input"},
		{"/embeddings", `[]`, 400, ""},
		{"/embeddings", `{"input":"x","dimensions":7}`, 400, "dimensions"},
		{"/responses", `{}`, 404, ""},
	} {
		res, body := ask(t, c.path, c.body)
		require.Equal(t, c.status, res.Status, c.body)
		var refusal struct {
			Error struct {
				Message, Type string
				Param         *string
			}
		}
		require.NoError(t, json.Unmarshal([]byte(body), &refusal))
		require.NotEmpty(t, refusal.Error.Message)
		require.Equal(t, "invalid_request_error", refusal.Error.Type)
		if c.param != "" {
			require.Equal(t, c.param, *refusal.Error.Param, c.body)
		}
	}
	res, err := localmodel.New().Relay(t.Context(), inference.RelayRequest{Method: http.MethodGet, Path: "/models"})
	require.NoError(t, err)
	require.Equal(t, 405, res.Status)
	ctx, cancel := context.WithCancelCause(t.Context())
	notFound := errors.New("gone")
	cancel(notFound)
	_, err = localmodel.New().Relay(ctx, inference.RelayRequest{Method: http.MethodPost, Path: "/embeddings"})
	require.ErrorIs(t, err, notFound)
}

func TestEmbeddingsComeAsNumbersAndPacked(t *testing.T) {
	t.Parallel()
	want := localmodel.Vector("lighthouse")
	_, body := ask(t, "/embeddings", `{"model":"echo","input":["lighthouse","harbour"]}`)
	var plain struct {
		Data []struct {
			Index     int
			Embedding []float32
		}
		Usage map[string]int
	}
	require.NoError(t, json.Unmarshal([]byte(body), &plain))
	require.Len(t, plain.Data, 2)
	require.Equal(t, 1, plain.Data[1].Index)
	require.Equal(t, want, plain.Data[0].Embedding)
	require.Equal(t, 2, plain.Usage["total_tokens"])
	_, body = ask(t, "/embeddings", `{"model":"echo","input":"lighthouse","encoding_format":"base64"}`)
	var packed struct{ Data []struct{ Embedding string } }
	require.NoError(t, json.Unmarshal([]byte(body), &packed))
	raw, err := base64.StdEncoding.DecodeString(packed.Data[0].Embedding)
	require.NoError(t, err)
	require.Len(t, raw, 4*len(want))
	for i := range want {
		require.Equal(t, want[i], math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:])))
	}
}

func TestEmbeddingsComeFromTheEmbedderThatIsNamed(t *testing.T) {
	t.Parallel()
	for model, dimensions := range map[string]int{localmodel.Lexical: 384, localmodel.Static: 256, "": 256} {
		_, body := askModel(t, model, "/embeddings", `{"input":"lighthouse"}`)
		var plain struct {
			Model string
			Data  []struct{ Embedding []float32 }
		}
		require.NoError(t, json.Unmarshal([]byte(body), &plain))
		require.Equal(t, cmp.Or(model, localmodel.Static), plain.Model)
		require.Len(t, plain.Data[0].Embedding, dimensions)
	}
	res, body := askModel(t, localmodel.Associative, "/embeddings", `{"input":"lighthouse"}`)
	require.Equal(t, http.StatusBadRequest, res.Status)
	require.Contains(t, body,
		`\"builtin/associative\" is no built-in embedder; there are builtin/static, builtin/minilm, builtin/lexical`)
}

func TestAnAnswerThatIsNotReadToItsEndIsNotCountedByUsage(t *testing.T) {
	t.Parallel()
	res, err := localmodel.New().Relay(t.Context(),
		inference.RelayRequest{
			Method: http.MethodPost, Path: "/chat/completions",
			Body: []byte(`{"stream":true,` + asks + `}`),
		})
	require.NoError(t, err)
	_, err = res.Body.Read(make([]byte, 10))
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.False(t, res.Seen().Ended)
	require.Equal(t, inference.ByCount, res.Seen().UsageFrom)
}

func FuzzRelay(f *testing.F) {
	f.Add("/chat/completions", `{"stream":true,`+asks+`}`)
	f.Add("/embeddings", `{"input":"x"}`)
	f.Fuzz(func(t *testing.T, path, body string) {
		res, err := localmodel.New().Relay(t.Context(),
			inference.RelayRequest{Method: http.MethodPost, Path: path, Body: []byte(body)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(res.Body); err != nil {
			t.Fatal(err)
		}
	})
}
