package deploy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/config"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/dreamhttp"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
	"github.com/seed-56a03226/oneiros/internal/psyche/mcpserver"
	"github.com/seed-56a03226/oneiros/internal/psyche/messageshttp"
	"github.com/seed-56a03226/oneiros/internal/psyche/openaihttp"
	"github.com/seed-56a03226/oneiros/internal/psyche/responseshttp"
	"github.com/seed-56a03226/oneiros/internal/psyche/roomhttp"
	"github.com/seed-56a03226/oneiros/internal/psyche/rooms"
	"github.com/seed-56a03226/oneiros/internal/psyche/turnhttp"
	"github.com/seed-56a03226/oneiros/internal/telemetry"
)

// apiServer is the server for clients with the service behind it, and how both end.
type apiServer struct {
	server        *front.Server
	being         *psyche.Service
	rooms         *rooms.Service
	tools         *mcpserver.Handler
	grace         time.Duration
	over          chan error                // the result of Serve
	stopWarming   func()                    // ends the reading ahead of memories and waits for it
	stopReporting func()                    // ends the reports of overload and waits for it
	refused       atomic.Pointer[time.Time] // when it last reported that it refused requests
	stopListening func()                    // unsubscribes from the wake bus
}

// Serve answers clients without a worker.
func (d *Process) Serve(ctx context.Context, h *Deployment, tell func(string, ...any)) (Engine, error) {
	e, err := d.newEngine(h)
	if err != nil {
		return nil, err
	}
	e.counts = true
	if h.config.Serve.Listen == "" {
		return nil, exit.Usagef("serve.listen is empty; set it to an address such as 127.0.0.1:7680")
	}
	if err := requireWrites(ctx, e); err != nil {
		return nil, err
	}
	if err := e.requireKeys(ctx, tell); err != nil {
		return nil, err
	}
	if err := e.dialLater(ctx, tell); err != nil {
		return nil, err
	}
	err = e.startServer(ctx, tell)
	if err == nil && e.api == nil {
		err = exit.Errorf(exit.Unreachable, "%s", e.unserved)
	}
	if err == nil {
		err = e.serveMetrics(ctx, readyToTalk(e))
	}
	if err != nil {
		return nil, errors.Join(err, e.Stop())
	}
	e.maintained = make(chan struct{})
	go e.maintainServer(context.WithoutCancel(ctx))
	return e, nil
}

// dialLater connects as dial does, but talk does not wait for Temporal: a cluster that does not answer now gets the
// missed notices when it does.
func (e *engine) dialLater(ctx context.Context, tell func(string, ...any)) error {
	o, err := e.options()
	if errors.Is(err, ErrNoServer) {
		return exit.Errorf(exit.Unreachable, "%w, with a server for clients; a server alone needs temporal.address",
			err)
	}
	if err != nil {
		return err
	}
	if err := e.connect(ctx, o); err != nil {
		var own *exit.Error
		if !errors.As(err, &own) || own.Code != exit.Unreachable {
			return err
		}
		tell("Warning: %v. Talk works without it; wakes are recorded when it is back.", err)
		return e.createClient(o)
	}
	return nil
}

// maintainServer reports the wakes that agents' workflows missed while Temporal was down, and embeds memories that wait
// for it, until the engine stops.
func (e *engine) maintainServer(ctx context.Context) {
	defer close(e.maintained)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		<-e.stopping
		cancel()
	}()
	var embedding sync.WaitGroup
	embedding.Go(func() { e.deployment.embedJobs(ctx, e.plainLog) })
	embedding.Go(func() { e.deployment.webhooks("webhooks", nil).Deliver(ctx) })
	embedding.Go(func() { watchStore(ctx, e) })
	defer embedding.Wait()
	e.starter.Record(ctx)
}

