package main

import (
	"context"
	"io"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"time"

	tlog "go.temporal.io/sdk/log"

	"github.com/seed-56a03226/oneiros/config"
)

// logger writes what Temporal's SDK says.
func logger(l config.Log, to io.Writer) tlog.Logger {
	return tlog.NewStructuredLogger(plainLogger(l, to))
}

// plainLogger is the same for parts that are not Temporal's.
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
	return slog.New(calm{handler, new(output)})
}

// calm leaves out deeds that ended because somebody cancelled them: the SDK calls them errors, and they are not. Of
// what cannot be opened for want of a sealing key it passes on one line now and then, and no stack.
type calm struct {
	slog.Handler
	output *output
}

// output remembers when a line was last passed on.
type output struct {
	mu   sync.Mutex
	when map[string]time.Time
}

// sayAgain is how long a line about a sealing key is not repeated.
const sayAgain = time.Minute

// again says whether a line is due.
func (s *output) again(line string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last, ok := s.when[line]; ok && now.Sub(last) < sayAgain {
		return false
	}
	if s.when == nil {
		s.when = map[string]time.Time{}
	}
	s.when[line] = now
	return true
}

// sealed finds what payload.Unopened says in the words of the SDK, which wraps it and prints stacks.
var sealed = regexp.MustCompile(`open a payload sealed with key [^\n]*`)

// Handle passes everything else on.
func (c calm) Handle(ctx context.Context, r slog.Record) error {
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
		if !c.output.again(unopened, r.Time) {
			return nil
		}
		r = slog.NewRecord(r.Time, slog.LevelError, "a history cannot be read: "+unopened, r.PC)
	}
	return c.Handler.Handle(ctx, r)
}

// WithAttrs keeps the calm.
func (c calm) WithAttrs(attrs []slog.Attr) slog.Handler {
	return calm{c.Handler.WithAttrs(attrs), c.output}
}

// WithGroup keeps the calm.
func (c calm) WithGroup(name string) slog.Handler { return calm{c.Handler.WithGroup(name), c.output} }
