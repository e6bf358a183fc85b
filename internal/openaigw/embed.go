package openaigw

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"

	"github.com/sashabaranov/go-openai"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/exchange"
)

// embedded is a response whose vectors come as numbers or as base64 of little-endian float32.
type embedded struct {
	Data []struct {
		Index     int             `json:"index"`
		Embedding json.RawMessage `json:"embedding"`
	} `json:"data"`
	Usage *openai.Usage   `json:"usage"`
	Error json.RawMessage `json:"error"`
}

// Embed requests one vector per text and returns them in order, of length 1. Space is "<provider>/<wire
// model>/<dimension>".
func (g *Gateway) Embed(ctx context.Context, model string, texts []string, key string) (inference.Vectors, error) {
	spec, err := g.PricedModel(model)
	if err != nil {
		return inference.Vectors{}, err
	}
	if !spec.Embeds {
		return inference.Vectors{}, exchange.BadRequest("model %q is not an embedding model", model)
	}
	size := 0
	for i, text := range texts {
		if text == "" {
			return inference.Vectors{},
				exchange.BadRequest("text %d of %d is empty; it has no meaning to embed", i+1, len(texts))
		}
		size += len(text)
	}
	if len(texts) == 0 {
		return inference.Vectors{}, exchange.BadRequest("there is no text to embed")
	}
	body := encode(
		openai.EmbeddingRequest{
			Input: texts, Model: openai.EmbeddingModel(spec.Wire),
			EncodingFormat: openai.EmbeddingEncodingFormatFloat,
		})
	if ctx.Err() != nil {
		return inference.Vectors{}, exchange.Interrupted(ctx)
	}
	res, err := g.Send(ctx, inference.RelayRequest{
		Method: http.MethodPost, Path: "/embeddings", Body: body, Key: key,
		Header: map[string][]string{"Content-Type": {"application/json"}, "Accept": {"application/json"}},
	})
	if err != nil {
		return inference.Vectors{}, err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(res.Body, g.BodyLimit()+1))
	if err != nil {
		return inference.Vectors{}, g.Lost(ctx, err, true)
	}
	if int64(len(raw)) > g.BodyLimit() {
		return inference.Vectors{}, g.unreadable(fmt.Errorf("they are longer than %d bytes", g.BodyLimit()))
	}
	var answer embedded
	if err := json.Unmarshal(raw, &answer); err != nil {
		return inference.Vectors{}, g.unreadable(err)
	}
	if len(answer.Error) > 0 && string(answer.Error) != "null" {
		return inference.Vectors{}, g.FailureIn(answer.Error)
	}
	v, err := answer.vectors(len(texts))
	if err != nil {
		return inference.Vectors{}, g.unreadable(err)
	}
	out := inference.Vectors{V: v, Space: fmt.Sprintf("%s/%s/%d", g.Name(), spec.Wire, len(v[0]))}
	if t, ok := reported(answer.Usage); ok {
		out.Tokens, out.UsageFrom = t, inference.ByProvider
	} else {
		out.Tokens, out.UsageFrom = exchange.Counted(size, 0), inference.ByCount
	}
	return out, nil
}

func (g *Gateway) unreadable(err error) error {
	return &inference.Failure{
		Kind: inference.Malformed, Billed: true, Err: err,
		Message: g.Clean(fmt.Sprintf("the vectors of %s cannot be read: %v", g, err)),
	}
}

// vectors returns n vectors in the order of their texts. Servers that send no index send them in order.
func (e embedded) vectors(n int) ([][]float32, error) {
	if len(e.Data) != n {
		return nil, fmt.Errorf("%d vectors for %d texts", len(e.Data), n)
	}
	unnumbered := true
	for _, d := range e.Data {
		unnumbered = unnumbered && d.Index == 0
	}
	out := make([][]float32, n)
	for i, d := range e.Data {
		if !unnumbered {
			i = d.Index
		}
		if i < 0 || i >= n || out[i] != nil {
			return nil, fmt.Errorf("vector of index %d does not belong to %d texts, or comes twice", d.Index, n)
		}
		v, err := vector(d.Embedding)
		if err != nil {
			return nil, fmt.Errorf("vector %d: %w", i, err)
		}
		out[i] = v
		if len(v) != len(out[firstOf(out)]) {
			return nil, fmt.Errorf("vector %d has %d dimensions, another has %d", i, len(v), len(out[firstOf(out)]))
		}
	}
	return out, nil
}

func firstOf(vs [][]float32) int {
	for i, v := range vs {
		if v != nil {
			return i
		}
	}
	return 0
}

// vector parses one embedding and scales it to length 1.
func vector(raw json.RawMessage) ([]float32, error) {
	var v []float32
	if len(raw) > 0 && raw[0] == '"' {
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return nil, err
		}
		bytes, err := base64.StdEncoding.DecodeString(text)
		if err != nil || len(bytes)%4 != 0 {
			return nil, errors.New("it is not base64 of float32 numbers")
		}
		v = make([]float32, len(bytes)/4)
		for i := range v {
			v[i] = math.Float32frombits(binary.LittleEndian.Uint32(bytes[4*i:]))
		}
	} else if err := json.Unmarshal(raw, &v); err != nil {
		return nil, err
	}
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if length := math.Sqrt(sum); length > 0 && !math.IsInf(length, 0) && !math.IsNaN(length) {
		for i := range v {
			v[i] = float32(float64(v[i]) / length)
		}
		return v, nil
	}
	return nil, errors.New("it has no length: it is empty, zero or not finite")
}