// startServer answers clients at serve.listen. When the port is taken, most often by another process of this host,
// this process does without, and says so.
func (e *engine) startServer(ctx context.Context, tell func(string, ...any)) error {
	c := e.deployment.config.Serve
	if c.Listen == "" {
		return nil
	}
	if e.meter == nil {
		if err := e.measure(ctx); err != nil {
			return err
		}
	}
	s := &apiServer{being: e.deployment.service(e.starter), grace: c.Grace, over: make(chan error, 1)}
	s.rooms = e.deployment.rooms("serve", e.starter, s.being)
	dreams := e.deployment.dreams(e.starter)
	s.tools = mcpserver.New(s.being, dreams, mcpserver.Options{
		Version:     Version,
		Predictions: dreams,
		Rooms:       s.rooms,
		Hosts:       config.SplitList(c.Hosts),
		Origins:     config.SplitList(c.Origins),
		Sessions:    c.Sessions,
		Report:      e.report,
	})
	hush, err := listenFor(e.deployment, s.being)
	if err != nil {
		return errors.Join(err, s.close(ctx))
	}
	s.stopListening = hush
	s.server, err = front.New(e.serverOptions(s))
	if err != nil {
		return errors.Join(err, s.close(ctx))
	}
	at, err := s.server.Listen(ctx, c.Listen)
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) {
			e.unserved = fmt.Sprintf("cannot listen on %s (%v)", c.Listen, innermost(err))
			e.place("serve", "no client is answered here: "+e.unserved)
			return s.close(ctx)
		}
		return errors.Join(exit.Usagef("serve: %w", err), s.close(ctx))
	}
	e.api = s
	s.stopWarming = reading(ctx, e.deployment.warm)
	s.stopReporting = reading(ctx, func(ctx context.Context) { watchLoad(ctx, e, s) })
	go func() { s.over <- s.server.Serve() }()
	scheme := "http"
	if c.TLSCert != "" {
		scheme = "https"
	}
	e.place("serve", fmt.Sprintf("%s://%s/v1 (OpenAI), /mcp, /v1/dreams, /v1/rooms", scheme, at))
	return nil
}

// listenFor lets a service learn of what other processes change of an agent. It also shows that this process uses the
// store, to those who are about to move it.
func listenFor(h *Deployment, being *psyche.Service) (stop func(), err error) {
	stop, err = h.store.Listen(being.Reread)
	if err != nil {
		return nil, fmt.Errorf("subscribe to wake notices: %w", err)
	}
	return stop, nil
}

// reading runs do beside the server. The returned function cancels it and waits for its end.
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

// requireWrites refuses to run on a file that may only be read. On a store that takes no writes for now this process
// runs: it serves what is kept, and goes on once there is room, or once a failover has promoted the replica.
func requireWrites(ctx context.Context, e *engine) error {
	h := e.deployment
	err := bookable(ctx, h.store.ledger, "ready/"+h.Holder)
	why, refused := memory.WhyUnwritable(err)
	switch {
	case why == memory.ReadOnly && h.config.Store.URL == "":
		return exit.Errorf(exit.Unreachable, "%s can only be read: %w. %s", h.store.name, err, unwritableAdvice(err))
	case why == memory.ReadOnly:
		h.log.Warn("the store is a replica, and takes no writes until it is promoted; if it is not to be, "+
			"give store.url the address of the primary, or name the Sentinels (docs/redis.md)",
			"store", h.store.name, "error", err)
	case refused:
		h.log.Warn("the store takes no writes: "+unwritableAdvice(err), "store", h.store.name, "error", err)
	}
	return nil
}

// requireKeys refuses to serve an address that other machines reach without keys. With serve.keys: required it serves:
// every request is refused until there is a key, which a container can be given once it runs.
func (e *engine) requireKeys(ctx context.Context, tell func(string, ...any)) error {
	c := e.deployment.config.Serve
	if c.Listen == "" {
		return nil
	}
	required, err := e.deployment.Keys.KeysRequired(ctx)
	if err != nil {
		return fmt.Errorf("read whether keys are required: %w", err)
	}
	keys, err := e.deployment.Keys.Keys(ctx)
	if err != nil {
		return fmt.Errorf("read the keys: %w", err)
	}
	if len(keys) == 0 && required {
		e.deployment.log.Warn(
			"every client is refused: this deployment needs a key for every request and its store has none; restore the store, " +
				"or make a key with oneiros keys add NAME; oneiros keys open lets requests of this machine in without a key again",
		)
	}
	if len(keys) == 0 && !required && c.Keys == config.KeysRequired {
		e.deployment.log.Warn(
			"every client is refused: serve.keys is required and there is no key yet; make one with oneiros keys add NAME")
	}
	if c.Loopback() {
		return nil
	}
	if len(keys) == 0 && !required && c.Keys != config.KeysRequired {
		return exit.Usagef("serve.listen is %s, which other machines reach, and there is no key yet; make one with oneiros keys add NAME, set serve.keys to required, or set serve.listen to 127.0.0.1:7680",
			c.Listen)
	}
	if c.TLSCert == "" {
		tell(
			"Warning: serve.listen is %s without serve.tls_cert: keys and conversations cross the network as plain text, unless a proxy before it speaks TLS.",
			c.Listen,
		)
	}
	return nil
}

