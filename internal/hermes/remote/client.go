// Package remote talks over HTTP to an Oneiros server, or to another server that speaks OpenAI's chat completions.
package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/seed-56a03226/oneiros/internal/hermes/api"
)

// Settings say which server is asked, and as whom.
type Settings struct {
	URL          string       // of the server, with or without /v1
	Key          string       // empty where the server needs none
	Agent        string       // handle of an agent; the model's name on a plain OpenAI server
	Conversation string       // name of the conversation; empty: the server tells conversations apart by their first message
	User         string       // of several that use one key; empty: the key's only one
	HTTP         *http.Client // nil: one without a time limit for whole answers
}

// Limits of the client.
const (
	longestName  = 256      // bytes of a conversation or user, as the server has it
	largestBody  = 32 << 20 // bytes of an answer that is read whole
	readWithin   = time.Minute
	pauseRefused = 200 * time.Millisecond // before a read that was refused a connection is tried once more
)

// Client asks one server. It is safe for concurrent use.
type Client struct{ *connection }

// connection sends requests to the server and reads its answers.
type connection struct {
	s    Settings
	base string // with /v1, without a slash at its end
	http *http.Client
	kind atomic.Int32           // Kind of the server, as far as known
	held atomic.Pointer[string] // id of the session that is held; nil while none is
	wait func(context.Context, time.Duration) bool

	silence time.Duration // without any byte after which a stream counts as dead
	moment  time.Duration // without any byte after which all events so far have come
}

// New checks the settings. It asks nothing of the server yet.
func New(s Settings) (*Client, error) {
	base, err := BaseOf(s.URL)
	if err != nil {
		return nil, err
	}
	for _, field := range []struct {
		name, value string
		most        int
	}{
		{"key", s.Key, 512},
		{"agent", s.Agent, longestName},
		{"conversation", s.Conversation, longestName},
		{"user", s.User, longestName},
	} {
		if err := printable(field.name, field.value, field.most); err != nil {
			return nil, err
		}
	}
	c := &connection{
		s:       s,
		base:    base,
		http:    s.HTTP,
		wait:    wait,
		silence: usualSilence,
		moment:  usualMoment,
	}
	if c.http == nil {
		c.http = &http.Client{}
	}
	return &Client{c}, nil
}

// BaseOf reads the address of a server, with or without /v1, and returns that of its API, with /v1.
func BaseOf(text string) (string, error) {
	trimmed := strings.TrimRight(strings.TrimSpace(text), "/")
	u, err := url.Parse(trimmed)
	switch {
	case trimmed == "":
		return "", errors.New("url is empty; it must be the address of a server, such as http://127.0.0.1:7680")
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return "", fmt.Errorf("url is %q; it must begin with http:// or https://, such as http://127.0.0.1:7680", text)
	case u.User != nil:
		return "", errors.New("url holds a name or password; give the key as the key, not in the url")
	case u.RawQuery != "" || u.Fragment != "":
		return "", fmt.Errorf("url is %q; it must end with the path, without a query", text)
	case strings.HasSuffix(u.Path, "/v1"):
		return trimmed, nil
	}
	return trimmed + "/v1", nil
}

// printable refuses what no header can carry. A key is never quoted.
func printable(name, value string, most int) error {
	shown := fmt.Sprintf(" is %q", value)
	if name == "key" {
		shown = fmt.Sprintf(" has %d bytes", len(value))
	}
	if len(value) > most {
		return fmt.Errorf("%s has %d bytes; it must have at most %d", name, len(value), most)
	}
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) {
		return fmt.Errorf("%s%s; it must be printable ASCII in one line", name, shown)
	}
	return nil
}

// URL is the address of the API, with /v1.
func (c *connection) URL() string { return c.base }

// Agent is the agent or model that is asked.
func (c *connection) Agent() string { return c.s.Agent }

// wait reports whether the time passed before the context ended.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// request is one request to the server. The headers of Oneiros are left out where the server is known to be another.
func (c *connection) request(ctx context.Context, method, path string, query url.Values, body any) (*http.Request, error) {
	var text io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("write the request as JSON: %w", err)
		}
		text = bytes.NewReader(encoded)
	}
	address := c.base + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, method, address, text)
	if err != nil {
		return nil, fmt.Errorf("url is %q: %w", c.s.URL, err)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.s.Key != "" {
		r.Header.Set("Authorization", "Bearer "+c.s.Key)
	}
	if c.Kind() != Plain {
		set(r.Header, "X-Oneiros-Conversation", c.s.Conversation)
		set(r.Header, "X-Oneiros-User", c.s.User)
	}
	return r, nil
}

func set(h http.Header, name, value string) {
	if value != "" {
		h.Set(name, value)
	}
}

// do sends a request once and turns answers that are errors into an error.
func (c *connection) do(r *http.Request) (*http.Response, error) {
	res, err := c.http.Do(r)
	if err != nil {
		return nil, c.unreached(r.Context(), err)
	}
	if res.StatusCode >= 200 && res.StatusCode < 300 {
		return res, nil
	}
	defer func() { _ = res.Body.Close() }()
	return nil, refusalOf(res)
}

