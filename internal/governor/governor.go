// Package governor calls external hooks by signed webhooks.
package governor

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Headers of a request. The signature is HMAC-SHA256 over "<timestamp>.<body>" with the hook's secret, in hexadecimal
// after "v1="; the receiver checks it with Verify or a line of any language. The border is also in the body, where it
// is signed.
const (
	TimestampHeader = "Oneiros-Timestamp" // seconds since 1970
	SignatureHeader = "Oneiros-Signature"
	BorderHeader    = "Oneiros-Border" // entry, capture or exit
)

const (
	scheme        = "v1="
	longestAnswer = 64 << 10 // bytes of an answer
)

// Tolerance is the greatest age of a request, or time ahead, that Verify accepts, so that a captured one cannot be
// sent again later.
const Tolerance = 5 * time.Minute

// Webhook is a hook at a URL; it implements activities.Hook.
type Webhook struct {
	URL    string
	Secret []byte
	Client *http.Client // nil: a client that follows no redirect
	Now    func() time.Time
}

// Direct follows no redirect: a request is sent only to the configured address.
var Direct = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// at is the border of a request.
type at struct {
	Border dream.Border `json:"border"`
}

// Entry returns the receiver's "veto".
func (w *Webhook) Entry(ctx context.Context, e dream.HookEntry) (string, error) {
	var answer struct {
		Veto string `json:"veto"`
	}
	err := w.ask(ctx, dream.AtEntry, struct {
		at
		dream.HookEntry
	}{at{dream.AtEntry}, e}, &answer)
	return answer.Veto, err
}

// Capture returns the receiver's "concerns".
func (w *Webhook) Capture(ctx context.Context, c dream.HookCapture) ([]dream.Concern, error) {
	var answer struct {
		Concerns []dream.Concern `json:"concerns"`
	}
	err := w.ask(ctx, dream.AtCapture, struct {
		at
		dream.HookCapture
	}{at{dream.AtCapture}, c}, &answer)
	return answer.Concerns, err
}

// Exit informs the receiver.
func (w *Webhook) Exit(ctx context.Context, x dream.HookExit) error {
	return w.ask(ctx, dream.AtExit, struct {
		at
		dream.HookExit
	}{at{dream.AtExit}, x}, &struct{}{})
}

// ask sends one request and reads the answer: a JSON object, or nothing, which means no objection.
func (w *Webhook) ask(ctx context.Context, border dream.Border, question, answer any) error {
	body, err := json.Marshal(question)
	if err != nil {
		return fmt.Errorf("write the question: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL, bytes.NewReader(body))
	if err != nil {
		return errors.New("its address is not valid")
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "oneiros")
	request.Header.Set(BorderHeader, string(border))
	Sign(request.Header, w.Secret, body, w.now())
	client := w.Client
	if client == nil {
		client = Direct
	}
	response, err := client.Do(request)
	if err != nil {
		return Unnamed(err)
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(io.LimitReader(response.Body, longestAnswer+1))
	switch {
	case err != nil:
		return Unnamed(err)
	case response.StatusCode/100 != 2:
		return fmt.Errorf("it answered HTTP %d; 2xx was expected", response.StatusCode)
	case len(content) > longestAnswer:
		return fmt.Errorf("its answer is longer than %d bytes", longestAnswer)
	case len(bytes.TrimSpace(content)) == 0:
		return nil
	}
	if err := json.Unmarshal(content, answer); err != nil {
		return errors.New("its answer is not the JSON object that was expected")
	}
	return nil
}

func (w *Webhook) now() time.Time {
	if w.Now == nil {
		return time.Now()
	}
	return w.Now()
}

// Unnamed is the error of a request without the address, which may hold a secret.
func Unnamed(err error) error {
	var lookup *net.DNSError
	var cert *tls.CertificateVerificationError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return errors.New("it did not answer in time")
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case errors.As(err, &lookup):
		return errors.New("its name is not known")
	case errors.As(err, &cert):
		return errors.New("its certificate is not trusted")
	}
	return errors.New("it cannot be reached")
}

// Sign signs a body at a time.
func Sign(header http.Header, secret, body []byte, now time.Time) {
	stamp := strconv.FormatInt(now.Unix(), 10)
	header.Set(TimestampHeader, stamp)
	header.Set(SignatureHeader, sign(secret, stamp, body))
}

func sign(secret []byte, stamp string, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(stamp + "."))
	mac.Write(body)
	return scheme + hex.EncodeToString(mac.Sum(nil))
}

// Verify returns why a request must not be trusted: it was signed with another secret, altered, has another border
// than its header, or is too old or too new. Within the tolerance a request may be repeated: dream, border and cycle
// identify it.
func Verify(secret []byte, header http.Header, body []byte, now time.Time) error {
	if err := VerifySignature(secret, header, body, now); err != nil {
		return err
	}
	return sameBorder(header.Get(BorderHeader), body)
}

// VerifySignature is Verify for requests that are of no border.
func VerifySignature(secret []byte, header http.Header, body []byte, now time.Time) error {
	stamp := header.Get(TimestampHeader)
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return fmt.Errorf("%s is %q; it must be seconds since 1970", TimestampHeader, stamp)
	}
	if off := now.Sub(time.Unix(seconds, 0)).Abs(); off > Tolerance {
		return fmt.Errorf("%s is %s away from now; at most %s is accepted", TimestampHeader, off.Round(time.Second),
			Tolerance)
	}
	for _, given := range strings.Split(header.Get(SignatureHeader), ",") {
		if hmac.Equal([]byte(strings.TrimSpace(given)), []byte(sign(secret, stamp, body))) {
			return nil
		}
	}
	return fmt.Errorf("%s does not fit the body under this secret", SignatureHeader)
}

func sameBorder(header string, body []byte) error {
	var signed at
	if err := json.Unmarshal(body, &signed); err != nil || string(signed.Border) != header {
		return fmt.Errorf("%s is %q and the body is of the %s", BorderHeader, header, signed.Border)
	}
	return nil
}
