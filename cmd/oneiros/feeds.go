package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/internal/console"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/feedhttp"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/workflows"
)

// feeds is the console's view of the starter where it keeps feeds.
type feeds struct{ starter *starter.Starter }

// Feeds through this engine.
func (e *engine) Feeds() console.Feeds { return feeds{e.starter} }

// Put keeps a feed and gives its probe the new rules.
func (f feeds) Put(ctx context.Context, feed dream.Feed) error {
	if err := feedhttp.Check(feed); err != nil {
		return asUsage(err)
	}
	return f.starter.PutFeed(ctx, feed)
}

// Drop forgets a feed, and its probe ends.
func (f feeds) Drop(ctx context.Context, name string) error { return f.starter.DropFeed(ctx, name) }

// Push gives readings to a probe.
func (f feeds) Push(ctx context.Context, name string, readings []dream.Reading) error {
	return f.starter.Push(ctx, name, readings)
}

// State asks a probe where it stands.
func (f feeds) State(ctx context.Context, name string) (workflows.FeedState, error) {
	return f.starter.FeedState(ctx, name)
}

// tokenFile lies in data_dir and holds what whoever pushes readings must bear.
const tokenFile = "feed.token"

// token reads it, and makes it when there is none.
func (e *engine) token() (token, path string, err error) {
	path = filepath.Join(e.deployment.config.DataDir, tokenFile)
	body, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := folder(e.deployment.config.DataDir); err != nil {
			return "", path, err
		}
		err = makeToken(path)
		if err == nil || errors.Is(err, fs.ErrExist) { // another process was quicker
			body, err = os.ReadFile(path)
		}
		if err != nil {
			return "", path, fmt.Errorf("make the token of the feeds' door: %w", err)
		}
	} else if err != nil {
		return "", path, fmt.Errorf("read the token of the feeds' door: %w", err)
	}
	return strings.TrimSpace(string(body)), path, nil
}

// makeToken writes a file that is whole as soon as it is there.
func makeToken(path string) error {
	draft, err := os.CreateTemp(filepath.Dir(path), tokenFile+".*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(draft.Name()) }()
	_, err = fmt.Fprintln(draft, rand.Text())
	err = errors.Join(err, draft.Close())
	if err != nil {
		return err
	}
	return os.Link(draft.Name(), path)
}

// Bounds of a push, whoever sends it.
const (
	headWithin  = 5 * time.Second
	wholeWithin = 20 * time.Second
	headBytes   = 16 << 10
)

// listen takes readings that are pushed. Where the port is another's, most often another worker's of this host, this
// one does without.
func (e *engine) listen(ctx context.Context) error {
	at := e.deployment.config.Feed.Listen
	if at == "" {
		return nil
	}
	token, path, err := e.token()
	if err != nil {
		return err
	}
	handler, err := feedhttp.NewHandler(
		feedhttp.Options{
			Push: e.starter, Alarm: e.starter, Token: token,
			Log: plainLogger(e.deployment.config.Log, os.Stderr),
		})
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	line, err := new(net.ListenConfig).Listen(ctx, "tcp", at)
	if err != nil {
		e.place("feeds", fmt.Sprintf("nothing is taken in here: %s cannot be listened on (%v)", at, innermost(err)))
		return nil
	}
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headWithin,
		ReadTimeout:       wholeWithin,
		WriteTimeout:      wholeWithin,
		MaxHeaderBytes:    headBytes,
		ErrorLog:          slog.NewLogLogger(slog.DiscardHandler, slog.LevelWarn),
	}
	e.files = append(e.files, server)
	go func() { _ = server.Serve(line) }() // until Stop closes it
	e.place("feeds", fmt.Sprintf("http://%s (token in %s)", line.Addr(), path))
	return nil
}

// innermost is the reason why an address cannot be had.
func innermost(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}

// probe gives every feed that is new or changed its probe.
func (e *engine) probe(ctx context.Context, values map[string]string) {
	all, err := e.deployment.store.Feeds(ctx)
	if err != nil && ctx.Err() == nil {
		e.log.Warn("the feeds could not be read", "error", err)
	}
	for _, f := range all {
		body, err := json.Marshal(f)
		if err != nil || values[f.Name] == string(body) {
			continue
		}
		if err := e.starter.Probe(ctx, f); err != nil {
			if ctx.Err() == nil {
				e.log.Warn("the probe of a feed could not be told", "feed", f.Name, "error", err)
			}
			continue
		}
		values[f.Name] = string(body)
	}
}
