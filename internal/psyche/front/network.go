package front

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/internal/hostname"
)

// What a connection may take before it is authenticated (OWASP LLM10).
const (
	headerTime  = 5 * time.Second
	idleTime    = 120 * time.Second
	headerBytes = 16 << 10
	cutTime     = 2 * time.Second // for cancelled requests to end
)

// network is the server's listener with its context.
type network struct {
	mu     sync.Mutex
	server *http.Server
	on     net.Listener
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// context ends when requests under way are cancelled; it never does for a server that does not listen.
func (n *network) context() context.Context {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ctx == nil {
		return context.Background()
	}
	return n.ctx
}

// Listen listens on an address, host:port. A server that may be used without keys listens only on loopback.
func (s *Server) Listen(ctx context.Context, address string) (net.Addr, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("listen on %q, which has not the form host:port: %w", address, err)
	}
	if s.o.Keyless && !hostname.Loopback(host) {
		return nil,
			fmt.Errorf("listen on %s without keys: only a loopback address may be served without keys", address)
	}
	var shell *tls.Config
	if s.o.TLS.Cert != "" || s.o.TLS.Key != "" {
		shell, err = s.o.TLS.config(s.o.Report)
		if err != nil {
			return nil, err
		}
	}
	var setting net.ListenConfig
	on, err := setting.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	s.net.mu.Lock()
	defer s.net.mu.Unlock()
	if s.net.on != nil {
		return nil,
			errors.Join(fmt.Errorf("listen on %s: the server listens on %s already", address, s.net.on.Addr()),
				on.Close())
	}
	s.net.on = on
	s.net.ctx, s.net.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	base := s.net.ctx
	s.net.server = &http.Server{
		Handler:                      s,
		TLSConfig:                    shell,
		ReadHeaderTimeout:            headerTime,
		IdleTimeout:                  idleTime,
		MaxHeaderBytes:               headerBytes,
		DisableGeneralOptionsHandler: true, // it answers OPTIONS * to everybody
		BaseContext:                  func(net.Listener) context.Context { return base },
		ErrorLog:                     quiet(),
	}
	return on.Addr(), nil
}

// Serve answers requests until Shutdown. It returns once nothing more is accepted; Shutdown returns when all requests
// have ended.
func (s *Server) Serve() error {
	s.net.mu.Lock()
	server, on := s.net.server, s.net.on
	s.net.mu.Unlock()
	if server == nil {
		return errors.New("serve: Listen comes first")
	}
	var err error
	if server.TLSConfig != nil {
		err = server.ServeTLS(on, "", "")
	} else {
		err = server.Serve(on)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve on %s: %w", on.Addr(), err)
}

// Shutdown stops the server: nothing new is accepted, Leaving is closed, and requests under way may run until ctx
// ends. Then they are cancelled, and the error is that of ctx.
func (s *Server) Shutdown(ctx context.Context) error {
	s.leave.Do(func() { close(s.leaving) })
	s.net.mu.Lock()
	server, cancel := s.net.server, s.net.cancel
	s.net.mu.Unlock()
	defer s.keys.behind.Wait()
	if server == nil {
		return nil
	}
	err := server.Shutdown(ctx)
	cancel(errLeaving)
	if err == nil {
		return nil
	}
	last, stop := context.WithTimeout(context.WithoutCancel(ctx), cutTime)
	defer stop()
	if server.Shutdown(last) != nil {
		_ = server.Close()
	}
	return fmt.Errorf("shut down: requests were cut off: %w", err)
}
