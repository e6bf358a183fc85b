package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/internal/hermes/api"
)

// Kind is what a server is.
type Kind int32

// The kinds.
const (
	Unknown Kind = iota
	Oneiros
	Plain // another server that speaks OpenAI's API
)

func (k Kind) String() string {
	switch k {
	case Oneiros:
		return "Oneiros"
	case Plain:
		return "a server of OpenAI's API"
	case Unknown:
	}
	return "unknown"
}

// Server is what a probe found.
type Server struct {
	Kind     Kind
	Models   []api.Model
	HasAgent bool          // whether the agent, or the model, is one of them
	Ahead    time.Duration // by which the server's clock is ahead of ours, to the second; 0 where it does not say
}

// Kind is what the server is, as far as answers have told; Probe finds out.
func (c *connection) Kind() Kind { return Kind(c.kind.Load()) }

// Probe asks what the server is and what it has. It wakes nobody.
func (c *Client) Probe(ctx context.Context) (Server, error) {
	before := time.Now()
	kind, date, err := c.describe(ctx)
	if err != nil {
		return Server{}, err
	}
	s := Server{Kind: kind}
	if !date.IsZero() {
		s.Ahead = date.Sub(before.Add(time.Since(before) / 2)).Round(time.Second)
	}
	s.Models, err = c.Models(ctx)
	if err != nil {
		return s, err
	}
	s.HasAgent = c.has(s.Models)
	return s, nil
}

func (c *connection) has(models []api.Model) bool {
	name := strings.TrimPrefix(c.s.Agent, "agent/")
	return slices.ContainsFunc(models, func(m api.Model) bool { return m.ID == name || m.ID == c.s.Agent })
}

// Models lists the agents that the key reaches, or the models of a plain server.
func (c *connection) Models(ctx context.Context) ([]api.Model, error) {
	var list struct {
		Data []api.Model `json:"data"`
	}
	err := c.exchange(ctx, http.MethodGet, "/models", nil, nil, &list)
	if errors.Is(err, errRefused) && c.wait(ctx, pauseRefused) {
		err = c.exchange(ctx, http.MethodGet, "/models", nil, nil, &list)
	}
	return list.Data, err
}

func (c *connection) recognize(ctx context.Context) (Kind, error) {
	kind, _, err := c.describe(ctx)
	return kind, err
}

// describe reads the server's own description. A server without one is a plain one, if it lists models.
func (c *connection) describe(ctx context.Context) (Kind, time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, readWithin)
	defer cancel()
	r, err := c.request(ctx, http.MethodGet, "/openapi.json", nil, nil)
	if err != nil {
		return Unknown, time.Time{}, err
	}
	res, err := c.http.Do(r)
	if err != nil {
		return Unknown, time.Time{}, c.unreached(ctx, err)
	}
	defer func() { _ = res.Body.Close() }()
	date, _ := http.ParseTime(res.Header.Get("Date"))
	head, _ := io.ReadAll(io.LimitReader(res.Body, largestBody))
	switch {
	case res.StatusCode == http.StatusOK && isJSON(res.Header) && isOneiros(head):
		c.kind.Store(int32(Oneiros))
		return Oneiros, date, nil
	case strings.Contains(res.Header.Get("Www-Authenticate"), `realm="oneiros"`):
		c.kind.Store(int32(Oneiros))
		code, says := fault(head)
		return Oneiros, date, &api.Error{Status: res.StatusCode, Code: code, Message: says}
	case res.StatusCode == http.StatusServiceUnavailable || res.StatusCode == http.StatusTooManyRequests:
		code, says := fault(head)
		return Unknown, date, &api.Error{
			Status: res.StatusCode, Code: code, Message: says, Retry: retryAfter(res.Header),
		}
	}
	_, err = c.Models(ctx)
	if err != nil {
		return Unknown, date, c.noAPI(err)
	}
	c.kind.Store(int32(Plain))
	return Plain, date, nil
}

// noAPI says of a server that neither describes itself nor lists models what that may mean.
func (c *connection) noAPI(err error) error {
	if looksForeign(err) {
		return fmt.Errorf("url is %q; a server answers there, but it has no API that Hermes knows: GET %s/models fails: %w",
			c.s.URL, c.base, err)
	}
	return err
}