// serverOptions are the options of the HTTP server, with every API as its routes.
func (e *engine) serverOptions(s *apiServer) front.Options {
	c := e.deployment.config.Serve
	turns := turnhttp.Turns{Talk: s.being, Now: time.Now, Note: e.countTurn}
	talk := &openaihttp.Handler{
		Turns: turns,
		Mind:  s.being,
		Hold:  e.deployment.config.Agent.ClientTimeout,
	}
	responding := &responseshttp.Handler{
		Turns:  turns,
		Kept:   e.deployment.store,
		For:    e.deployment.config.Retention.Responses,
		Most:   c.AnswersPerPrincipal,
		Failed: e.report,
		BuiltIn: slices.ContainsFunc(config.SplitList(c.AllowFields),
			func(field string) bool { return inference.FieldKey(field) == "tools" }),
	}
	anthropic := &messageshttp.Handler{Turns: turns, Meter: s.being}
	asleep := &dreamhttp.Handler{Dreams: e.deployment.dreams(e.starter), Memories: s.being}
	together := &roomhttp.Handler{Rooms: s.rooms, Webhooks: e.deployment.webhooks("serve", s.rooms)}
	routes := slices.Concat(statusRoutes(e), talk.Routes(), responding.Routes(), anthropic.Routes(), s.tools.Routes(),
		asleep.Routes(), together.Routes())
	o := front.Options{
		Routes: traced(routes, e.deployment.tracing),
		Keys:   e.deployment.Keys, Keyless: c.Keyless(), Hosts: config.SplitList(c.Hosts),
		Origins: config.SplitList(c.Origins),
		Limits: front.Limits{
			Rate:      c.Rate,
			Tokens:    c.Tokens,
			Day:       keyDay(c.KeyDay),
			Streams:   c.KeyStreams,
			All:       c.MaxStreams,
			Queue:     c.Queue,
			QueueTime: c.QueueWait,
			Body:      int64(c.MaxBody),
			WriteTime: c.WriteIn,
			Answers:   c.AnswersPerPrincipal,
		},
		TLS: front.TLS{Cert: c.TLSCert, Key: c.TLSKey}, Log: e.logAccess, Observe: e.meter.Request, Report: e.report,
		Load: e.meter.Load("turns"),
	}
	return o
}

// logAccess writes a line of the access log. Of a provider's failure only the kind is logged, since its message may
// quote what it was sent.
func (e *engine) logAccess(l front.Entry) {
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

// unquoted returns an error's text without what a provider may have quoted.
func unquoted(err error) string {
	if f, ok := inference.AsFailure(err); ok {
		return "the provider failed: " + string(f.Kind)
	}
	return strings.ToValidUTF8(err.Error(), "?")
}

func (e *engine) report(err error) {
	e.deployment.log.Warn("the server for clients", "error", unquoted(err))
}

// countTurn returns a function that counts a turn in the metrics.
func (e *engine) countTurn(path string) func(turnhttp.Figures) {
	over := e.meter.TurnBegins(path)
	return func(p turnhttp.Figures) {
		over(telemetry.Turn{
			Path:      p.Path,
			Status:    p.Status,
			First:     p.First,
			Broken:    p.Broken,
			Dropped:   p.Dropped,
			Woke:      p.Report.Woke,
			Late:      p.Report.Degraded != "",
			Chat:      p.Path != "/embeddings" && p.Path != "/completions",
			Skipped:   p.Report.Skipped,
			WordsOnly: p.Report.WordsOnly,
		})
	}
}

// rememberWithin bounds how long the last turns may take to be stored when the process ends.
const rememberWithin = 5 * time.Second

// stop refuses new requests, lets answers under way finish within serve.grace, and stores the last turns.
func (s *apiServer) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), s.grace)
	defer cancel()
	s.stopWarming()
	s.stopReporting()
	err := s.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = nil // answers were cut off, as serve.grace says
	}
	return errors.Join(err, <-s.over, s.close(ctx))
}

// close lets agents answer in rooms until ctx ends, and stores the last turns. What is not answered then is answered
// by another process, or when this one starts anew.
func (s *apiServer) close(ctx context.Context) error {
	if s.stopListening != nil {
		s.stopListening()
	}
	s.tools.Close()
	_ = s.rooms.Close(ctx) // its only error is that of ctx
	last, cancel := context.WithTimeout(context.Background(), rememberWithin)
	defer cancel()
	if err := s.being.Close(last); err != nil {
		return fmt.Errorf("store the last turns: %w", err)
	}
	return nil
}
