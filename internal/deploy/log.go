package deploy

import (
	"context"
	"io"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/config"
)

// plainLogger writes the log of the parts without Temporal.
func plainLogger(l config.Log, to io.Writer) *slog.Logger {
	levels := map[string]slog.Level{
		"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn,
		"error": slog.LevelError,
	}
	o := &slog.HandlerOptions{Level: levels[l.Level]}
	var handler slog.Handler = slog.NewTextHandler(to, o)
	if l.Format == "json" {
		handler = slog.NewJSONHandler(to, o)
	}
	return slog.New(quietHandler{handler, new(repeats)})
}

// quietHandler drops the SDK's errors about activities that were cancelled, which are no errors. Failures to open a
// sealed payload are logged at most once a minute each, without stack.
type quietHandler struct {
	slog.Handler
	output *repeats
}

// repeats remembers when each line was last logged.
type repeats struct {
	mu   sync.Mutex
	when map[string]time.Time
}

// repeatAfter is how long a line about a missing sealing key is not repeated.
const repeatAfter = time.Minute

// mayLog reports whether a line may be logged again.
func (s *repeats) mayLog(line string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last, ok := s.when[line]; ok && now.Sub(last) < repeatAfter {
		return false
	}
	if s.when == nil {
		s.when = map[string]time.Time{}
	}
	s.when[line] = now
	return true
}

// sealed matches the error of payload.OpenError, which the SDK wraps and logs with a stack.
var sealed = regexp.MustCompile(`open a payload sealed with key [^\n]*`)

// Handle logs a record unless it is to be dropped.
func (c quietHandler) Handle(ctx context.Context, r slog.Record) error {
	cancelled, unopened := false, sealed.FindString(r.Message)
	r.Attrs(func(a slog.Attr) bool {
		if unopened == "" {
			unopened = sealed.FindString(a.Value.String())
		}
		cancelled = a.Key == "Error" && strings.HasSuffix(a.Value.String(), context.Canceled.Error())
		return !cancelled
	})
	if cancelled {
		return nil
	}
	if unopened != "" {
		if !c.output.mayLog(unopened, r.Time) {
			return nil
		}
		r = slog.NewRecord(r.Time, slog.LevelError, "a history cannot be read: "+unopened, r.PC)
	}
	return c.Handler.Handle(ctx, r)
}

// WithAttrs returns the same handler with attributes.
func (c quietHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return quietHandler{c.Handler.WithAttrs(attrs), c.output}
}

// WithGroup returns the same handler with a group.
func (c quietHandler) WithGroup(name string) slog.Handler {
	return quietHandler{c.Handler.WithGroup(name), c.output}
}
