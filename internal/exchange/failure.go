package exchange

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// longestDelay bounds the delay that a provider may ask for.
const longestDelay = 24 * time.Hour

// noMoney are the error codes and types that mean an empty account at the provider, whatever the status.
var noMoney = []string{"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "insufficient_credits"}

// refusal turns a status into a failure. A 4xx response is not billed.
func (c *Client) refusal(status int, header http.Header, body []byte) *inference.Failure {
	text, code := words(body)
	f := &inference.Failure{
		Kind: KindOf(status, code), Status: status, RetryAfter: c.delay(header),
		Billed: status < 400 || status >= 500, Message: c.Clean(text), Field: param(body),
	}
	switch should := header.Get("X-Should-Retry"); {
	case f.Kind == inference.NoMoney || f.Kind == inference.Unauthorized:
	case strings.EqualFold(should, "false") && f.Again():
		f.Kind = inference.BadRequest
	case strings.EqualFold(should, "true") && !f.Again():
		f.Kind = inference.Unavailable
	}
	if status/100 == 3 {
		f.Message = c.Clean(
			fmt.Sprintf("the provider moved to %s; set base_url to the new address", header.Get("Location")))
	}
	if f.Message == "" {
		f.Message = http.StatusText(status)
	}
	return f
}

// KindOf maps a status to a kind of failure.
func KindOf(status int, code string) inference.Kind {
	switch {
	case slices.Contains(noMoney, code), status == http.StatusPaymentRequired:
		return inference.NoMoney
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return inference.Unauthorized
	case status == http.StatusTooManyRequests:
		return inference.RateLimited
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status >= 500:
		return inference.Unavailable
	default:
		return inference.BadRequest
	}
}

// words finds the message and the code in an error body; a body of any other form is its own message.
func words(body []byte) (message, code string) {
	var answer openai.ErrorResponse
	if json.Unmarshal(body, &answer) != nil || answer.Error == nil {
		return string(body), ""
	}
	code = answer.Error.Type
	if s, ok := answer.Error.Code.(string); ok && (slices.Contains(noMoney, s) || code == "") {
		code = s
	}
	return answer.Error.Message, code
}

// FailureIn turns an error inside a stream, or in place of an answer, into a failure. The provider may have charged
// for it.
func (c *Client) FailureIn(raw json.RawMessage) *inference.Failure {
	body := append(append([]byte(`{"error":`), raw...), '}')
	text, code := words(body)
	f := &inference.Failure{Kind: inference.Broken, Billed: true, Message: c.Clean(text)}
	var e struct {
		Code json.RawMessage `json:"code"`
	}
	if json.Unmarshal(raw, &e) == nil {
		if status, err := strconv.Atoi(strings.Trim(string(e.Code), `"`)); err == nil && status >= 400 && status < 600 {
			f.Status = status
		}
	}
	if f.Status != 0 || slices.Contains(noMoney, code) {
		f.Kind = KindOf(f.Status, code)
	}
	return f
}

// delay reads the provider's delay: retry-after-ms before Retry-After, in seconds or as a date.
func (c *Client) delay(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(strings.TrimSpace(h.Get("Retry-After-Ms")), 64); err == nil {
		return bounded(ms * float64(time.Millisecond))
	}
	after := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(after, 64); err == nil {
		return bounded(s * float64(time.Second))
	}
	if at, err := http.ParseTime(after); err == nil {
		return bounded(float64(at.Sub(c.now())))
	}
	return 0
}

func bounded(d float64) time.Duration {
	if math.IsNaN(d) || d <= 0 {
		return 0
	}
	return time.Duration(min(d, float64(longestDelay)))
}

// Clean makes a text fit for a message: without secrets, on one line, bounded.
func (c *Client) Clean(text string) string {
	for _, s := range c.secrets {
		text = strings.ReplaceAll(text, s, "[secret]")
	}
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	if runes := []rune(text); len(runes) > messageLimit {
		text = string(runes[:messageLimit]) + "…"
	}
	return text
}

// param is the field that an error body names in OpenAI's form; empty when it names none.
func param(body []byte) string {
	var answer struct {
		Error struct {
			Param *string `json:"param"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &answer) != nil || answer.Error.Param == nil {
		return ""
	}
	return *answer.Error.Param
}
