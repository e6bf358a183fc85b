package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
	"github.com/temporalio/ui-server/v2/server/api"
	"github.com/temporalio/ui-server/v2/server/config"
	"github.com/temporalio/ui-server/v2/server/csrf"
	"github.com/temporalio/ui-server/v2/server/headers"
	"github.com/temporalio/ui-server/v2/server/route"
	"github.com/temporalio/ui-server/v2/ui"
)

// screen is Temporal's own web UI. It is put together here from the UI server's parts, rather than started whole, to
// own its listener and to refuse requests that reach loopback under a foreign name.
type screen struct {
	http    *http.Server
	address string
	failed  chan error
}

// openScreen serves the UI for the frontend at address, or nothing when the flags want none.
func openScreen(o options, address string) (*screen, error) {
	s := &screen{failed: make(chan error, 1)}
	if o.uiPort < 0 {
		return s, nil
	}
	pages, err := newPages(o, address)
	if err != nil {
		return nil, fmt.Errorf("build the UI: %w", err)
	}
	listener, err := net.Listen("tcp", hostPort(o.listen, o.uiPort))
	if err != nil {
		return nil,
			fmt.Errorf("--ui-port %d cannot be had on %s, name another, 0 for a free one or -1 for no UI: %w",
				o.uiPort, o.listen, err)
	}
	s.address = hostPort(reachable(o.listen), listener.Addr().(*net.TCPAddr).Port)
	s.http = &http.Server{Handler: pages, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.failed <- err
		}
	}()
	return s, nil
}

func newPages(o options, address string) (http.Handler, error) {
	provider, err := config.NewConfigProviderWithRefresh(&config.Config{
		TemporalGRPCAddress: address,
		DefaultNamespace:    o.namespaces[0],
		EnableUI:            true,
		HideLogs:            true,
		DisableNewsFetch:    true, // nothing here calls the internet unrequested
		CORS:                config.CORS{CookieInsecure: true},
	})
	if err != nil {
		return nil, err
	}
	assets, err := ui.Assets()
	if err != nil {
		return nil, err
	}
	assets, err = fs.Sub(assets, "local")
	if err != nil {
		return nil, err
	}
	e := echo.New()
	if !o.allowRemote {
		e.Pre(onlyLoopbackNames)
	}
	e.Use(middleware.Recover(), middleware.Gzip(), middleware.Secure(), csrf.EnsureTokenCookie(false),
		middleware.CSRFWithConfig(csrf.MiddlewareConfig(provider, false)))
	route.SetHealthRoute(e)
	if err := route.SetAPIRoutes(e, provider,
		[]api.Middleware{headers.WithForwardHeaders([]string{"Caller-Type"})}); err != nil {
		return nil, err
	}
	route.SetUIRoutes(e, "", assets)
	route.SetRenderRoute(e, "")
	return e, nil
}

// onlyLoopbackNames refuses a Host that does not name this machine. Otherwise a web page whose domain was made to
// point at 127.0.0.1 could read and steer the workflows of its visitors.
func onlyLoopbackNames(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		host := c.Request().Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		if ip := net.ParseIP(strings.Trim(host, "[]")); host == "localhost" || ip.IsLoopback() {
			return next(c)
		}
		return echo.NewHTTPError(http.StatusForbidden, "this UI answers to localhost only")
	}
}

func (s *screen) url() string {
	if s.address == "" {
		return ""
	}
	return "http://" + s.address
}

func (s *screen) close() error {
	if s.http == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := s.http.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return s.http.Close()
}
