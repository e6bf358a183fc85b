package exchange

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// refusalLimit bounds how much of an error body is passed on.
const refusalLimit = 64 << 10

// redacted is an error body without this server's secrets: some providers quote the key that they refuse, which is
// not the caller's.
type redacted struct {
	io.Closer
	from    io.Reader
	secrets []string
	rewrite func([]byte) []byte // nil: the provider's words are kept
	text    *bytes.Reader
	err     error
}

func (h *redacted) Read(p []byte) (int, error) {
	if h.text == nil {
		var all []byte
		longest := 0
		for _, s := range h.secrets {
			longest = max(longest, len(s))
		}
		// Also finds a secret that the limit would cut.
		all, h.err = io.ReadAll(io.LimitReader(h.from, int64(refusalLimit+longest)))
		for _, s := range h.secrets {
			all = bytes.ReplaceAll(all, []byte(s), []byte("[secret]"))
		}
		all = all[:min(len(all), refusalLimit)]
		if h.rewrite != nil && h.err == nil {
			all = h.rewrite(all)
		}
		h.text = bytes.NewReader(all)
	}
	n, err := h.text.Read(p)
	if err != nil && h.err != nil {
		err = h.err
	}
	return n, err
}

// readCloser is a body that is read through something.
type readCloser struct {
	io.Reader
	io.Closer
}

// unpack decompresses an error body: compression was not requested, and would hide a secret.
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
	res.Body = readCloser{from, res.Body}
}

// explainRefusal returns how to say in an error body that this server's key was refused: a client that reads 401 or
// 403 would take it for its own. The form of the error stays, and a body without one gets one.
func (c *Client) explainRefusal(status int) func([]byte) []byte {
	if status != http.StatusUnauthorized && status != http.StatusForbidden {
		return nil
	}
	return func(body []byte) []byte {
		text, _ := words(body)
		message := fmt.Sprintf(
			"provider %q refused this server, and not the key that you sent (HTTP %d); its operator must give it another key or model",
			c.name, status)
		text = c.Clean(text)
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
		replace(fault, "message", message)
		replace(whole, "error", fault)
		out, err := json.Marshal(whole)
		if err != nil {
			return body
		}
		return out
	}
}

// replace sets a member, and takes out those whose name differs from it by case alone: some clients read them as it.
func replace(object map[string]json.RawMessage, name string, value any) {
	maps.DeleteFunc(object, func(other string, _ json.RawMessage) bool { return strings.EqualFold(other, name) })
	object[name], _ = json.Marshal(value)
}

// page reports whether a body declared as a page begins like one: some servers declare everything so, also JSON.
func page(res *http.Response) bool {
	in := bufio.NewReader(res.Body)
	res.Body = readCloser{in, res.Body}
	for n := 1; ; n++ {
		head, err := in.Peek(n)
		if text := bytes.TrimLeft(head, " \t\r\n"); len(text) > 0 {
			return text[0] == '<'
		}
		if err != nil {
			return true // it is empty
		}
	}
}

// noAPI is the failure of a response that no API gave: a redirect, or a page of some server in front of it. It quotes
// nothing.
func (c *Client) noAPI(res *http.Response) *inference.Failure {
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
		RetryAfter: c.delay(res.Header),
		Message: c.Clean(
			fmt.Sprintf(
				"provider %q answered HTTP %d with %s; its base_url must be the address of %s, such as https://host/v1, with no login and no page before it",
				c.name, res.StatusCode, text, c.api)),
	}
}
