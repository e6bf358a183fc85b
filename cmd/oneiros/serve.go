package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/config"
	"github.com/seed-56a03226/oneiros/internal/console"
	"github.com/seed-56a03226/oneiros/internal/inference"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/dreamhttp"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
	"github.com/seed-56a03226/oneiros/internal/psyche/mcpserver"
	"github.com/seed-56a03226/oneiros/internal/psyche/openaihttp"
	"github.com/seed-56a03226/oneiros/internal/telemetry"
)

// apiServer is where clients are answered: the server, the agents awake behind it, and how both end.
type apiServer struct {
	server *front.Server
	being  *psyche.Being
	tools  *mcpserver.Face
	grace  time.Duration
	over   chan error // what Serve returned
	cool   func()     // ends the reading ahead of memories, and waits for it
	hush   func()     // ends listening to the bell
}

// serve answers clients and works on nothing.
func (d *app) serve(ctx context.Context, h *console.Deployment, tell func(string, ...any)) (console.Engine, error) {
	own, err := d.behind(h)
	if err != nil {
		return nil, err
	}
	if err := d.lend(own.config); err != nil {
		return nil, err
	}
	if own.config.Serve.Listen == "" {
		return nil,
			&console.Exit{
				Code: console.Usage,
				Err:  errors.New("serve.listen is empty; set it to an address such as 127.0.0.1:7680"),
			}
	}
	if own.wants != nil { // a server must be able to call every model
		return nil, &console.Exit{Code: console.Usage, Err: own.wants}
	}
	e := newEngine(own)
	if err := e.locked(ctx, tell); err != nil {
		return nil, err
	}
	if err := e.dialLater(ctx, tell); err != nil {
		return nil, err
	}
	err = e.welcome(ctx, tell)
	if err == nil && e.api == nil {
		err = &console.Exit{Code: console.Unreachable, Err: errors.New(e.unserved)}
	}
	if err != nil {
		return nil, errors.Join(err, e.Stop())
	}
	e.tending = make(chan struct{})
	go e.retell(context.WithoutCancel(ctx))
	return e, nil
}

// dialLater connects as dial does. Talk waits for no Temporal: a cluster that does not answer now is told of what it
// missed once it does.
func (e *engine) dialLater(ctx context.Context, tell func(string, ...any)) error {
	o, err := e.options()
	if errors.Is(err, console.ErrNobody) {
		return &console.Exit{
			Code: console.Unreachable,
			Err:  fmt.Errorf("%w, with a server for clients; a server alone needs temporal.address", err),
		}
	}
	if err != nil {
		return err
	}
	if err := e.connect(ctx, o); err != nil {
		var exit *console.Exit
		if !errors.As(err, &exit) || exit.Code != console.Unreachable {
			return err
		}
		tell("Warning: %v. Talk goes on without it; wakes are recorded when it is back.", err)
		return e.hold(o)
	}
	return nil
}

// retell tells agents' lives what happened while nobody could, until the engine stops.
func (e *engine) retell(ctx context.Context) {
	defer close(e.tending)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		<-e.stopping
		cancel()
	}()
	var embedding sync.WaitGroup
	embedding.Go(func() { e.deployment.embedJobs(ctx, e.plainLog) })
	defer embedding.Wait()
	e.starter.Record(ctx)
}

// welcome answers clients at serve.listen. Where the port is another's, most often another process's of this host, this
// one does without, and says so.
func (e *engine) welcome(ctx context.Context, tell func(string, ...any)) error {
	c := e.deployment.config.Serve
	if c.Listen == "" {
		return nil
	}
	if e.meter == nil {
		if err := e.measure(ctx); err != nil {
			return err
		}
	}
	s := &apiServer{being: e.deployment.being(e.starter), grace: c.Grace, over: make(chan error, 1)}
	s.tools = mcpserver.New(s.being, e.deployment.dreams(e.starter), mcpserver.Options{
		Version:  version,
		Hosts:    config.Listed(c.Hosts),
		Origins:  config.Listed(c.Origins),
		Sessions: c.Sessions,
		Report:   e.report,
	})
	hush, err := e.deployment.store.Listen(s.being.Reread)
	if err != nil {
		return errors.Join(fmt.Errorf("listen to the bell: %w", err), s.close())
	}
	s.hush = hush
	s.server, err = front.New(e.doorway(s))
	if err != nil {
		return errors.Join(err, s.close())
	}
	at, err := s.server.Listen(ctx, c.Listen)
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) {
			e.unserved = fmt.Sprintf("%s cannot be listened on (%v)", c.Listen, innermost(err))
			e.place("serve", "nobody is answered here: "+e.unserved)
			return s.close()
		}
		return errors.Join(&console.Exit{Code: console.Usage, Err: fmt.Errorf("serve: %w", err)}, s.close())
	}
	e.api = s
	s.cool = reading(ctx, e.deployment.warm)
	go func() { s.over <- s.server.Serve() }()
	scheme := "http"
	if c.TLSCert != "" {
		scheme = "https"
	}
	e.place("serve", fmt.Sprintf("%s://%s/v1 (OpenAI), /mcp, /v1/dreams", scheme, at))
	return nil
}