// unreached says why no answer came.
func (c *connection) unreached(ctx context.Context, err error) error {
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return ctx.Err()
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("nothing listens at %s; is the server running? %w", c.base, errRefused)
	case ctx.Err() != nil:
		return fmt.Errorf("%s did not answer in time: %w", c.base, context.DeadlineExceeded)
	}
	var inner *url.Error
	if errors.As(err, &inner) {
		err = inner.Err
	}
	return fmt.Errorf("%s cannot be reached: %w", c.base, err)
}

// errRefused marks that no connection was made at all.
var errRefused = errors.New("(connection refused)")

// refusalOf reads an answer whose status is an error.
func refusalOf(res *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	e := &api.Error{Status: res.StatusCode, Retry: retryAfter(res.Header), Request: res.Header.Get("X-Request-Id")}
	e.Code, e.Message = fault(text)
	if e.Message == "" && !isJSON(res.Header) && len(text) > 0 {
		e.Message = fmt.Sprintf("what answers there is no API (%s)", res.Status)
	}
	if e.Status == http.StatusForbidden && strings.HasPrefix(e.Code, "role_") {
		return api.RoleRefusal(e.Message)
	}
	return e
}

// fault reads the error in a body: an object with an object, or with a text, of that name. It is empty where there is
// none.
func fault(body []byte) (code, says string) {
	var answer struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &answer) != nil || len(answer.Error) == 0 {
		return "", ""
	}
	var words struct {
		Message string `json:"message"`
		Code    any    `json:"code"`
	}
	if json.Unmarshal(answer.Error, &says) == nil {
		return "", says
	}
	if json.Unmarshal(answer.Error, &words) != nil {
		return "", ""
	}
	code, _ = words.Code.(string)
	return code, words.Message
}

func isJSON(h http.Header) bool { return strings.HasPrefix(h.Get("Content-Type"), "application/json") }

// retryAfter is when a server wants to be asked again, at most a day; 0 where it does not say.
func retryAfter(h http.Header) time.Duration {
	ms, err := strconv.ParseInt(h.Get("Retry-After-Ms"), 10, 64)
	if err != nil {
		seconds, err := strconv.ParseInt(h.Get("Retry-After"), 10, 64)
		if err != nil || seconds > 1<<30 {
			return 0
		}
		ms = seconds * 1000
	}
	return time.Duration(max(0, min(ms, 24*60*60*1000))) * time.Millisecond
}

// read gets JSON, and tries once more where the connection was refused. What names the resource in errors.
func (c *connection) read(ctx context.Context, what, path string, query url.Values, into any) error {
	if c.Kind() == Plain {
		return api.MissingError{What: what}
	}
	err := c.exchange(ctx, http.MethodGet, path, query, nil, into)
	if errors.Is(err, errRefused) && c.wait(ctx, pauseRefused) {
		err = c.exchange(ctx, http.MethodGet, path, query, nil, into)
	}
	return c.missing(ctx, what, err)
}

// write posts JSON, once.
func (c *connection) write(ctx context.Context, what, path string, body, into any) error {
	if c.Kind() == Plain {
		return api.MissingError{What: what}
	}
	return c.missing(ctx, what, c.exchange(ctx, http.MethodPost, path, nil, body, into))
}

// missing turns the error of a server that turns out not to be Oneiros into a MissingError.
func (c *connection) missing(ctx context.Context, what string, err error) error {
	if err == nil || c.Kind() == Oneiros || !looksForeign(err) {
		return err
	}
	kind, kindErr := c.recognize(ctx)
	if kindErr == nil && kind == Plain {
		return api.MissingError{What: what}
	}
	return err
}

// looksForeign reports whether an error may come from a server that is not Oneiros.
func looksForeign(err error) bool {
	e, ok := errors.AsType[*api.Error](err)
	return errors.Is(err, errNoJSON) ||
		ok && (e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed)
}

// errNoJSON marks an answer that is no JSON.
var errNoJSON = errors.New("what answers there is no API: its answer is no JSON")

// exchange sends a request and decodes its answer.
func (c *connection) exchange(ctx context.Context, method, path string, query url.Values, body, into any) error {
	ctx, cancel := context.WithTimeout(ctx, readWithin)
	defer cancel()
	r, err := c.request(ctx, method, path, query, body)
	if err != nil {
		return err
	}
	r.Header.Set("Accept", "application/json")
	res, err := c.do(r)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if into == nil || res.StatusCode == http.StatusNoContent {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, largestBody))
	if err != nil {
		return c.unreached(ctx, err)
	}
	err = json.Unmarshal(text, into)
	if err != nil {
		return fmt.Errorf("%s%s: %w (%w)", c.base, path, errNoJSON, err)
	}
	return nil
}
