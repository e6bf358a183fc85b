package provider

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"net/http"
	"strings"
	"unicode"
)

// embed serves vectors: texts that share words lie near each other. They are not normalized, as with some real
// servers.
func (s *Server) embed(w http.ResponseWriter, r *http.Request) {
	raw, err := readBody(w, r)
	if err != nil {
		refuse(w, http.StatusRequestEntityTooLarge, "invalid_request_error", err.Error())
		return
	}
	var q struct {
		Model  string `json:"model"`
		Input  words  `json:"input"`
		Format string `json:"encoding_format"`
	}
	if err := json.Unmarshal(raw, &q); err != nil || len(q.Input) == 0 {
		refuse(w, http.StatusBadRequest, "invalid_request_error", "input must be a text or a list of texts")
		return
	}
	model, served := s.models[q.Model]
	key, text := r.Header.Get("Idempotency-Key"), strings.Join(q.Input, "\x00")
	fault := s.choose(Arrival{Path: r.URL.Path, Key: key, Model: q.Model, Prompt: hash(text)})
	size := int64(len(text) - len(q.Input) + 1)
	number := s.Billing.arrive(Call{
		Path:   r.URL.Path,
		Key:    key,
		Model:  q.Model,
		Prompt: (size + 3) / 4,
		Fault:  fault,
		Format: q.Format,
	}, model.Price)
	completed := false
	defer func() { s.Billing.end(number, completed) }()
	status := s.refuseInvalid(w, r, question{Model: q.Model}, Model{Name: model.Name, Price: model.Price},
		served && model.Dim > 0, fault)
	if status != 0 {
		s.Billing.status(number, status)
		return
	}
	s.Billing.begin(number)
	if fault == HangFirst || fault == HangMiddle {
		s.hang(r.Context())
		return
	}
	if !s.pause(r.Context(), s.options.First) {
		return
	}
	s.Billing.status(number, http.StatusOK)
	if fault == CutMiddle {
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte(`{"object":"list","data":[`)) // the answer ends here in any case
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	reply(w, http.StatusOK, vectors(q.Input, model, q.Format, fault, (size+3)/4))
	completed = r.Context().Err() == nil
}

func vectors(texts []string, m Model, format string, fault Fault, tokens int64) any {
	data := make([]any, len(texts))
	for i, text := range texts {
		v := Vector(text, m.Dim)
		var shown any = v
		if format == "base64" {
			raw := make([]byte, 0, 4*len(v))
			for _, x := range v {
				raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
			}
			shown = base64.StdEncoding.EncodeToString(raw)
		}
		if fault == BadChunk {
			shown = "no vector"
		}
		data[i] = map[string]any{"object": "embedding", "index": i, "embedding": shown}
	}
	out := map[string]any{"object": "list", "model": m.Name, "data": data}
	switch fault {
	case NoUsage:
	case LowUsage:
		out["usage"] = map[string]any{"prompt_tokens": (tokens + 1) / 2, "total_tokens": (tokens + 1) / 2}
	case HighUsage:
		out["usage"] = map[string]any{"prompt_tokens": tokens * 2, "total_tokens": tokens * 2}
	default:
		out["usage"] = map[string]any{"prompt_tokens": tokens, "total_tokens": tokens}
	}
	return out
}

// Vector is the sum of a fixed direction for every word of the text, in any case and order.
func Vector(text string, dim int) []float32 {
	v := make([]float32, dim)
	for _, word := range strings.FieldsFunc(strings.ToLower(text),
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		h := hash(word)
		for i := range v {
			v[i] += float32(mix(h, uint64(i))>>40)/float32(1<<23) - 1
		}
	}
	if dim > 0 && zero(v) {
		v[0] = 1 // a text without a word still has a direction
	}
	return v
}

func zero(v []float32) bool {
	for _, x := range v {
		if x != 0 {
			return false
		}
	}
	return true
}
