package front

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// statusGone is only logged, since the client has hung up.
const statusGone = 499

// soon is when to retry after a temporary error.
const soon = time.Second

const internalAdvice = "the server could not do this; its log says more under the request's id"

// errLeaving is the cause with which requests are cancelled at shutdown.
var errLeaving = errors.New("the server is shutting down")

// refusal is an error of OpenAI's API, with the request's id.
type refusal struct {
	Error struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
	} `json:"error"`
	Request string `json:"request_id,omitempty"`
}

// begins is a writer that knows whether its response has begun.
type begins interface {
	begun() bool
	abort()
}

// Refuse responds with an error in the form that OpenAI's clients expect: a *psyche.Fault as it says, a body too
// large or too slow, the end of a context, and everything else as 500 without details. A response that has begun is
// cut off instead, so that no client takes it for complete.
func Refuse(w http.ResponseWriter, r *http.Request, err error) {
	f := faultOf(r.Context(), err)
	if x := exchangeOf(r.Context()); x != nil {
		x.code, x.err = f.Code, f.Err
	}
	if b, ok := w.(begins); ok && b.begun() {
		b.abort()
		return
	}
	h := w.Header()
	for _, name := range []string{"Content-Length", "Content-Encoding", "Etag", "Last-Modified"} {
		h.Del(name)
	}
	h.Set("Cache-Control", "no-store")
	if f.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="oneiros"`)
	}
	if f.Status == http.StatusUnauthorized || f.Code == "insufficient_quota" {
		h.Set("X-Should-Retry", "false") // libraries would send it again, some for minutes, and neither changes soon
	}
	if f.Status == http.StatusRequestEntityTooLarge || f.Status == http.StatusRequestTimeout {
		h.Set("Connection", "close") // the rest of the body is not worth reading
	}
	if f.Retry > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64((f.Retry+time.Second-1)/time.Second), 10))
		h.Set("Retry-After-Ms", strconv.FormatInt(f.Retry.Milliseconds(), 10))
	}
	var form *Form
	if x := exchangeOf(r.Context()); x != nil {
		form = x.form
	}
	status, body := form.refusal(f, RequestID(r.Context()))
	Answer(w, status, body)
}

// refusal is the body of an error and its status; those of OpenAI's API where the form is nil.
func (form *Form) refusal(f *psyche.Fault, request string) (status int, body any) {
	if form != nil {
		return form.Refusal(f, request)
	}
	var answer refusal
	answer.Error.Message, answer.Error.Type, answer.Request = f.Message, f.Type, request
	if f.Param != "" {
		answer.Error.Param = &f.Param
	}
	if f.Code != "" {
		answer.Error.Code = &f.Code
	}
	return f.Status, answer
}

// WriteError reports a fault to the log that the response itself contains, such as a stream whose last event is an
// error.
func WriteError(ctx context.Context, f *psyche.Fault) {
	if x := exchangeOf(ctx); x != nil {
		x.code, x.err = f.Code, f.Err
	}
}

// Answer writes JSON.
func Answer(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		http.Error(w, internalAdvice, http.StatusInternalServerError)
		return
	}
	text = append(text, '\n')
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

// mostAhead is how many bytes are set aside for a body that has not come yet.
const mostAhead = 256 << 10

// Body reads a request's whole body, within the limits of its route. Refuse knows its errors. Until a body has been
// read to its end, net/http does not notice that the client hangs up.
func Body(r *http.Request) ([]byte, error) {
	var text bytes.Buffer
	if n := r.ContentLength; n > 0 && n <= mostAhead {
		text.Grow(int(n) + bytes.MinRead) // which ReadFrom wants to be free when the body ends
	}
	_, err := text.ReadFrom(r.Body)
	if err == nil {
		return text.Bytes(), nil
	}
	large, _ := errors.AsType[*http.MaxBytesError](err)
	f, _ := errors.AsType[*psyche.Fault](err)
	switch {
	case large != nil:
		return nil, tooLarge(large.Limit)
	case f != nil:
		return nil, f
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, psyche.Refuse(http.StatusRequestTimeout, "body_too_slow", "",
			"the body did not come in time").From(err)
	case r.Context().Err() != nil:
		return nil, faultOf(r.Context(), r.Context().Err())
	}
	return nil, psyche.Refuse(http.StatusBadRequest, "body_unreadable", "",
		"the body broke off before its end").From(err)
}

// faultOf converts any error to a fault.
func faultOf(ctx context.Context, err error) *psyche.Fault {
	if f := psyche.StoreFault(err); f != nil && ctx.Err() == nil {
		return f
	}
	if f, ok := errors.AsType[*psyche.Fault](err); ok {
		answer := *f
		if answer.Status < 400 || answer.Status > 599 {
			answer.Status = http.StatusInternalServerError
		}
		return &answer
	}
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return tooLarge(large.Limit)
	}
	leaving := errors.Is(context.Cause(ctx), errLeaving)
	switch {
	case leaving || errors.Is(err, errLeaving):
		return psyche.Refuse(http.StatusServiceUnavailable, "shutting_down", "",
			"the server is shutting down; ask again").After(soon).From(err)
	case errors.Is(err, context.DeadlineExceeded):
		return psyche.Refuse(http.StatusGatewayTimeout, "timeout", "", "the answer did not come in time").From(err)
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return psyche.Refuse(statusGone, "client_gone", "", "the client has gone").From(err)
	}
	return psyche.Refuse(http.StatusInternalServerError, "internal_error", "", "%s", internalAdvice).From(err)
}

func tooLarge(limit int64) *psyche.Fault {
	return psyche.Refuse(http.StatusRequestEntityTooLarge, "body_too_large", "",
		"the body is larger than the %d bytes that are taken here", limit)
}
