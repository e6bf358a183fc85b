package openaigw

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/inference"
)

// refusalLimit bounds how much of a refusal is passed on.
const refusalLimit = 64 << 10

// hushed is the body of a refusal without our secrets: some providers quote the key that they refuse, and it is not the
// caller's.
type hushed struct {
	io.Closer
	from    io.Reader
	secrets []string
	whose   func([]byte) []byte // nil: the words stay the provider's
	text    *bytes.Reader
	err     error
}

func (h *hushed) Read(p []byte) (int, error) {
	if h.text == nil {
		var all []byte
		longest := 0
		for _, s := range h.secrets {
			longest = max(longest, len(s))
		}
		// one that the limit cuts is found as well
		all, h.err = io.ReadAll(io.LimitReader(h.from, int64(refusalLimit+longest)))
		for _, s := range h.secrets {
			all = bytes.ReplaceAll(all, []byte(s), []byte("[secret]"))
		}
		all = all[:min(len(all), refusalLimit)]
		if h.whose != nil && h.err == nil {
			all = h.whose(all)
		}
		h.text = bytes.NewReader(all)
	}
	n, err := h.text.Read(p)
	if err != nil && h.err != nil {
		err = h.err
	}
	return n, err
}

// unpack takes the packing off a refusal: nobody asked for it, and a secret inside could not be found.
func unpack(res *http.Response) {
	if !strings.EqualFold(res.Header.Get("Content-Encoding"), "gzip") {
		return
	}
	packed := bufio.NewReader(res.Body)
	from := io.Reader(packed)
	if head, _ := packed.Peek(2); bytes.Equal(head, []byte{0x1f, 0x8b}) { // RFC 1952
		if plain, err := gzip.NewReader(packed); err == nil {
			from = plain
		}
	}
	res.Header.Del("Content-Encoding")
	res.Header.Del("Content-Length")
	res.Body = struct {
		io.Reader
		io.Closer
	}{from, res.Body}
}

// whose says of a refused key whose it is: a client that reads 401 or 403 takes it for its own. The shape of the error
// stays, and a body that has none is given one.
func (g *Gateway) whose(status int) func([]byte) []byte {
	if status != http.StatusUnauthorized && status != http.StatusForbidden {
		return nil
	}
	return func(body []byte) []byte {
		text, _ := words(body)
		message := fmt.Sprintf(
			"provider %q refused this server, and not the key that you sent (HTTP %d); whoever runs this server gives it another key or model",
			g.name, status)
		text = g.clean(text)
		if text != "" {
			message += ". It says: " + text
		}
		var whole, fault map[string]json.RawMessage
		if json.Unmarshal(body, &whole) != nil || whole == nil {
			whole = map[string]json.RawMessage{}
		}
		if json.Unmarshal(whole["error"], &fault) != nil || fault == nil {
			fault = map[string]json.RawMessage{
				"type":  json.RawMessage(`"upstream_error"`),
				"param": json.RawMessage("null"), "code": json.RawMessage(`"upstream_refused"`),
			}
		}
		fault["message"], _ = json.Marshal(message)
		whole["error"], _ = json.Marshal(fault)
		out, err := json.Marshal(whole)
		if err != nil {
			return body
		}
		return out
	}
}

// page says whether a body that is called a page begins like one: some servers call everything so, JSON too.
func page(res *http.Response) bool {
	in := bufio.NewReader(res.Body)
	res.Body = struct {
		io.Reader
		io.Closer
	}{in, res.Body}
	for n := 1; ; n++ {
		head, err := in.Peek(n)
		if text := bytes.TrimLeft(head, " \t\r\n"); len(text) > 0 {
			return text[0] == '<'
		}
		if err != nil {
			return true // there is nothing in it
		}
	}
}

// noAPI is the failure of an answer that no API gave: a redirect, or a page of whatever stands before it. The words are
// our own.
func (g *Gateway) noAPI(res *http.Response) *inference.Failure {
	text := ""
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch {
	case res.StatusCode/100 == 3:
		text = "a redirect, which is not followed"
		if to, err := url.Parse(res.Header.Get("Location")); err == nil && to.Host != "" {
			text = fmt.Sprintf("a redirect to %s://%s, which is not followed", to.Scheme, to.Host)
		}
	case (kind == "text/html" || kind == "application/xhtml+xml") && page(res):
		text = fmt.Sprintf("a page (%s) and no JSON", kind)
	default:
		return nil
	}
	return &inference.Failure{
		Kind: inference.Malformed, Status: res.StatusCode, Billed: res.StatusCode < 400 || res.StatusCode >= 500,
		RetryAfter: g.delay(res.Header),
		Message: g.clean(
			fmt.Sprintf(
				"provider %q answered HTTP %d with %s; its base_url must be the address of an OpenAI-compatible API, such as https://host/v1, with no login and no page before it",
				g.name, res.StatusCode, text)),
	}
}
