package front

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/seed-56a03226/oneiros/internal/psyche"
)

type under struct{}

// exchange is a request and its answer: what the faces write to, and what the log is told.
type exchange struct {
	http.ResponseWriter
	control *http.ResponseController
	server  *Server
	id      string
	key     string
	caller  *psyche.Caller // nil until it is known
	route   *Route
	two     bool // HTTP/2: a deadline of it ends a stream even when nobody writes
	began   time.Time
	first   time.Duration
	limit   time.Time // the deadline of writes that stands
	status  int
	bytes   int64
	code    string
	err     error
	cut     bool // what was written must not be taken for the whole
}

func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(under{}).(*exchange)
	return x
}

// RequestID names the request in logs, errors and the X-Request-Id header; empty outside of a server.
func RequestID(ctx context.Context) string {
	if x := exchangeOf(ctx); x != nil {
		return x.id
	}
	return ""
}

// StatusOf is the status that the request was answered with; 0 before it was, and outside of a server.
func StatusOf(ctx context.Context) int {
	if x := exchangeOf(ctx); x != nil {
		return x.status
	}
	return 0
}

// Leaving is closed when the server begins to end: streams that would never end by themselves end then, others go on.
// Outside of a server it is nil, and never closed.
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
	x.hasten()
	x.ResponseWriter.WriteHeader(status)
}

func (x *exchange) Write(p []byte) (int, error) {
	if x.status == 0 {
		x.WriteHeader(http.StatusOK)
	}
	x.hasten()
	n, err := x.ResponseWriter.Write(p)
	x.rest()
	x.bytes += int64(n)
	return n, err
}

// Flush sends what was written on its way.
func (x *exchange) Flush() { _ = x.FlushError() }

// FlushError is Flush for http.ResponseController.
func (x *exchange) FlushError() error {
	if x.status == 0 {
		x.WriteHeader(http.StatusOK)
	}
	x.hasten()
	err := x.control.Flush()
	x.rest()
	return err
}

// hasten gives the client its time to take what is written now. The time is measured by the connection, not by the
// server's clock; it is moved on once a second at most.
func (x *exchange) hasten() {
	now := time.Now()
	if limit := now.Add(
		x.server.o.Limits.WriteTime); limit.Sub(x.limit) > min(time.Second, x.server.o.Limits.WriteTime/4) {
		x.limit = limit
		_ = x.control.SetWriteDeadline(limit)
	}
}

// rest lets a stream of HTTP/2 be silent for as long as it likes.
func (x *exchange) rest() {
	if x.two {
		x.limit = time.Time{}
		_ = x.control.SetWriteDeadline(x.limit)
	}
}

// end tells the log and the metrics. What net/http still writes has a deadline, too.
func (x *exchange) end(r *http.Request) {
	x.hasten()
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
	if !known[e.Method] {
		e.Method = "other"
	}
	if o.Log != nil {
		o.Log(e)
	}
	if o.Observe != nil {
		o.Observe(e.Route, status, lasted, x.bytes)
	}
}

// known methods stand in the log; a client may make up any other.
var known = map[string]bool{
	http.MethodGet: true, http.MethodHead: true, http.MethodPost: true, http.MethodPut: true, http.MethodPatch: true,
	http.MethodDelete: true, http.MethodOptions: true, http.MethodConnect: true, http.MethodTrace: true,
}
