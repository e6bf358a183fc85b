package localmodel

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// mostInputs is how many texts the OpenAI wire takes at once.
const mostInputs = 2048

func (m *Model) place(ctx context.Context, r inference.RelayRequest) (*inference.RelayResponse, error) {
	var a struct {
		Input      json.RawMessage `json:"input"`
		Format     string          `json:"encoding_format"`
		Dimensions *int            `json:"dimensions"`
	}
	err := json.Unmarshal(r.Body, &a)
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		right := map[string]string{
			"": "an object", "encoding_format": "float or base64", "dimensions": "a whole number",
		}
		return wrong(e.Field, fmt.Sprintf("%s is of the type %s; it must be %s.", cmp.Or(e.Field, "The body"), e.Value,
			right[e.Field])), nil
	}
	if err != nil {
		return wrong("", "The body cannot be read as a request for embeddings: "+err.Error()), nil
	}
	e, fault := embedderOf(cmp.Or(r.Model, Static))
	if fault != nil {
		return wrong("model", fault.Message), nil
	}
	input, ok := inputs(a.Input)
	switch {
	case !ok || len(input) == 0 || len(input) > mostInputs:
		return wrong("input",
			fmt.Sprintf("The input must be a text or an array of 1 to %d texts; a built-in embedder reads no tokens.",
				mostInputs)), nil
	case a.Format != "" && a.Format != "float" && a.Format != "base64":
		return wrong("encoding_format", "The encoding_format must be float or base64."), nil
	case a.Dimensions != nil && *a.Dimensions != e.dimensions:
		return wrong("dimensions",
			fmt.Sprintf("The vectors of %s have %d dimensions.", e.name, e.dimensions)), nil
	}
	v, err := m.Embed(ctx, e.name, input, "")
	if err != nil {
		return nil, err
	}
	type datum struct {
		Object    string `json:"object"`
		Index     int    `json:"index"`
		Embedding any    `json:"embedding"`
	}
	data := make([]datum, len(v.V))
	for i, each := range v.V {
		data[i] = datum{"embedding", i, each}
		if a.Format == "base64" {
			data[i].Embedding = packed(each)
		}
	}
	body := written(map[string]any{
		"object": "list", "data": data, "model": e.name,
		"usage": map[string]int64{"prompt_tokens": v.Tokens.In, "total_tokens": v.Tokens.In},
	})
	return respond(http.StatusOK, "application/json", body, v.Tokens, 0, string(inference.Stopped)), nil
}

func inputs(raw json.RawMessage) ([]string, bool) {
	var one string
	if json.Unmarshal(raw, &one) == nil && len(raw) > 0 && raw[0] == '"' {
		return []string{one}, true
	}
	var many []*string
	if json.Unmarshal(raw, &many) != nil || slices.Contains(many, nil) {
		return nil, false
	}
	texts := make([]string, len(many))
	for i, text := range many {
		texts[i] = *text
	}
	return texts, true
}

// packed is a vector as clients read it fastest: its float32s, little end first, in base64.
func packed(v []float32) string {
	var b bytes.Buffer
	if binary.Write(&b, binary.LittleEndian, v) != nil { // into memory it never fails
		return ""
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}
