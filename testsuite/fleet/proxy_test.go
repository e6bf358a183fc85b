package fleet_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/testsuite/soak"
)

// servedBy is the header in which the proxy names the process that answered.
const servedBy = "X-Served-By"

// balancer sends requests to the servers of a fleet in turn, and to the next one when a server takes no connection. A
// request that a server has taken is never sent twice.
type balancer struct {
	fleet *soak.Fleet
	wire  *http.Transport
	next  atomic.Uint64
}

// proxied starts a reverse proxy before the servers of a fleet, and returns its address.
func proxied(t *testing.T, fleet *soak.Fleet) string {
	t.Helper()
	b := &balancer{fleet: fleet, wire: &http.Transport{MaxIdleConnsPerHost: 16}}
	server := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetXForwarded() },
		Transport: b,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
		FlushInterval: -1,
		ErrorLog:      quietLog(),
	})
	t.Cleanup(server.Close)
	t.Cleanup(b.wire.CloseIdleConnections)
	return server.URL
}

// RoundTrip tries every server once.
func (b *balancer) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		body, err = io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
	}
	err := errors.New("no server runs")
	first := int(b.next.Add(1))
	for i := range len(b.fleet.Commands) {
		place := (first + i) % len(b.fleet.Commands)
		replica := b.fleet.At(place)
		if replica == nil || b.fleet.Commands[place] == "worker" {
			continue
		}
		base, fault := url.Parse(replica.Base)
		if fault != nil {
			return nil, fault
		}
		one := r.Clone(r.Context())
		one.URL.Scheme, one.URL.Host, one.Host = base.Scheme, base.Host, base.Host
		one.Body, one.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		var answer *http.Response
		answer, err = b.wire.RoundTrip(one)
		if err == nil {
			answer.Header.Set(servedBy, replica.Name)
			return answer, nil
		}
		var refused *net.OpError
		if !errors.As(err, &refused) || refused.Op != "dial" {
			return nil, err
		}
	}
	return nil, err
}

// relay is the name under which clients know a Redis server: what is behind it may change, as with a managed service.
type relay struct {
	listener net.Listener
	mu       sync.Mutex
	target   string
	open     map[net.Conn]bool
}

func newRelay(t *testing.T, target string) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	r := &relay{listener: l, target: target, open: map[net.Conn]bool{}}
	go r.accept()
	t.Cleanup(func() {
		_ = l.Close()
		r.to("")
	})
	return r
}

func (r *relay) url() string { return "redis://" + r.listener.Addr().String() + "/0" }

// to sends later connections elsewhere, and ends those that are open.
func (r *relay) to(target string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.target = target
	for c := range r.open {
		_ = c.Close()
	}
}

func (r *relay) accept() {
	for {
		in, err := r.listener.Accept()
		if err != nil {
			return
		}
		go r.carry(in)
	}
}

func (r *relay) carry(in net.Conn) {
	r.mu.Lock()
	target := r.target
	r.mu.Unlock()
	var dialer net.Dialer
	out, err := dialer.DialContext(context.Background(), "tcp", target)
	if err != nil {
		_ = in.Close()
		return
	}
	r.mu.Lock()
	r.open[in], r.open[out] = true, true
	moved := r.target != target
	r.mu.Unlock()
	end := func() {
		_ = in.Close()
		_ = out.Close()
	}
	if moved {
		end()
	}
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(out, in)
		end()
	})
	both.Go(func() {
		_, _ = io.Copy(in, out)
		end()
	})
	both.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, in)
	delete(r.open, out)
}