// reading does something beside the server; what it returns ends that and waits for its end.
func reading(ctx context.Context, do func(context.Context)) (end func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		do(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

// locked sees that no door stands open to other machines: one that they reach needs keys.
func (e *engine) locked(ctx context.Context, tell func(string, ...any)) error {
	c := e.deployment.config.Serve
	if c.Listen == "" {
		return nil
	}
	required, err := e.deployment.keys.KeysRequired(ctx)
	if err != nil {
		return fmt.Errorf("read whether keys are required: %w", err)
	}
	keys, err := e.deployment.keys.Keys(ctx)
	if err != nil {
		return fmt.Errorf("read the keys: %w", err)
	}
	if len(keys) == 0 && required {
		e.deployment.log.Warn(
			"every client is refused: this deployment needs a key for every request and its store has none; restore the store, " +
				"or make a key with oneiros keys add NAME; oneiros keys open lets requests of this machine in without a key again")
	}
	if len(keys) == 0 && !required && c.Keys == config.KeysRequired {
		e.deployment.log.Warn(
			"every client is refused: serve.keys is required and there is no key yet; make one with oneiros keys add NAME")
	}
	if c.Loopback() {
		return nil
	}
	if len(keys) == 0 && !required {
		return &console.Exit{Code: console.Usage, Err: fmt.Errorf(
			"serve.listen is %s, which other machines reach, and there is no key yet; make one with oneiros keys add NAME, or set serve.listen to 127.0.0.1:7680",
			c.Listen)}
	}
	if c.TLSCert == "" {
		tell(
			"Warning: serve.listen is %s without serve.tls_cert: keys and talk go over the network as plain text, unless a gate before it speaks TLS.",
			c.Listen)
	}
	return nil
}

// doorway is the front of the server, with every face behind it.
func (e *engine) doorway(s *apiServer) front.Options {
	c := e.deployment.config.Serve
	talk := &openaihttp.Face{
		Talk: s.being,
		Mind: s.being,
		Now:  time.Now,
		Hold: e.deployment.config.Agent.ClientTimeout,
		Note: e.noted,
	}
	asleep := &dreamhttp.Face{Dreams: e.deployment.dreams(e.starter), Memories: s.being}
	o := front.Options{
		Routes: traced(append(append(append(e.status(), talk.Routes()...), s.tools.Routes()...), asleep.Routes()...),
			e.deployment.tracing),
		Keys: e.deployment.keys, Keyless: c.Keyless(), Hosts: config.Listed(c.Hosts),
		Origins: config.Listed(c.Origins),
		Limits: front.Limits{
			Rate:      c.Rate,
			Day:       keyDay(c.KeyDay),
			Streams:   c.KeyStreams,
			All:       c.MaxStreams,
			Body:      int64(c.MaxBody),
			WriteTime: c.WriteIn,
			Answers:   c.AnswersPerPrincipal,
		},
		TLS: front.TLS{Cert: c.TLSCert, Key: c.TLSKey}, Log: e.entered, Observe: e.meter.Request, Report: e.report,
	}
	return o
}

// entered writes a line of the access log. What a provider said of a failure may quote what it was sent, so that only
// its kind is told.
func (e *engine) entered(l front.Entry) {
	level := slog.LevelInfo
	if l.Status >= 500 {
		level = slog.LevelWarn
	}
	fields := []any{
		"id", l.ID, "key", l.Key, "remote", l.Remote, "method", l.Method, "route", l.Route, "status", l.Status,
		"bytes", l.Bytes,
		"first", l.First, "lasted", l.Lasted,
	}
	if l.Code != "" {
		fields = append(fields, "code", l.Code)
	}
	if l.Dropped {
		fields = append(fields, "dropped", true)
	}
	if l.Err != nil {
		fields = append(fields, "error", unquoted(l.Err))
	}
	e.deployment.log.Log(context.Background(), level, "request", fields...)
}

// unquoted is an error without what a provider may have quoted in it.
func unquoted(err error) string {
	if f, ok := inference.AsFailure(err); ok {
		return "the provider failed: " + string(f.Kind)
	}
	return strings.ToValidUTF8(err.Error(), "?")
}

func (e *engine) report(err error) {
	e.deployment.log.Warn("the server for clients", "error", unquoted(err))
}

// noted counts a turn.
func (e *engine) noted(path string) func(openaihttp.Passed) {
	over := e.meter.TurnBegins(path)
	return func(p openaihttp.Passed) {
		over(telemetry.Turn{
			Path:    p.Path,
			Status:  p.Status,
			First:   p.First,
			Broken:  p.Broken,
			Dropped: p.Dropped,
			Woke:    p.Report.Woke,
			Late:    p.Report.Degraded != "",
			Chat:    p.Path == "/chat/completions",
			Skipped: p.Report.Skipped,
			ByWords: p.Report.ByWords,
		})
	}
}

// rememberWithin bounds how long what was said last may take to be remembered when the process ends.
const rememberWithin = 5 * time.Second

// stop lets nobody new in, gives answers under way their time, and keeps what was said.
func (s *apiServer) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), s.grace)
	defer cancel()
	s.cool()
	err := s.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = nil // cut, as serve.grace says
	}
	return errors.Join(err, <-s.over, s.close())
}

func (s *apiServer) close() error {
	if s.hush != nil {
		s.hush()
	}
	s.tools.Close()
	ctx, cancel := context.WithTimeout(context.Background(), rememberWithin)
	defer cancel()
	if err := s.being.Close(ctx); err != nil {
		return fmt.Errorf("remember what was said last: %w", err)
	}
	return nil
}
