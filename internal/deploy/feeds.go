package deploy

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

	"github.com/seed-56a03226/oneiros/internal/feedhttp"
)

// tokenFile, in data_dir, holds the bearer token of those who push readings.
const tokenFile = "feed.token"

// token reads the token, and makes one when there is none.
func (e *engine) token() (token, path string, err error) {
	path = filepath.Join(e.deployment.config.DataDir, tokenFile)
	body, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := folder(e.deployment.config.DataDir); err != nil {
			return "", path, err
		}
		err = makeToken(path)
		if err == nil || errors.Is(err, fs.ErrExist) { // another process made it first
			body, err = os.ReadFile(path)
		}
		if err != nil {
			return "", path, fmt.Errorf("make the token for pushing readings: %w", err)
		}
	} else if err != nil {
		return "", path, fmt.Errorf("read the token for pushing readings: %w", err)
	}
	return strings.TrimSpace(string(body)), path, nil
}

// makeToken writes the file under another name and links it, so that no reader sees half a token.
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

// Limits of one push.
const (
	headWithin  = 5 * time.Second
	wholeWithin = 20 * time.Second
	headBytes   = 16 << 10
)

// listen accepts pushed readings. When the port is taken, most often by another worker of this host, this process
// does without.
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
			Push: e.starter.ForFeeds(), Alarm: e.starter, Token: token,
			Log: plainLogger(e.deployment.config.Log, os.Stderr),
		})
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if e.serveHTTP(ctx, at, "feeds", "not accepted here", handler) {
		e.places[len(e.places)-1].Where += fmt.Sprintf(" (token in %s)", path)
	}
	return nil
}

// serveHTTP serves a handler until the engine stops, and says where; false when the port is taken.
func (e *engine) serveHTTP(ctx context.Context, at, name, refusal string, handler http.Handler) bool {
	line, err := new(net.ListenConfig).Listen(ctx, "tcp", at)
	if err != nil {
		e.place(name, fmt.Sprintf("%s: cannot listen on %s (%v)", refusal, at, innermost(err)))
		return false
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
	go func() { _ = server.Serve(line) }() // ends when Stop closes it
	e.place(name, "http://"+line.Addr().String())
	return true
}

// innermost unwraps an error to its last cause, such as "address already in use".
func innermost(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}

// probe starts or updates the probe of every feed that is new or changed.
func (e *engine) probe(ctx context.Context, values map[string]string) {
	all, err := e.deployment.store.Feeds(ctx)
	e.warn(ctx, err, "the feeds could not be read")
	for _, f := range all {
		body, err := json.Marshal(f)
		if err != nil || values[f.Name] == string(body) {
			continue
		}
		if err := e.starter.ForFeeds().Probe(ctx, f); err != nil {
			e.warn(ctx, err, "the probe of a feed could not be updated", "feed", f.Name)
			continue
		}
		values[f.Name] = string(body)
	}
}
