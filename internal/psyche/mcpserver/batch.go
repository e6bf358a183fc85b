package mcpserver

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"

	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
)

// mostTogether bounds a batch, which one version of the protocol has (2025-03-26). The server counts requests:
// without a bound, one request would carry as many calls as fit into its body.
const mostTogether = 10

// limitBatch reads the body of a request and refuses a batch that is too large.
func (f *Handler) limitBatch(w http.ResponseWriter, r *http.Request) (*http.Request, error) {
	if r.Method != http.MethodPost {
		return r, nil
	}
	r.Body = http.MaxBytesReader(w, r.Body, f.options.Body)
	body, err := front.Body(r)
	if err != nil {
		return r, err
	}
	if more(body, mostTogether) {
		return r, psyche.Refuse(http.StatusBadRequest, "batch_too_large", "",
			"a batch may hold at most %d messages", mostTogether)
	}
	again := *r
	again.Body = io.NopCloser(bytes.NewReader(body))
	return &again, nil
}

// more reports whether a body is a list of more than most values. Invalid JSON is left to the library to refuse.
func more(body []byte, most int) bool {
	if !bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("[")) {
		return false
	}
	each := json.NewDecoder(bytes.NewReader(body))
	if _, err := each.Token(); err != nil {
		return false
	}
	var one json.RawMessage
	for n := 1; each.More(); n++ {
		if n > most {
			return true
		}
		if each.Decode(&one) != nil {
			return false
		}
	}
	return false
}
