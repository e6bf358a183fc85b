package psyche

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/wire/messages"
)

// messagesBill is the most that Anthropic could charge for a request, in tokens: a token for each byte of text, the
// largest picture, and the window for a document or what stands at an address.
type messagesBill struct {
	text, pictures int64
	fills          bool
}

func (b *messagesBill) read(v any) {
	switch v := v.(type) {
	case string:
		b.text += int64(len(v))
	case []any:
		for _, each := range v {
			b.read(each)
		}
	case map[string]any:
		if source, ok := v["source"].(map[string]any); ok {
			kind, _ := source["media_type"].(string)
			if v["type"] == "image" && source["type"] == "base64" && strings.Contains("image/png image/jpeg", kind) {
				b.pictures++
			} else {
				b.fills = true
			}
			return
		}
		for name, each := range v {
			b.text += int64(len(name))
			b.read(each)
		}
	}
}

// overbilledAsMessages is a chat completion, said as Messages, for which Anthropic could charge more than a
// percentage of what is reserved; empty when there is none.
func overbilledAsMessages(raw []byte, percent budget.Micros) (how string, refused error) {
	for _, spec := range []inference.Spec{
		{
			Name:     "p/wire",
			Provider: "p",
			Wire:     "wire",
			Price:    &listPrice,
			Context:  window,
		},
		{
			Name:      "p/thinker",
			Provider:  "p",
			Wire:      "thinker",
			Price:     &risingPrice,
			Context:   window,
			Reasoning: true,
		},
		{
			Name:      "p/wire",
			Provider:  "p",
			Wire:      "wire",
			Price:     &listPrice,
			Context:   window,
			CacheFrom: 1,
		},
	} {
		r, reserved, err := sentAndReserved(raw, spec)
		if err != nil {
			refused = err
			continue
		}
		q, err := messages.ReadChat(r.Body,
			messages.Model{Reasons: spec.Reasoning, MaxTokens: window, Caches: r.Caches})
		if err != nil {
			refused = err
			continue
		}
		var body struct {
			Most     int64 `json:"max_tokens"`
			System   any   `json:"system"`
			Messages []any `json:"messages"`
			Tools    []any `json:"tools"`
		}
		if err := json.Unmarshal(q.Body, &body); err != nil {
			return err.Error(), nil
		}
		var b messagesBill
		b.read([]any{body.System, body.Tools})
		for _, m := range body.Messages {
			content, _ := m.(map[string]any)
			for _, part := range content["content"].([]any) {
				p, _ := part.(map[string]any)
				delete(p, "type")
				if p["source"] != nil {
					p["type"] = "image"
				}
				b.read(p["text"])
				if p["text"] == nil {
					b.read(p)
				}
			}
		}
		in := b.text
		if len(body.Tools) > 0 {
			in += 346 // what Anthropic puts before tools
		}
		if b.fills {
			in = max(in, window)
		}
		in += b.pictures * imageTokens
		price, marks := *spec.Price, strings.Count(string(q.Body), `"cache_control"`)
		switch {
		case r.Caches && (marks < 2 || marks > 4):
			return fmt.Sprintf("%q has %d marks", q.Body, marks), nil
		case r.Caches:
			in += (in + 3) / 4
		case marks > 0:
			price = price.Dearer(2)
		}
		cost := price.Worst(in, min(body.Most, window))
		if cost > reserved/100*percent+reserved%100*percent/100 {
			return fmt.Sprintf("%s: %q as %q could cost %s, reserved was %s", spec.Name, raw, q.Body, cost,
				reserved), nil
		}
	}
	return "", refused
}

// plainBodies draws requests that Messages can mostly say.
func plainBodies() *rapid.Generator[string] {
	fields := []string{
		`"max_tokens":7`, `"max_tokens":9000`, `"max_completion_tokens":70000`, `"max_completion_tokens":20`, `"stream":true`,
		`"thinking":{"type":"enabled","budget_tokens":50000}`, `"reasoning_effort":"high"`, `"temperature":1`, `"stop":"x"`,
		`"reasoning":{"max_tokens":60000}`, `"response_format":{"type":"json_object"}`, `"cache_control":{"type":"ephemeral"}`,
		`"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":{"type":"object","properties":{}}}}`,
		`"tools":[{"type":"function","function":{"name":"f","description":"d"},"cache_control":{"type":"ephemeral"}}]`,
		`"service_tier":"default"`, `"user":"u"`, `"n":2`, `"seed":3`,
		`"tools":[{"type":"function","function":{"name":"f"}}]`,
	}
	parts := []string{
		`{"type":"text","text":"one two three"}`, `{"type":"image_url","image_url":{"url":"data:image/png;base64,AA"}}`,
		`{"type":"image_url","image_url":{"url":"https://example.org/a.png"}}`,
		`{"type":"text","text":"x","cache_control":{"type":"ephemeral","ttl":"1h"}}`,
		`{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,AA"}}`,
	}
	return rapid.Custom(func(r *rapid.T) string {
		words := strings.Repeat("word ", rapid.IntRange(0, 2000).Draw(r, "words"))
		content := append(rapid.SliceOfN(rapid.SampledFrom(parts), 0, 2).Draw(r, "parts"),
			fmt.Sprintf(`{"type":"text","text":%q}`, words+"."))
		all := append(rapid.SliceOfNDistinct(rapid.SampledFrom(fields), 0, 4, func(f string) string {
			name, _, _ := strings.Cut(f, ":")
			return name
		}).Draw(r, "fields"), `"model":"echo"`, `"messages":[{"role":"system","content":"be brief"},
			{"role":"user","name":"ann","content":[`+strings.Join(content, ",")+`]}]`)
		return "{" + strings.Join(all, ",") + "}"
	})
}

func TestAnthropicCouldNotBillMoreThanWasReserved(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		how, _ := overbilledAsMessages([]byte(rapid.OneOf(plainBodies(), bodies()).Draw(r, "body")), 100)
		require.Empty(r, how)
	})
}

// The control: with half the reservation the generated requests would exceed it, and many of them are not refused.
func TestHalfOfAReservationWouldNotDoForAnthropic(t *testing.T) {
	t.Parallel()
	all := plainBodies()
	taken, over := 0, 0
	for seed := range 500 {
		how, refused := overbilledAsMessages([]byte(all.Example(seed)), 50)
		if refused == nil {
			taken++
		}
		if how != "" {
			over++
		}
	}
	require.Greater(t, taken, 100, "enough requests are taken")
	require.Greater(t, over, 25, "half is not enough")
}
