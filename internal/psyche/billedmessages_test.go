package psyche_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed-56a03226/oneiros/internal/psyche"
	wire "github.com/seed-56a03226/oneiros/internal/wire/messages"
)

// messageRequests draws requests of the Messages API.
func messageRequests() *rapid.Generator[string] {
	fields := []string{
		`"max_tokens":7`, `"max_tokens":9000`, `"max_tokens":70000`, `"max_tokens":999999`, `"stream":true`,
		`"temperature":1`, `"top_k":5`, `"thinking":{"type":"enabled","budget_tokens":50000}`,
		`"thinking":{"type":"adaptive"}`, `"thinking":{"type":"disabled"}`, `"output_config":{"effort":"max"}`,
		`"service_tier":"auto"`, `"service_tier":"standard_only"`, `"cache_control":{"type":"ephemeral","ttl":"1h"}`,
		`"speed":"fast"`, `"mcp_servers":[{"name":"m","url":"https://example.org"}]`, `"metadata":{"user_id":"u"}`,
		`"system":[{"type":"text","text":"be brief","cache_control":{"type":"ephemeral"}}]`,
		`"tools":[{"name":"f","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}]`,
		`"tools":[{"name":"f","input_schema":{"type":"object"}},{"type":"web_search_20250305","name":"web_search"}]`,
		`"Max_tokens":99999`, `"n":128`,
	}
	blocks := []string{
		`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA"}}`,
		`{"type":"image","source":{"type":"base64","media_type":"image/tiff","data":"AA"}}`,
		`{"type":"image","source":{"type":"base64","media_type":"application/pdf","data":"AA"}}`,
		`{"type":"image","source":{"type":"url","url":"https://example.org/a.png"}}`,
		`{"type":"image","source":{"type":"file","file_id":"f"}}`,
		`{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"AA"}}`,
		`{"type":"document","source":{"type":"url","url":"https://example.org/a.pdf"}}`,
		`{"type":"document","source":{"type":"text","media_type":"text/plain","data":"so it was"}}`,
		`{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}`,
		`{"type":"video","source":{"type":"url","url":"https://example.org/a.mp4"}}`,
	}
	return rapid.Custom(func(r *rapid.T) string {
		words := strings.Repeat("word ", rapid.IntRange(0, 2000).Draw(r, "words"))
		content := append(rapid.SliceOfN(rapid.SampledFrom(blocks), 0, 2).Draw(r, "blocks"),
			fmt.Sprintf(`{"type":"text","text":%q}`, words))
		result := strings.Join(rapid.SliceOfN(rapid.SampledFrom(blocks), 0, 1).Draw(r, "result"), ",")
		all := append(rapid.SliceOfNDistinct(rapid.SampledFrom(fields), 0, 4, nameOf).Draw(r, "fields"),
			`"model":"echo"`, `"messages":[{"role":"user","content":"Hi"},`+
				`{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{}}]},`+
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[`+result+`]}]},`+
				`{"role":"user","content":[`+strings.Join(content, ",")+`]}]`)
		return "{" + strings.Join(all, ",") + "}"
	})
}

// billedMessage is how a provider could charge more than a percentage of what is reserved for a request.
func billedMessage(body string, percent int64) (how, text string, refused error) {
	q, err := wire.Read([]byte(body))
	if err != nil {
		return "", "", err
	}
	for _, p := range []wire.Provider{{}, {Reasons: true}, {Caches: true}, {Reasons: true, Caches: true}} {
		chat, err := q.Chat(p)
		if err != nil {
			return "", "", err
		}
		how, text, err := psyche.Overbilled(chat, percent)
		if how != "" {
			return how, text, nil
		}
		if err != nil {
			refused = err
		}
	}
	return "", "", refused
}

func TestNoProviderCouldBillMoreForAMessageThanWasReserved(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		how, text, _ := billedMessage(messageRequests().Draw(r, "body"), 100)
		require.Empty(r, how, "%s", text)
	})
}

// The control: with half the reservation the generated requests would exceed it, and many of them are not refused.
func TestHalfOfAReservationWouldNotDoForAMessage(t *testing.T) {
	t.Parallel()
	all := messageRequests()
	taken, over := 0, 0
	for seed := range 1000 {
		how, _, refused := billedMessage(all.Example(seed), 50)
		if refused == nil {
			taken++
		}
		if how != "" {
			over++
		}
	}
	require.Greater(t, taken, 200, "enough requests are taken")
	require.Greater(t, over, 50, "half is not enough")
}
