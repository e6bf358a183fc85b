package front

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/seed-56a03226/oneiros/internal/psyche"
)

type under struct{}

// exchange is a request and its response: the writer for handlers, and the data for the log.
type exchange struct {
	http.ResponseWriter
	control *http.ResponseController
	server  *Server
	id      string
	key     string
	caller  *psyche.Caller // nil until it is known
	route   *Route
	form    *Form // nil: OpenAI's
	two     bool  // HTTP/2, where a deadline ends a stream even when nothing is written
	began   time.Time
	first   time.Duration
	limit   time.Time // the present deadline of writes
	status  int
	bytes   int64
	code    string
	err     error
	cut     bool // the response must be seen as incomplete
}

func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(under{}).(*exchange)
	return x
}

// RequestID identifies the request in logs, errors and the X-Request-Id header; empty outside of a server.
func RequestID(ctx context.Context) string {
	if x := exchangeOf(ctx); x != nil {
		return x.id
	}
	return ""
}

// StatusOf is the status of the response; 0 before one was sent, and outside of a server.
func StatusOf(ctx context.Context) int {
	if x := exchangeOf(ctx); x != nil {
		return x.status
	}
	return 0
}

// Leaving is closed when the server begins to stop: streams without an end must end then, others continue. Outside of
// a server it is nil.
func Leaving(ctx context.Context) <-chan struct{} {
	if x := exchangeOf(ctx); x != nil {
		return x.server.leaving
	}
	return nil
}

// Unwrap lets http.ResponseController reach the connection.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

func (x *exchange) begun() bool { return x.status != 0 }
func (x *exchange) abort()      { x.cut = true }

func (x *exchange) WriteHeader(status int) {
	if status >= 200 && x.status == 0 {
		x.status, x.first = status, x.server.o.Now().Sub(x.began)
	}
	x.extendDeadline()
	x.ResponseWriter.WriteHeader(status)
}

func (x *exchange) Write(p []byte) (int, error) {
	if x.status == 0 {
		x.WriteHeader(http.StatusOK)
	}
	x.extendDeadline()
	n, err := x.ResponseWriter.Write(p)
	x.clearDeadline()
	x.bytes += int64(n)
	return n, err
}

// Flush sends what was written.
func (x *exchange) Flush() { _ = x.FlushError() }

// FlushError is Flush for http.ResponseController.
func (x *exchange) FlushError() error {
	if x.status == 0 {
		x.WriteHeader(http.StatusOK)
	}
	x.extendDeadline()
	err := x.control.Flush()
	x.clearDeadline()
	return err
}

// extendDeadline gives the client its time to take what is written now. The connection's clock counts, not the
// server's; the deadline is moved once a second at most.
func (x *exchange) extendDeadline() {
	now := time.Now()
	if limit := now.Add(
		x.server.o.Limits.WriteTime); limit.Sub(x.limit) > min(time.Second, x.server.o.Limits.WriteTime/4) {
		x.limit = limit
		_ = x.control.SetWriteDeadline(limit)
	}
}

// clearDeadline lets an HTTP/2 stream be silent for any time.
func (x *exchange) clearDeadline() {
	if x.two {
		x.limit = time.Time{}
		_ = x.control.SetWriteDeadline(x.limit)
	}
}

// end reports the request to the log and the metrics. What net/http still writes has a deadline, too.
func (x *exchange) end(r *http.Request) {
	x.extendDeadline()
	o := &x.server.o
	lasted := o.Now().Sub(x.began)
	status := x.status
	if status == 0 {
		status = http.StatusOK
	}
	e := Entry{
		ID:      x.id,
		At:      x.began,
		Key:     x.key,
		Method:  r.Method,
		Status:  status,
		Bytes:   x.bytes,
		First:   x.first,
		Lasted:  lasted,
		Code:    x.code,
		Err:     x.err,
		Dropped: x.cut || r.Context().Err() != nil,
	}
	e.Remote, _, _ = net.SplitHostPort(r.RemoteAddr)
	if x.route != nil {
		e.Route, e.Stream = x.route.Path, x.route.Stream
	}
	if !knownMethods[e.Method] {
		e.Method = "other"
	}
	if o.Log != nil {
		o.Log(e)
	}
	if o.Load != nil && (x.code == psyche.CodeRate || x.code == codeOwn || x.code == codeCrowd) {
		o.Load.Shed(x.code)
	}
	if o.Observe != nil {
		o.Observe(e.Route, status, lasted, x.bytes)
	}
}

// knownMethods are written to the log; a client may invent any other.
var knownMethods = map[string]bool{
	http.MethodGet: true, http.MethodHead: true, http.MethodPost: true, http.MethodPut: true, http.MethodPatch: true,
	http.MethodDelete: true, http.MethodOptions: true, http.MethodConnect: true, http.MethodTrace: true,
}
