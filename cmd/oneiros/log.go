package main

import (
	"context"
	"io"
	"log/slog"
	"strings"

	tlog "go.temporal.io/sdk/log"

	"github.com/seed-56a03226/oneiros/config"
)

// logger writes what Temporal's SDK says.
func logger(l config.Log, to io.Writer) tlog.Logger {
	return tlog.NewStructuredLogger(plainLogger(l, to))
}

// plainLogger is the same for parts that are not Temporal's.
func plainLogger(l config.Log, to io.Writer) *slog.Logger {
	levels := map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}
	o := &slog.HandlerOptions{Level: levels[l.Level]}
	var handler slog.Handler = slog.NewTextHandler(to, o)
	if l.Format == "json" {
		handler = slog.NewJSONHandler(to, o)
	}
	return slog.New(calm{handler})
}

// calm leaves out deeds that ended because somebody cancelled them: the SDK calls them errors, and they are not.
type calm struct{ slog.Handler }

// Handle passes everything else on.
func (c calm) Handle(ctx context.Context, r slog.Record) error {
	cancelled := false
	r.Attrs(func(a slog.Attr) bool {
		cancelled = a.Key == "Error" && strings.HasSuffix(a.Value.String(), context.Canceled.Error())
		return !cancelled
	})
	if cancelled {
		return nil
	}
	return c.Handler.Handle(ctx, r)
}

// WithAttrs keeps the calm.
func (c calm) WithAttrs(attrs []slog.Attr) slog.Handler { return calm{c.Handler.WithAttrs(attrs)} }

// WithGroup keeps the calm.
func (c calm) WithGroup(name string) slog.Handler { return calm{c.Handler.WithGroup(name)} }
