package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"maunium.net/go/mautrix"
)

// How long the bridge waits before it repeats a request that failed for a passing reason.
const (
	firstWait = time.Second
	mostWait  = time.Minute
)

// persist repeats a request until the homeserver answers it, or ctx ends: a homeserver that is away is waited for, and
// one that limits requests names its own delay. Other refusals are returned.
func (b *Bridge) persist(ctx context.Context, what string, do func(context.Context) error) error {
	wait := firstWait
	for warned := false; ; {
		err := do(ctx)
		if err == nil || ctx.Err() != nil {
			if warned && err == nil {
				b.Log.Info("the homeserver answers again", "request", what)
			}
			return errors.Join(err, ctx.Err())
		}
		delay, passing := passes(err, wait)
		if !passing {
			return err
		}
		if !warned {
			b.Log.Warn("the homeserver does not answer; it is asked again until it does", "request", what, "wait", delay,
				"error", err)
		}
		warned = true
		if err := b.pause(ctx, delay); err != nil {
			return err
		}
		wait = min(2*wait, mostWait)
	}
}

// pause waits, or returns the error of ctx when that ends before.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// passes says whether a request may succeed when it is repeated, and after what delay.
func passes(err error, wait time.Duration) (time.Duration, bool) {
	var answer mautrix.HTTPError
	if !errors.As(err, &answer) {
		return 0, false
	}
	switch status := statusOf(answer); {
	case status == 0: // no answer, or one that was cut off
		return wait, true
	case status == http.StatusTooManyRequests:
		if named := delayOf(answer); named > 0 {
			return named, true
		}
		return wait, true
	case status >= http.StatusInternalServerError:
		return wait, true
	}
	return 0, false
}

// statusOf is the HTTP status of an answer; 0 when there was none, or none that can be read.
func statusOf(answer mautrix.HTTPError) int {
	if answer.Response == nil || answer.WrappedError != nil && answer.RespError == nil && answer.Response.StatusCode < 300 {
		return 0
	}
	return answer.Response.StatusCode
}

// delayOf is the delay that a homeserver names for a limited request: in a header, or, as older ones do, in the body.
func delayOf(answer mautrix.HTTPError) time.Duration {
	if answer.RespError != nil {
		var ms json.Number
		switch named := answer.RespError.ExtraData["retry_after_ms"].(type) {
		case float64:
			return time.Duration(named) * time.Millisecond
		case json.Number:
			ms = named
		}
		if n, err := ms.Int64(); err == nil {
			return time.Duration(n) * time.Millisecond
		}
	}
	header := answer.Response.Header.Get("Retry-After")
	if seconds, err := strconv.Atoi(header); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil {
		return time.Until(at)
	}
	return 0
}

// refused says whether the homeserver refused a request for good, as opposed to not answering.
func refused(err error) bool {
	var answer mautrix.HTTPError
	if !errors.As(err, &answer) {
		return false
	}
	status := statusOf(answer)
	return status >= 400 && status < 500 && status != http.StatusTooManyRequests
}
