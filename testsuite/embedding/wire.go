package embedding

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/embedder/minilm"
	"github.com/seed-56a03226/oneiros/internal/openaigw"
)

// Served is a model behind an OpenAI-compatible server on loopback, called by the gateway as any provider is.
type Served struct {
	Model inference.Model
	Name  string // of the model, as the gateway knows it
	Close func()
}

// Serve serves an encoder of BERT's architecture whose config.json, tokenizer.json and weights lie in a folder.
func Serve(dir string) (*Served, error) {
	files := minilm.Files{}
	for _, f := range []struct {
		to    *[]byte
		names []string
	}{
		{&files.Config, []string{"config.json"}},
		{&files.Tokenizer, []string{"tokenizer.json"}},
		{&files.Weights, []string{"model.safetensors", "model.fp16.safetensors"}},
	} {
		err := fs.ErrNotExist
		for i := 0; errors.Is(err, fs.ErrNotExist) && i < len(f.names); i++ {
			*f.to, err = os.ReadFile(filepath.Join(dir, f.names[i]))
		}
		if err != nil {
			return nil, fmt.Errorf("read an encoder: %w", err)
		}
	}
	encoder, err := minilm.Load(files)
	if err != nil {
		return nil, fmt.Errorf("read the encoder in %s: %w", dir, err)
	}
	server := httptest.NewServer(embeddings(encoder))
	const name = "wire/encoder"
	profile, err := openaigw.ProfileOf("")
	if err != nil {
		return nil, err
	}
	gateway, err := openaigw.New(openaigw.Options{
		Name: "wire", BaseURL: server.URL + "/v1", Profile: profile,
		Catalog: inference.Table{name: {
			Name:     name,
			Provider: "wire",
			Wire:     "encoder",
			Price:    &budget.Price{},
			Embeds:   true,
		}},
	})
	return &Served{Model: gateway, Name: name, Close: server.Close}, err
}

// embeddings answers POST /v1/embeddings.
func embeddings(encoder *minilm.Model) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			Model  string   `json:"model"`
			Input  []string `json:"input"`
			Format string   `json:"encoding_format"`
		}
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		type row struct {
			Object string `json:"object"`
			Index  int    `json:"index"`
			Vector any    `json:"embedding"`
		}
		rows, tokens := make([]row, len(request.Input)), 0
		for i, text := range request.Input {
			v, pieces := encoder.Embed(text)
			rows[i] = row{"embedding", i, v}
			if request.Format == "base64" {
				rows[i].Vector = packed(v)
			}
			tokens += pieces
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{ // the caller may have disconnected
			"object": "list", "model": request.Model, "data": rows,
			"usage": map[string]int{"prompt_tokens": tokens, "total_tokens": tokens},
		})
	}
}

func packed(v []float32) string {
	raw := make([]byte, 0, 4*len(v))
	for _, x := range v {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(raw)
}
